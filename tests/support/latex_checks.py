"""A strict reader of the LaTeX that Podium writes: what it does not know, it refuses."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\([A-Za-z]+|.)|([{}$&%#_^~])|([^\\{}$&%#_^~]+)", re.DOTALL)
_ENVIRONMENTS = {"table*", "tabular", "figure", "figure*"}
_WORDS = {
    *("begin", "end", "centering", "small", "scriptsize", "caption", "label", "toprule", "midrule", "bottomrule"),
    *("medskip", "paragraph", "cite", "includegraphics", "textbf", "textwidth", "textbackslash", "textasciitilde"),
    *("textasciicircum", "textless", "textgreater", "textbar", "textquotedbl", "textasciigrave", "textsuperscript"),
    *("ldots", "cdot", "times", "pm", "leq", "geq", "infty", "rightarrow", "uparrow", "downarrow", "circ", "mu"),
    *("ss", "ae", "AE", "o", "O", "l", "L", "i", "j", "u", "r", "H", "v", "c", "k"),
    *("alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "nu", "xi", "pi", "rho", "sigma", "tau"),
    *("phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
}
_SIGNS = set("{}$&%#_\\'`^~\".=")
_PLAIN = {"label", "cite", "includegraphics", "begin", "end"}  # whose argument is no text


def mistakes(text: str) -> list[str]:
    """Return what is wrong: braces, environments, unknown commands, signs that are not escaped, uneven rows."""
    wrong: list[str] = []
    source = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    opened: list[str] = []
    depth, math, word, raw = 0, False, "", []
    for command, sign, plain in _TOKEN.findall(source):
        if command:
            word = command if command.isalpha() else ""
            known = command in _WORDS if word else command in _SIGNS or command == "\n"
            wrong += [] if known else [f"unknown command {command!r}"]
        elif sign == "{":
            depth += 1
            raw.append(word in _PLAIN)
            word = ""
        elif sign == "}":
            depth -= 1
            wrong += ["a brace too many"] if depth < 0 or not raw else []
            if raw:
                raw.pop()
        elif sign == "$":
            math = not math
        elif sign == "&":
            wrong += [] if opened or "tabular" in source else ["& outside a table"]
        elif sign and (sign in "%#" or (sign in "_^" and not (math or any(raw)))):
            wrong.append(f"{sign} is not escaped")
        elif plain and not plain.isspace() and not plain.startswith("["):
            word = ""
    wrong += ["braces are not balanced"] * bool(depth) + ["mathematics has no end"] * math
    for kind, name in re.findall(r"\\(begin|end)\{([^}]*)\}", source):
        if kind == "begin":
            wrong += [] if name in _ENVIRONMENTS else [f"unknown environment {name}"]
            opened.append(name)
        elif not opened or opened.pop() != name:
            wrong.append(f"{name} ends where it does not")
    wrong += [f"{name} has no end" for name in opened]
    return wrong + _uneven(source)


def _uneven(source: str) -> list[str]:
    """Return the rows of tables that do not have as many cells as the table has columns."""
    wrong = []
    inner = re.sub(r"\\begin\{tabular\}\[b\].*?\\end\{tabular\}", "", source)
    for columns, body in re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", inner, re.DOTALL):
        count = len(re.sub(r"p\{[^}]*\}", "p", columns))
        for row in re.findall(r"^(.*?) \\\\$", body, re.MULTILINE):
            cells = len(re.findall(r"(?<!\\)&", row)) + 1
            wrong += [] if cells == count else [f"{cells} cells in {count} columns: {row[:60]}"]
    return wrong

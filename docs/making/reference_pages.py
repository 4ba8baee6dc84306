"""The Python reference: a page for each public package, with every name that it exports.

mkdocstrings makes the text of an entry from its docstring and signature.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import podium

PACKAGES = (
    "podium",
    "podium.metrics",
    "podium.metrics.torch",
    "podium.ranking",
    "podium.run",
    "podium.report",
    "podium.report.figures",
    "podium.report.paper",
    "podium.raters",
    "podium.challenges",
    "podium.challenges.kinds",
    "podium.algorithms",
    "podium.io",
    "podium.model",
    "podium.testing",
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield an index and a page for each package."""
    rows = [f"| [`{package}`]({package}.md) | {_summary(package)} |" for package in PACKAGES]
    yield (
        "reference/index.md",
        "# Python reference\n\n| package | what it holds |\n|---|---|\n" + "\n".join(rows) + "\n",
    )
    for package in PACKAGES:
        entries = [f"::: {package}.{name}" for name in exported(package)]
        yield f"reference/{package}.md", f"# {package}\n\n{_summary(package)}\n\n" + "\n\n".join(entries) + "\n"


def exported(package: str) -> list[str]:
    """Return the public names of a package; it is read, not imported, since one of them needs PyTorch."""
    for statement in _source(package).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return [name for name in ast.literal_eval(statement.value) if name != "__version__"]
    raise LookupError(f"{package} has no __all__")


def _source(package: str) -> ast.Module:
    path = Path(podium.__file__).parents[1] / package.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _summary(package: str) -> str:
    return (ast.get_docstring(_source(package)) or "").partition("\n\n")[0].replace("\n", " ")

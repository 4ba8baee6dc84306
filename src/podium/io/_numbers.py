"""Numbers as people write them: decimal commas, marks between thousands, percent signs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from podium.model import InputError

__all__ = ["are_numbers", "numbers_of"]

_NOTHING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "-", "–")
_GROUPS = "[ \u00a0\u202f'’]"  # between thousands, whatever the decimal mark is
_OTHER = {".": ",", ",": "."}
_ADVICE = "Leave a field empty, or write NA, where a value is missing; leave units off"


def are_numbers(texts: pl.Series) -> bool:
    """Return whether a column holds numbers, and nothing else but missing values."""
    body = _body(pl.col("value"))
    table = texts.alias("value").to_frame().filter(~_is_nothing(pl.col("value")))
    return len(table) > 0 and bool(table.select((_is_number(body, ".") | _is_number(body, ",")).all()).item())


def numbers_of(table: pl.DataFrame, path: Path, *, decimal: str | None = None) -> tuple[pl.Series, tuple[str, ...]]:
    """Return the column "value" as numbers, null where there is none, and what was guessed.

    Parameters
    ----------
    table
        Text in "value", and in "line" where it stands.
    decimal
        The decimal mark, "." or ","; guessed where it is not given, and refused where it cannot be.
    """
    if decimal not in (None, ".", ","):
        raise InputError(f"{decimal!r} is no decimal mark", advice="Give . or ,")
    text = pl.col("value").str.strip_chars()
    table = table.select(
        "line",
        "value",
        _body(pl.col("value")).alias("body"),
        text.str.ends_with("%").alias("percent"),
        _is_nothing(pl.col("value")).alias("nothing"),
    )
    given = table.filter(~pl.col("nothing"))
    mark = decimal or _mark(given, path)
    others = f"{_GROUPS}|{'[.]' if mark == ',' else ','}"
    plain = pl.col("body").str.replace_all(others, "").str.replace(mark, ".", literal=True)
    scaled = plain.str.contains("[eE]")  # what has an exponent gets no other
    shifted = (plain + "e-2").cast(pl.Float64, strict=False)
    number = plain.cast(pl.Float64, strict=False)
    number = pl.when(~pl.col("percent")).then(number).when(scaled).then(number / 100).otherwise(shifted)
    table = table.with_columns(plain.alias("plain"), number.alias("number"))
    given = table.filter(~pl.col("nothing"))
    wrong = given.filter(~_is_number(pl.col("body"), mark) | pl.col("number").is_null())
    if len(wrong):
        line, value = wrong.select("line", "value").row(0)
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise InputError(
            f"line {line} has {value.strip()[:40]!r} where a number should be{more}", path=path, advice=_ADVICE
        )
    percents = int(given["percent"].sum())
    if 0 < percents < len(given):
        lines = [given.filter(pl.col("percent") == has)["line"][0] for has in (True, False)]
        raise InputError(
            f"line {lines[0]} has a percent sign, line {lines[1]} has none",
            path=path,
            advice="Write all values alike",
        )
    remarks = []
    if mark == "," and decimal is None:
        remarks.append("Numbers have decimal commas.")
    grouped = given.filter(pl.col("plain").str.len_chars() < pl.col("body").str.len_chars())
    if len(grouped):
        body, digits = grouped.select("body", "plain").row(0)
        remarks.append(f"Marks between thousands were taken out: {body!r} was read as {digits}.")
    if percents:
        body, fraction = given.select("body", "number").row(0)
        remarks.append(f"Values are percentages: '{body} %' was read as {fraction}.")
    value = pl.when(pl.col("nothing") | pl.col("number").is_nan()).then(None).otherwise(pl.col("number"))
    return table.select(value.alias("value")).to_series(), tuple(remarks)


def _mark(given: pl.DataFrame, path: Path) -> str:
    """Return the decimal mark that makes numbers of most texts; the point where there is no telling and no comma."""
    wrong = {mark: int(given.select((~_is_number(pl.col("body"), mark)).sum()).item()) for mark in _OTHER}
    commas = given.filter(pl.col("body").str.contains(",", literal=True))
    if len(commas) and wrong["."] == wrong[","] == 0:
        line, value = commas.select("line", "value").row(0)
        raise InputError(
            f"line {line} has {value.strip()[:40]!r}, with a decimal comma or a mark between thousands",
            path=path,
            advice="Say which: --decimal , or --decimal .",
        )
    return "." if wrong["."] <= wrong[","] else ","


def _body(text: pl.Expr) -> pl.Expr:
    """Return a number without its percent sign, and with a plain minus."""
    return text.str.strip_chars().str.replace("%$", "").str.strip_chars().str.replace("^[−–]", "-")


def _is_nothing(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().str.to_lowercase().is_in(_NOTHING)


def _is_number(body: pl.Expr, mark: str) -> pl.Expr:
    """Say whether texts are numbers with this decimal mark, perhaps with marks between thousands."""
    point, other = f"[{mark}]", f"[{_OTHER[mark]}]"
    whole = f"(?:[1-9][0-9]{{0,2}}(?:(?:{_GROUPS}|{other})[0-9]{{3}})+|[0-9]+)"
    number = f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    return body.str.contains(f"^[+-]?(?:{number}|(?i:inf(?:inity)?))$")

"""Which column is what: tables with a line for each value, and tables with teams, metrics or cases as columns."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from podium.io._dialects import Grid
from podium.io._numbers import are_numbers
from podium.model import InputError

__all__ = ["LAYOUTS", "SCORE_COLUMNS", "Long", "long_table", "usual_direction"]

SCORE_COLUMNS = ("submission", "case", "value", "task", "cluster", "stratum")
"""What a table of scores may hold; the first three are needed."""
LAYOUTS = ("long", "wide", "metrics", "cases")
"""A line for each value; teams as columns; metrics as columns; cases as columns."""

_NEEDED = SCORE_COLUMNS[:3]
_HEADINGS = {"long": (), "wide": ("submission", "value"), "metrics": ("value",), "cases": ("case", "value")}
"""What is a column's name, or below it, and has no column of its own."""
_IMAGES = (
    "case_id",
    "case_name",
    "test_case",
    "testcase",
    "image",
    "image_id",
    "image_name",
    "img",
    "scan",
    "scan_id",
    "fall",
    "bild",
    "cas",
)
_FILES = ("id", "file", "filename", "file_name", "sample", "sample_id", "datei", "fichier")
_PEOPLE = ("patient", "patient_id", "subject", "subject_id")
_OTHER_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "submission": (
        (
            "team",
            "team_name",
            "algorithm",
            "algorithm_name",
            "alg_name",
            "alg",
            "algo",
            "method",
            "model",
            "participant",
            "equipe",
            "gruppe",
            "teilnehmer",
            "verfahren",
        ),
    ),
    "case": (_IMAGES, _FILES, _PEOPLE),
    "value": (("score", "metric_value", "values", "metric_score", "wert", "valeur"),),
    "task": (("metric", "metric_name", "organ", "metrik", "structure"),),
    "cluster": (_PEOPLE,),
}
"""Other names of columns, those that are tried first before others. A stratum is never guessed."""
_RISING = (
    "dice|dsc|f1|iou|jaccard|nsd|cldice|auc|auroc|accuracy|acc|sensitivity|recall|specificity|precision|ssim|psnr|kappa|"
    "surface_dice"
)
_FALLING = r"hd|hd\d+|hausdorff|assd|asd|msd|masd|mae|mse|rmse|rvd|ravd"
_METRICS = re.compile(rf"(^|_)({_RISING}|{_FALLING})(_|$)")
_DIRECTIONS = {
    "higher": re.compile(rf"(^|_)({_RISING})(_|$)"),
    "lower": re.compile(rf"(^|_)({_FALLING}|errors?|distance|loss|seconds|runtime)(_|$)"),
}
_INDEX = re.compile(r"^(unnamed_\d+|)$")  # what pandas and R call the numbers of rows
_SUMMARIES = {"mean", "average", "avg", "median", "std", "sd", "stdev", "mean_std", "mean_sd", "average_std"}
_UNPRINTABLE = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]"  # control characters, and what turns or breaks a line


def usual_direction(name: str) -> str:
    """Return which values of a metric are better by its name, "higher" or "lower"; "" where that cannot be told.

    Examples
    --------
    >>> usual_direction("liver Dice"), usual_direction("HD95 (mm)"), usual_direction("Dice loss"), usual_direction("T2")
    ('higher', 'lower', '', '')
    """
    fitting = [direction for direction, names in _DIRECTIONS.items() if names.search(_plain(name))]
    return fitting[0] if len(fitting) == 1 else ""


class Long(NamedTuple):
    """A line for each value, all text, and "line" where it stood; what was guessed; what columns are called there."""

    table: pl.DataFrame
    remarks: tuple[str, ...]
    called: Mapping[str, str]


def long_table(
    grid: Grid, path: Path, *, columns: Mapping[str, str] | None = None, layout: str | None = None, team: str = ""
) -> Long:
    """Find out which column is what, and return a line for each value.

    Parameters
    ----------
    columns
        What columns are called, from `SCORE_COLUMNS` to names in the header.
    layout
        One of `LAYOUTS`; guessed where it is not given.
    team
        Whose values these are, where no column says so.
    """
    if strange := sorted(set(columns or {}) - set(SCORE_COLUMNS)):
        raise InputError(f"{strange[0]!r} is no column of scores", advice=f"There are: {', '.join(SCORE_COLUMNS)}")
    if layout is not None and layout not in LAYOUTS:
        raise InputError(f"there is no layout {layout!r}", advice=f"There are: {', '.join(LAYOUTS)}")
    sheet = _Sheet(grid, path, dict(columns or {}))
    sheet.take_named()
    sheet.take_usual([role for role in SCORE_COLUMNS if role not in _HEADINGS[layout or "long"]])
    if team and "submission" not in sheet.roles:
        sheet.cells = sheet.cells.with_columns(pl.lit(team).alias("submission"))
        sheet.roles["submission"] = "submission"
    table = sheet.arranged(layout, by_team=bool(team))
    called = {role: sheet.header[int(column)] for role, column in sheet.roles.items() if column != "submission"}
    return Long(_presentable(table, path), (*grid.remarks, *sheet.remarks), called)


class _Sheet:
    """A grid on its way: `roles` says which of its columns is what, `remarks` what was guessed."""

    def __init__(self, grid: Grid, path: Path, named: dict[str, str]) -> None:
        self.header, self.cells, self.path, self.named = grid.header, grid.cells, path, named
        self.roles: dict[str, str] = {}
        self.remarks: list[str] = []
        self._plain = [_plain(name) for name in self.header]

    def take_named(self) -> None:
        """Take columns that were named; one may be the case and the cluster, but nothing else twice."""
        for role, name in self.named.items():
            places = [index for index, own in enumerate(self.header) if own == name] or [
                index for index, own in enumerate(self._plain) if own == _plain(name) and own
            ]
            if not places:
                raise self._absent(name)
            self.roles[role] = self._single(places)
        for role in self.roles:
            twice = {other for other, column in self.roles.items() if column == self.roles[role]}
            if len(twice) > 1 and twice != {"case", "cluster"}:
                raise self._double(self.named[role])

    def take_usual(self, roles: Sequence[str]) -> None:
        """Take columns by their own names, then by other names that people give them."""
        for role in roles:
            places = [index for index, name in enumerate(self._plain) if name == role]
            if role in self.roles or not places:
                continue
            column = self._single(places)
            users = [other for other, used in self.roles.items() if used == column]
            if not users or (role == "case" and users == ["cluster"]):
                self.roles[role] = column
            elif role in _NEEDED:
                raise self._double(self.header[places[0]])
        guessed = []
        for role, tiers in _OTHER_NAMES.items():
            for names in tiers if role in roles and role not in self.roles else ():
                taken = set(self.roles.values())
                places = [k for k, name in enumerate(self._plain) if name in names and str(k) not in taken]
                if len(places) > 1:
                    both = " and ".join(repr(self.header[place]) for place in places[:2])
                    first = self.header[places[0]]
                    raise InputError(
                        f"the columns {both} may both be the {role}",
                        path=self.path,
                        advice=f"Say which: --column {role}={first}",
                    )
                if places:
                    self.roles[role] = str(places[0])
                    drawn = ", so that its cases are drawn together" if role == "cluster" else ""
                    guessed.append(f"{self.header[places[0]]!r} as {role}{drawn}")
                    break
        if guessed:
            self.remarks.append(f"Columns taken: {', '.join(guessed)}.")

    def arranged(self, layout: str | None, *, by_team: bool) -> pl.DataFrame:
        """Return a line for each value, from whatever the columns are."""
        plain = layout in (None, "long") and "value" in self.roles
        values = [] if plain else self._values()
        layout = "long" if plain else layout or self._guess(values)
        if "case" not in self.roles and (layout == "wide" or by_team):
            self._take_first_as_case()
            values = [column for column in values if column != self.roles.get("case")]
        for role in _NEEDED:
            if role not in self.roles and role not in _HEADINGS[layout]:
                raise self._absent(role)
        if layout == "long":
            return self._selected()
        if not values:
            raise self._absent("value")
        names = [self.header[int(column)] for column in values]
        if double := [name for name in names if names.count(name) > 1]:
            raise InputError(f"two columns are called {double[0][:40]!r}", path=self.path)
        what = {"wide": "Teams", "metrics": "Metrics", "cases": "Cases"}[layout]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        self.remarks.append(f"{what} are columns: {shown}.{self._passed_over(values)}")
        role = {"wide": "submission", "metrics": "metric", "cases": "case"}[layout]
        kept = self._selected().columns
        frame = self.cells.with_columns(pl.col(used).alias(role) for role, used in self.roles.items())
        long = frame.unpivot(values, index=kept, variable_name=role, value_name="value").with_columns(
            pl.col(role).replace_strict(dict(zip(values, names, strict=True)), return_dtype=pl.String)
        )
        if layout == "metrics":
            joined = pl.format("{} {}", "task", "metric") if "task" in kept else pl.col("metric")
            long = long.with_columns(joined.alias("task")).drop("metric")
        return long

    def _values(self) -> list[str]:
        """Return the columns that hold numbers and are nothing else; of these, those that are called like metrics."""
        taken = set(self.roles.values())
        free = [k for k in range(len(self.header)) if str(k) not in taken and (k or not _INDEX.match(self._plain[k]))]
        numeric = [k for k in free if are_numbers(self.cells[str(k)])]
        if "submission" in self.roles and "case" in self.roles:
            numeric = [k for k in numeric if _METRICS.search(self._plain[k])] or numeric
        return [str(k) for k in numeric]

    def _guess(self, values: Sequence[str]) -> str:
        """Return the layout, taking a single column of numbers for the values."""
        metrics = [column for column in values if _METRICS.search(self._plain[int(column)])]
        if "submission" in self.roles:
            if "case" not in self.roles and not metrics and len(values) > 1:
                return "cases"
            if len(values) == 1:
                self.roles["value"] = values[0]
                name = self.header[int(values[0])]
                self.remarks.append(f"Values are in the column {name!r}.{self._passed_over(values)}")
            return "metrics" if len(values) > 1 else "long"
        if len(values) > 1 and metrics and len(metrics) == len(values):
            raise InputError(
                f"the columns {', '.join(self.header[int(column)] for column in values[:3])} look like metrics, and "
                "none says whose they are",
                path=self.path,
                advice="Name the column of teams (--column submission=…), give one file per team, or say --layout wide",
            )
        return "wide" if len(values) > 1 else "long"

    def _passed_over(self, values: Sequence[str]) -> str:
        """Name the columns of which nothing was made."""
        others = [name for k, name in enumerate(self.header) if str(k) not in {*values, *self.roles.values()} and name]
        return f" Passed over: {', '.join(others)[:200]}." if others else ""

    def _take_first_as_case(self) -> None:
        """Take the first column for the cases, if it can be: every line, or every line of a task, is another."""
        free = [str(k) for k in range(len(self.header)) if str(k) not in self.roles.values()]
        keys = [free[0], *([self.roles["task"]] if "task" in self.roles else [])] if free else []
        if keys and not self.cells.select(keys).is_duplicated().any() and len(self.cells):
            self.roles["case"] = free[0]
            self.remarks.append(f"Cases are in the first column ({self.header[int(free[0])] or 'without a name'}).")

    def _selected(self) -> pl.DataFrame:
        return self.cells.select("line", *(pl.col(self.roles[r]).alias(r) for r in SCORE_COLUMNS if r in self.roles))

    def _single(self, places: Sequence[int]) -> str:
        if len(places) > 1:
            raise InputError(f"two columns are called {self.header[places[0]][:40]!r}", path=self.path)
        return str(places[0])

    def _absent(self, name: str) -> InputError:
        return InputError(
            f"there is no column {name!r}; found: {', '.join(self.header)[:200]}",
            path=self.path,
            advice=f"Needed: submission, case, value. {self._naming(name)}",
        )

    def _naming(self, role: str) -> str:
        """Say how to name a column that is lacking, by one of those that nothing was made of."""
        free = [name for k, name in enumerate(self.header) if str(k) not in self.roles.values() and name]
        if role not in ("case", "value") or not free:
            return "Say what they are called here: --column submission=team"
        return f"Say which column is the {role}: --column {shlex.quote(f'{role}={free[0]}')}, for instance"

    def _double(self, name: str) -> InputError:
        return InputError(f"the column {name!r} cannot be two things at once", path=self.path)


def _plain(name: str) -> str:
    """Return a name of a column as it is compared: without case, spaces and signs."""
    return re.sub(r"[\W_]+", "_", unicodedata.normalize("NFKC", name).casefold()).strip("_")


def _presentable(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Refuse names that cannot be shown, and lines that sum up others."""
    for name in [name for name in table.columns if name not in ("value", "line")]:
        odd = table.filter(pl.col(name).str.contains(_UNPRINTABLE))
        if len(odd):
            line, text = odd["line"][0], odd[name][0]
            raise InputError(f"line {line}: the {name} {text[:40]!r} has characters that cannot be shown", path=path)
    cases = table["case"].unique(maintain_order=True).to_list()
    if (summaries := [case for case in cases if _plain(case) in _SUMMARIES]) and len(cases) > 1:
        line = table.filter(pl.col("case") == summaries[0])["line"][0]
        raise InputError(
            f"line {line} is no case, it seems, but sums up others ({summaries[0]!r})",
            path=path,
            advice="Take it out, or give the case another name",
        )
    return table

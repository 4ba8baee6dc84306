"""What was measured of folders, files or arrays: every value, means with intervals, worst cases, paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from podium.challenges.kinds.choices import ALWAYS
from podium.challenges.kinds.expressing import in_toml
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.challenges.kinds.toml_files import FILE_NAME
from podium.io import Content, parquet_bytes
from podium.model import Direction, Floats, InputError, Measure, Status
from podium.ranking.inference.intervals import mean_intervals
from podium.ranking.inference.ranges import BoundedMeans
from podium.ranking.inference.significance import wilcoxon_signed_rank
from podium.run import Run, RunFolder

__all__ = ["Measurements"]

_FAILED = [status.value for status in Status if status.failed]
_WORST = 3
_LEAST = 2
"""How many cases an interval needs."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """What was measured of one or several sets of predictions.

    Attributes
    ----------
    challenge
        What was measured and how, as a challenge that can be ranked by; `podium.evaluate` takes it, too.
    table
        Tidy, as in a run folder: submission, case, unit, target, metric, value, measured, status, reason.
    failures
        What went wrong: submission, case, status, reason.
    names
        Of the predictions, in the order in which they were given; the first is compared with all others.
    said
        How files were paired and labels chosen, in sentences.
    run
        The run, where a folder was given for it: `.rank()`, `.report()`.
    level
        Of intervals.
    """

    challenge: SegmentationChallenge
    table: pl.DataFrame
    failures: pl.DataFrame
    names: tuple[str, ...]
    said: tuple[str, ...] = ()
    run: Run | None = None
    level: float = 0.95

    @property
    def labels(self) -> tuple[str, ...]:
        """What was measured: labels and regions."""
        return self.challenge.quantities[0].of

    @property
    def deciding(self) -> tuple[Measure, ...]:
        """The measures that a ranking is made by."""
        return tuple(measure for measure in self.challenge.measures if measure.decides and measure.judges)

    @cached_property
    def cases(self) -> pl.DataFrame:
        """One line for each prediction, case and label, a column for each metric, and whether it failed and why."""
        keys = {"submission": "prediction", "case": "case", "target": "label"}
        own = self.table.filter(pl.col("unit") == "", pl.col("metric").is_in(self._metrics))
        failed = pl.col("status").is_in(_FAILED)
        states = own.group_by(list(keys)).agg(
            pl.col("status").filter(failed).first().fill_null(Status.OK.value),
            pl.col("reason").filter(failed).first().fill_null(""),
        )
        wide = own.pivot(on="metric", index=list(keys), values="value", aggregate_function="first")
        orders = {"submission": self.names, "target": self.labels}
        return (
            wide.join(states, on=list(keys))
            .with_columns(pl.col(key).cast(pl.Enum(names)).alias(f"_{key}") for key, names in orders.items())
            .sort("_submission", "case", "_target")
            .rename(keys)
            .select(*keys.values(), *self._metrics, "status", "reason")
        )

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One line for each prediction, label and metric.

        The mean with its interval, median, standard deviation, least and greatest value, and of how many cases; in how
        many cases the reference, or the prediction, is empty, and how many predictions are missing or cannot be
        used.
        """
        lines = []
        for name, label in product(self.names, self.labels):
            own = self.cases.filter(pl.col("prediction") == name, pl.col("label") == label)
            volumes = own.filter(pl.col("status") == Status.OK.value).select(ALWAYS)
            counts = {
                "cases": len(own),
                "empty_reference": int((volumes[ALWAYS[0]] == 0).sum()),
                "empty_prediction": int((volumes[ALWAYS[1]] == 0).sum()),
                "missing": int((own["status"] == Status.MISSING.value).sum()),
                "unusable": int((~own["status"].is_in([Status.OK.value, Status.MISSING.value])).sum()),
            }
            rows = own.select(self._metrics).to_numpy().T.astype(np.float64)
            ranges = [(measure.minimum, measure.maximum) for measure in self.challenge.measures]
            low, high = _ends(rows, ranges, self.level)
            for measure, values, *ends in zip(self.challenge.measures, rows, low, high, strict=True):
                lines.append((name, label, measure.name, *_statistics(values, ends), *counts.values()))
        statistics = ("mean", "low", "high", "median", "deviation", "minimum", "maximum", "values")
        return pl.DataFrame(
            lines,
            schema=["prediction", "label", "metric", *statistics, *counts],
            orient="row",
            infer_schema_length=None,
        )

    @cached_property
    def worst(self) -> pl.DataFrame:
        """The worst cases of each prediction and label, by every metric that judges; the worst first."""
        frames = []
        for measure in (measure for measure in self.challenge.measures if measure.judges):
            value = pl.col(measure.name)
            badness = {Direction.HIGHER: -value, Direction.LOWER: value}.get(measure.direction, value.abs())
            frames.append(
                self.cases.filter(value.is_not_null())
                .with_columns(badness.alias("_badness"))
                .sort("_badness", "case", descending=[True, False], maintain_order=True)
                .group_by("prediction", "label", maintain_order=True)
                .head(_WORST)
                .select(
                    "prediction", "label", pl.lit(measure.name).alias("metric"), "case", value.alias("value"), "status"
                )
            )
        return pl.concat(frames)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """The first prediction less every other, case by case, for every label and metric.

        The mean difference with its interval, in how many cases the first is better, worse or equal, and the p-value of
        Wilcoxon's signed-rank test, which is not adjusted for the number of comparisons.
        """
        first, *others = self.names
        lines = []
        for other, label in product(others, self.labels):
            one, two = (self._values(name, label) for name in (first, other))
            rows = one - two
            rows[~np.isfinite(rows)] = np.nan
            widths = [measure.maximum - measure.minimum for measure in self.challenge.measures]
            low, high = _ends(rows, [(-width, width) for width in widths], self.level)
            for number, measure in enumerate(self.challenge.measures):
                own = rows[number]
                known = own[~np.isnan(own)]
                if not known.size:
                    continue
                size = np.fmax(np.abs(one[number]), np.abs(two[number]))
                test = wilcoxon_signed_rank(own, np.ones((1, len(own))), sizes=np.nan_to_num(size))
                ends = (_number(end) for end in (low[number], high[number]))
                counts = _won(one[number], two[number], measure)
                known_of = first, other, label, measure.name, known.size, float(known.mean())
                lines.append((*known_of, *ends, *counts, float(test.p[0])))
        schema = ("prediction", "other", "label", "metric", "cases", "difference", "low", "high", "better", "worse")
        return pl.DataFrame(lines, schema=[*schema, "equal", "p"], orient="row", infer_schema_length=None)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """What looks like a mistake: labels that no reference has, or no prediction, though their values look fine."""
        volumes = self.cases.group_by("prediction", "label", maintain_order=True).agg(
            pl.col(*ALWAYS).sum(), n=pl.col(ALWAYS[0]).count()
        )
        seen = {(name, label): (truth > 0, guess > 0) for name, label, truth, guess, n in volumes.iter_rows() if n}
        doubts = []
        for label in self.labels:
            own = {name: seen[name, label] for name in self.names if (name, label) in seen}
            if own and not any(map(any, own.values())):
                doubts.append(f"{label} is in no reference and in no prediction, so that its values say nothing.")
            elif own and not any(truth for truth, _ in own.values()):
                doubts.append(f"{label} is in no reference. Are labels numbered alike?")
            else:
                lacking = [name for name, (_, guess) in own.items() if not guess]
                doubts += [f"{label} is in no prediction of {name}. Are labels numbered alike?" for name in lacking]
        return tuple(doubts)

    def to_frame(self) -> pl.DataFrame:
        """Return every value: `cases`."""
        return self.cases

    def files(self) -> dict[str, Content]:
        """Return the tables as files; of folders also the challenge.toml that measures them in the same way."""
        tables = {"cases": self.cases, "summary": self.summary, "worst": self.worst}
        tables |= {"differences": self.differences} if len(self.names) > 1 else {}
        files: dict[str, Content] = {
            f"{name}.csv": (table.columns, table.iter_rows()) for name, table in tables.items()
        }
        files |= {"cases.parquet": parquet_bytes(self.cases), "summary.parquet": parquet_bytes(self.summary)}
        return files | ({} if self.run is None else {FILE_NAME: in_toml(self.challenge)})

    def write(self, folder: str | Path) -> None:
        """Write cases.csv and .parquet, summary.csv and .parquet, worst.csv, differences.csv, challenge.toml."""
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise InputError("this is a file", path=place, advice="Give a folder as --out")
        place.mkdir(parents=True, exist_ok=True)
        mark = "run.json" if self.run is not None and self.run.folder is not None else "summary.csv"
        RunFolder(place, mark=mark).add(self.files())
        if len(self.names) == 1:
            (place / "differences.csv").unlink(missing_ok=True)  # of others that were there before

    @property
    def _metrics(self) -> list[str]:
        return [measure.name for measure in self.challenge.measures]

    def _values(self, name: str, label: str) -> Floats:
        """Return the values of one prediction and label, shape (metrics, cases)."""
        own = self.cases.filter(pl.col("prediction") == name, pl.col("label") == label).sort("case")
        return own.select(self._metrics).to_numpy().T.astype(np.float64)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def __repr__(self) -> str:
        cases, labels = self.cases["case"].n_unique(), len(self.labels)
        counts = f"{cases} case{'s' * (cases != 1)}, {labels} label{'s' * (labels != 1)}"
        return f"<Measurements of {', '.join(self.names)}: {counts}; .summary has the means>"


def _ends(rows: Floats, ranges: Sequence[tuple[float, float]], level: float) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of means over what each row has; NaN where there are too few values.

    They lie within the range of what is measured. Where that is finite and most values are one and the same, or where
    resamples know no end, they are as wide as the range allows for.
    """
    low, high = np.full((2, len(rows)), np.nan)
    groups: dict[bytes, list[int]] = {}
    for number, known in enumerate(np.isfinite(rows)):
        groups.setdefault(known.tobytes(), []).append(number)
    for numbers in groups.values():
        known = np.isfinite(rows[numbers[0]])
        if known.sum() >= _LEAST:
            intervals = mean_intervals(rows[numbers][:, known], level=level)
            low[numbers], high[numbers] = intervals.low, intervals.high
            for number in numbers:
                low[number], high[number] = _settled(
                    rows[number, known], low[number], high[number], ranges[number], level
                )
    return low, high


def _settled(values: Floats, low: float, high: float, limits: tuple[float, float], level: float) -> tuple[float, float]:
    """Return the ends of one interval within the limits, and no narrower than these allow where values tell little."""
    ends = np.array([[low], [high]])
    if np.isfinite(limits).all():
        inside = np.clip(values, *limits)[None]
        ends = BoundedMeans(inside, None, inside, *limits).widened(ends, level)
    low, high = np.clip(ends[:, 0], *limits).tolist()
    return low, high


def _statistics(values: Floats, ends: Sequence[float]) -> tuple[float | int | None, ...]:
    """Return mean, interval, median, deviation, least, greatest and count; nothing of what there is no value of."""
    known = values[~np.isnan(values)]
    if not known.size:
        return (*(None,) * 7, 0)
    low, high = map(_number, ends)
    deviation = float(known.std(ddof=1)) if known.size > 1 and np.isfinite(known).all() else None
    median, least, most = float(np.median(known)), float(known.min()), float(known.max())
    return float(known.mean()), low, high, median, deviation, least, most, known.size


def _won(one: Floats, two: Floats, measure: Measure) -> tuple[int | None, int | None, int | None]:
    """Return in how many cases the first is better, worse and equal; nothing where no value is better."""
    known = ~np.isnan(one) & ~np.isnan(two)
    one, two = one[known], two[known]
    signs: Mapping[Direction, float] = {Direction.HIGHER: 1.0, Direction.LOWER: -1.0}
    if measure.direction is Direction.ZERO:
        one, two = -np.abs(one), -np.abs(two)
    elif measure.direction not in signs:
        return None, None, None
    sign = signs.get(measure.direction, 1.0)
    return int((sign * one > sign * two).sum()), int((sign * one < sign * two).sum()), int((one == two).sum())


def _number(number: float) -> float | None:
    return None if np.isnan(number) else float(number)

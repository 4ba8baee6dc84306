"""LVQuan18: full quantification of the left ventricle. Rules and their sources are in the README beside this file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from podium.challenges.lvquan18.measuring import MEASURES, measured_values, no_number
from podium.challenges.lvquan18.sheets import GROUPS, INDICES, NAMES, SUFFIXES, Sheet, inspect_sheet, read_sheet
from podium.challenges.lvquan18.views import agreements
from podium.metrics import pearson_correlation
from podium.model import Case, Challenge, Column, Cube, Direction, Floats, InputError, Measure, Scores, Value, View
from podium.model.errors import shortened
from podium.ranking import column_ranks, competition_ranks, cube_of, levelled, mean_column, weighted_mean, with_ranks
from podium.ranking.inference.significance import significance_ranks, significantly_better

if TYPE_CHECKING:
    import polars as pl

ALPHA = 0.05
SETS_AT_ONCE = 128  # few enough to stay in the processor's cache
TITLES = {"area": "areas", "dim": "dimensions", "rwt": "wall thicknesses"}
RANK_SUM = Measure("rank_sum", "Sum of ranks", Direction.LOWER, digits=0)
FILES = tuple(f"LVQUAN_*{suffix}" for suffix in SUFFIXES)


class LVQuan18(Challenge):
    """Mean absolute errors of eleven indices in three groups and the error rate of the phase; four ranks, added."""

    name: ClassVar[str] = "lvquan18"
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    scoring_options: ClassVar[tuple[str, ...]] = ("holm", "per_subject")
    version: ClassVar[int] = 3
    naming: ClassVar[tuple[str, ...]] = FILES
    single_files: ClassVar[tuple[str, ...]] = FILES
    row_words: ClassVar[tuple[str, str]] = ("image", "images")
    cluster_words: ClassVar[tuple[str, str]] = ("subject", "subjects")
    measures: ClassVar[tuple[Measure, ...]] = MEASURES
    title: ClassVar[str] = "LVQuan18"
    page: ClassVar[str] = "https://lvquan18.github.io"
    contents: ClassVar[tuple[str, ...]] = (
        "In .mat: areas_hat [2, n], dims_hat [3, n], rwt_hat [6, n] and lv_phase_hat [1, n].",
        "A column is an image, subject by subject, 20 frames each.",
        "In .csv: image,A1,A2,D1,D2,D3,RWT1,RWT2,RWT3,RWT4,RWT5,RWT6,Phase and a line for each image, as sub-02-05.",
        "In .txt: lines such as sub-02-05: A1, A2, …, Phase.",
        "Lengths are divided by the side of the 80 × 80 image, areas by its square; the phase is 0 or 1.",
    )
    placing: ClassVar[tuple[str, ...]] = (
        "Four lists: mean absolute error of areas, of dimensions and of wall thicknesses, and error rate of the phase.",
        "In the first three only significant differences count: a paired Wilcoxon signed-rank test, p < 0.05.",
        "The lowest sum of the four ranks wins; equal sums share the better place.",
    )
    summary: ClassVar[str] = (
        "Areas, dimensions and wall thicknesses of the left ventricle, and the cardiac phase, from cine MRI. The mean "
        "absolute error of each of the three groups, by a paired significance test, and the error rate of the phase "
        "give four ranks; their lowest sum wins. A submission with a missing value is not ranked."
    )

    holm: bool = False
    """Whether p-values are adjusted by Holm's method for the number of pairs of teams."""
    per_subject: bool = False
    """Whether the test compares one value per subject, since the frames of one heart are not independent."""

    units: Literal["mm", "normalised"] = "mm"
    """`mm`: in mm and mm², where the truth tells the scale of its images. `normalised`: as the files have them."""

    def cases(self, truth: Path) -> list[Case]:
        """Find the one file of the truth: LVQUAN_*.mat, .txt or .csv, else the only file with such an ending."""
        files = sorted(path for path in truth.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
        files = [path for path in files if _well_named(path)] or files
        if len(files) > 1:
            names = shortened([path.name for path in files])
            raise InputError(f"several files could be the truth: {names}", path=truth, advice="Keep one of them")
        return [Case("LVQUAN", (path,), FILES) for path in files]

    def rows(self, case: Case, truth: Sheet) -> tuple[str, ...]:  # noqa: ARG002  # what every challenge is given
        """Name the images."""
        return tuple(truth.images)

    def cluster(self, row: str) -> str:
        """Name the subject of an image."""
        return row.rpartition("-")[0]

    def load(self, case: Case) -> Sheet:
        """Read the truth, which must be complete."""
        (path,) = case.files
        truth = read_sheet(path, truth=True, scaled=self.units == "mm")
        whole = np.isfinite(truth.indices).all(axis=1) & np.isfinite(truth.phase)
        if not whole.all():
            images = [image for image, complete in zip(truth.images, whole, strict=True) if not complete]
            raise InputError(f"the truth has no finite number for {shortened(images)}", path=path)
        return truth

    def measure(self, case: Case, truth: Sheet, prediction: Path) -> list[Value]:  # noqa: ARG002  # what every challenge is given
        """Measure every image: the errors of eleven indices and of the phase."""
        return measured_values(truth, read_sheet(prediction), prediction)

    def overviews(self, measurements: pl.DataFrame) -> list[View]:
        """Show predicted against true values of every index."""
        return [*agreements(cube_of(self, measurements), correlation=_correlations)]

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a prediction; of a case, also which of its images are missing."""
        sheet, problems = inspect_sheet(prediction)
        if sheet is None:
            return problems
        gaps: dict[tuple[str, ...], list[str]] = {}
        for name, numbers in zip(NAMES, (*sheet.indices.T, sheet.phase), strict=True):
            gaps.setdefault(tuple(_where(sheet.images, ~np.isfinite(numbers))), []).append(name)
        problems += [f"{no_number(names)} for {shortened(images)}" for images, names in gaps.items() if images]
        return problems + (self._misfits(case, sheet, prediction) if case else [])

    def _misfits(self, case: Case, sheet: Sheet, prediction: Path) -> list[str]:
        """Say which images a file lacks, or why its images are not those of the truth."""
        images = self.load(case).images
        try:
            *_, present = sheet.arranged(images, prediction)
        except InputError as error:
            return [str(error)]
        absent = _where(images, ~present)
        return [f"no line for {shortened(absent)}"] if absent else []

    def doubts(self, case: Case | None, truth: Sheet | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say where numbers are not normalised, and where the phase is none; it counts as wrong."""
        return _odd_numbers(read_sheet(prediction))

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say in which unit errors are, how differences were tested, and which correlations do not exist."""
        if cube.has("scale_mm"):
            unit = "Errors are in mm (areas: mm²)."
        elif self.units == "normalised":
            unit = "Errors are in normalised units (0 to 1), as asked for."
        else:
            unit = "Errors are in normalised units (0 to 1): the truth does not tell pix_spa and ratio_resize_inverse."
        sample = "subject" if self.per_subject else "image"
        adjusted = " after Holm's adjustment" if self.holm else ""
        test = (
            "Only significant differences separate teams in the lists of MAE: paired Wilcoxon signed-rank test, "
            f"one value per {sample}, p < {ALPHA}{adjusted}."
        )
        return (unit, test, *_constants(cube))

    @property
    def terms(self) -> tuple[str, ...]:
        """The four lists whose ranks are added up."""
        return (*GROUPS, "phase")

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average errors over images and groups, rank the groups by significance and the phase by value, add ranks."""
        errors = {index: cube.of("absolute_error", index) for index in INDICES}
        means = {index: weighted_mean(values, weights) for index, values in errors.items()}
        in_mm = cube.has("scale_mm")
        ranks: dict[str, Floats] = {}
        criteria: dict[str, Column] = {}
        for group, members in GROUPS.items():
            measure = _error(f"mae_{group}", f"MAE {TITLES[group]}", group, in_mm=in_mm)
            column = mean_column(measure, np.mean([errors[index] for index in members], axis=0), weights)
            column = replace(column, values=np.mean([means[index] for index in members], axis=0))
            criteria[group], ranks[group] = column, self._list(column, _sizes(cube, members), weights, cube, ranked)
        phase = mean_column(
            Measure("er_phase", "ER phase", Direction.LOWER, minimum=0, maximum=1), cube.of("phase_error"), weights
        )
        criteria["phase"], ranks["phase"] = phase, column_ranks(phase, among=ranked)
        total = np.sum([self.weight(name) * rank for name, rank in ranks.items()], axis=0)
        columns = [Column(RANK_SUM, total, relative=True)]
        columns += with_ranks(criteria.values(), {criteria[name].name: rank for name, rank in ranks.items()})
        for group, members in GROUPS.items():
            columns += [Column(_error(f"mae_{i}", f"MAE {i}", group, in_mm=in_mm), means[i]) for i in members]
        for index in INDICES:
            measure = Measure(f"pcc_{index}", f"PCC {index}", Direction.HIGHER, minimum=-1, maximum=1)
            columns.append(Column(measure, _correlations(cube, index, weights)))
        places = competition_ranks(total, direction=Direction.LOWER, among=ranked)
        counting = [replace(criteria[n], importance=self.weight(n)) for n in ranks if self.weight(n) > 0]
        return Scores(places, tuple(columns), tuple(counting))

    def _list(self, column: Column, sizes: Floats, weights: Floats, cube: Cube, ranked: Sequence[bool]) -> Floats:
        """Return the ranks in one list, NaN for those who do not compete."""
        chosen = np.asarray(ranked, bool)
        assert column.rows is not None
        assert column.scales is not None
        errors, sizes = column.rows[chosen], sizes[chosen]
        if self.per_subject:
            better = self._better_by_subject(errors, sizes, weights, cube.clusters)
        else:
            better = self._better(errors, sizes, weights)
        ranks = np.full(column.values.shape, np.nan)
        ranks[:, chosen] = significance_ranks(column.values[:, chosen], better, scales=column.scales[:, chosen])
        return ranks

    def _better(self, errors: Floats, sizes: Floats, weights: Floats) -> npt.NDArray[np.bool_]:
        return significantly_better(
            errors, weights, direction=Direction.LOWER, sizes=sizes, alpha=ALPHA, adjusted=self.holm
        )

    def _better_by_subject(
        self, errors: Floats, sizes: Floats, weights: Floats, clusters: Sequence[str]
    ) -> npt.NDArray[np.bool_]:
        """Compare the mean errors of subjects; each counts as often as its image of most weight."""
        _, subject = np.unique(np.asarray(clusters), return_inverse=True)
        order = np.argsort(subject, kind="stable")
        starts = np.flatnonzero(np.diff(subject[order], prepend=-1))
        counts = np.maximum.reduceat(weights[:, order], starts, axis=1)
        times = counts[:, subject]
        shares = np.divide(weights, times, out=np.ones(weights.shape), where=times > 0)
        # When whole subjects are drawn, as they are in a bootstrap, all sets of weights have the same shares.
        patterns, which = np.unique(shares, axis=0, return_inverse=True)
        better = np.zeros((len(weights), len(errors), len(errors)), bool)
        for number, pattern in enumerate(patterns):
            chosen = which.reshape(-1) == number
            sums = np.add.reduceat((errors * pattern)[:, order], starts, axis=1)
            largest = np.maximum.reduceat((sizes * (pattern > 0))[:, order], starts, axis=1)
            means = sums / np.add.reduceat(pattern[order], starts)
            better[chosen] = self._better(means, largest, counts[chosen])
        return better


def _sizes(cube: Cube, members: Sequence[str]) -> Floats:
    """Return the largest magnitude that the errors of a group were made from, shape (submissions, rows)."""
    metrics = ("absolute_error", "reference", "prediction")
    known = [np.nan_to_num(np.abs(cube.of(metric, index))) for metric in metrics for index in members]
    return np.asarray(np.max(known, axis=0))


def _well_named(path: Path) -> bool:
    return any(fnmatchcase(path.name, name) for name in FILES)


def _odd_numbers(sheet: Sheet) -> list[str]:
    """Say which numbers are of another kind than the challenge's, though they can be measured."""
    odd = []
    outside = np.isfinite(sheet.indices) & ((sheet.indices < 0) | (sheet.indices > 1))
    if outside.any():
        names = [name for name, column in zip(INDICES, outside.T, strict=True) if column.any()]
        images = [image for image, row in zip(sheet.images, outside, strict=True) if row.any()]
        odd.append(f"{', '.join(names)}: outside 0 to 1 for {shortened(images)}; numbers are normalised, not in mm")
    if images := _where(sheet.images, np.isfinite(sheet.phase) & ~np.isin(sheet.phase, (0, 1))):
        odd.append(f"Phase is neither 0 nor 1 for {shortened(images)}")
    return odd


def _where(names: Sequence[str], chosen: npt.NDArray[np.bool_]) -> list[str]:
    return [name for name, wanted in zip(names, chosen, strict=True) if wanted]


def _error(name: str, title: str, group: str, *, in_mm: bool) -> Measure:
    unit, digits = ("mm²", 1) if group == "area" else ("mm", 3)
    return Measure(name, title, Direction.LOWER, unit if in_mm else "", minimum=0, digits=digits if in_mm else 4)


def _correlations(cube: Cube, index: str, weights: Floats) -> Floats:
    """Return the correlation of predicted with true values, shape (sets, submissions), over what is defined.

    It is undefined where all numbers of a file are equal, although the scale of each image makes them vary in mm.
    """
    result = np.full((len(weights), len(cube.submissions)), np.nan)
    scale = cube.of("scale_mm") if cube.has("scale_mm") else np.ones(cube.failed.shape)
    factors = np.square(scale) if index in GROUPS["area"] else scale
    pairs = zip(cube.of("reference", index), cube.of("prediction", index), factors, strict=True)
    for place, (reference, prediction, factor) in enumerate(pairs):
        defined = ~(np.isnan(reference) | np.isnan(prediction))
        sides = reference[defined], prediction[defined]
        # Dividing by the scale adds rounding errors, and these are no variation.
        if any(np.unique(levelled(side / factor[defined])).size < 2 for side in sides):
            continue
        for start in range(0, len(weights), SETS_AT_ONCE):
            chosen = slice(start, start + SETS_AT_ONCE)
            result[chosen, place] = pearson_correlation(*sides, weights=weights[chosen, defined])
    return result


def _constants(cube: Cube) -> list[str]:
    """Say which correlations are undefined, and that this is because something is constant."""
    undefined: dict[str, list[str]] = {}
    for index in INDICES:
        missing = np.isnan(_correlations(cube, index, np.ones((1, len(cube.rows)))))[0]
        measured = ~np.isnan(cube.of("prediction", index)).all(axis=1)
        for submission in _where(cube.submissions, missing & measured):
            undefined.setdefault(submission, []).append(index)
    return [
        f"The PCC of {submission} is undefined for {', '.join(indices)}: predictions, or true values, are constant."
        for submission, indices in undefined.items()
    ]


CHALLENGE = LVQuan18

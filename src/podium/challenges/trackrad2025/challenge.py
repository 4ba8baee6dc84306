"""TrackRAD 2025: real-time tumour tracking on cine-MRI. Rules and their sources are in the README beside this file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from podium.challenges.trackrad2025 import observers, scoring
from podium.challenges.trackrad2025.dose import Plan, plan_dose, relative_d98
from podium.challenges.trackrad2025.frames import METRICS, Frames, empty_value, measure_frames
from podium.challenges.trackrad2025.sequences import LabelSequence, check_shape, geometry_differences, read_sequence
from podium.challenges.trackrad2025.views import Observer, film, views_of
from podium.io import read_text
from podium.metrics.mixups import mirror_doubts
from podium.model import (
    Case,
    Cube,
    Direction,
    Floats,
    InputError,
    Measure,
    OrganisersKeys,
    Price,
    Role,
    Scene,
    Scores,
    Status,
    Value,
    View,
)
from podium.raters import (
    FUSIONS,
    PEOPLE,
    PairValues,
    RatedChallenge,
    RaterAgreement,
    RaterPanel,
    agreed_values,
    agreement_of,
    rater_measures,
    undefined,
)

BASELINE = scoring.BASELINE
_SPREADS = {"std": "standard deviation", "min": "minimum", "max": "maximum"}
_OFFICIAL = {
    "dice": "dice_similarity_coefficient",
    "hd95": "hausdorff_distance_95",
    "masd": "surface_distance_average",
    "centre_distance": "center_distance",
    "relative_d98": "relative_d98_dose",
}
_NOTHING = "no frame has a target: every pixel is 0"


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The reference of a case, and the dose planned on its first target."""

    sequence: LabelSequence
    first: int
    plan: Plan


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """The references of a case by several observers, the first of whom is the challenge's own."""

    names: tuple[str, ...]
    truths: tuple[Truth, ...]


def _expected(case: str) -> tuple[str, ...]:
    """Return how a prediction may be called: after its case, or what a container writes into the folder of a case."""
    places = (f"{case}/{place}/mri-linac-series-targets/*.mha" for place in ("images", "output/images"))
    return f"{case}.mha", f"{case}_labels.mha", *places


class TrackRAD2025(RatedChallenge):
    """Four geometric metrics per frame, a dose metric per sequence, and the runtime; six ranks, averaged."""

    name: ClassVar[str] = "trackrad2025"
    title: ClassVar[str] = "TrackRAD 2025"
    page: ClassVar[str] = "https://trackrad2025.grand-challenge.org"
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    scoring_options: ClassVar[tuple[str, ...]] = ("timing",)
    version: ClassVar[int] = 3
    naming: ClassVar[tuple[str, ...]] = _expected("*")
    contents: ClassVar[tuple[str, ...]] = (
        "The target in every frame, as whole numbers: 0 is background, all else target.",
        "Axes as of the frames that are given: DimSize = T d1 d0 in the header; the shape must be the same.",
    )
    placing: ClassVar[tuple[str, ...]] = (
        "Each of the five values, averaged over cases, and the seconds per frame rank the teams.",
        "The lowest mean of the six ranks wins; equal means share the place.",
        "Who takes more than 1 s a frame, has no times, or beats no tracking in no geometric value is not ranked.",
    )
    summary: ClassVar[str] = (
        "A tumour tracked through cine-MRI. Dice, HD95, mean average surface distance and centre distance are averaged "
        "over frames, then over cases; the dose that 98 % of the target still receive, over cases; seconds per frame "
        "are fitted. Six ranks are averaged, and the lowest wins. At most 1 s a frame, and better than no tracking in "
        "at least one geometric metric. A failed case counts as nothing found in any frame."
    )

    organisers_keys: ClassVar[OrganisersKeys | None] = OrganisersKeys(
        "case_id",
        results=_OFFICIAL
        | {f"{name}_{kind}": f"{kind}_{_OFFICIAL[name]}" for name in METRICS for kind in _SPREADS}
        | {"seconds": "total_runtime", "frames": "frame_count"},
        aggregates=_OFFICIAL | {name: name for name in ("runtime", "loading_time", "time_per_frame", "total_time")},
    )

    references: Literal["first", "observers", "majority", "intersection", "union", "staple"] = "first"
    """What predictions are measured against. `first`: A_001_labels.mha. `observers`: the labels of every observer, and
    values are means over them. `majority`, `intersection`, `union` or `staple`: one truth made of all observers."""
    timing: Literal["required", "ignored"] = "required"
    """`required`: a team without a time for every case is not eligible. `ignored`: five ranks, and no limit."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Four metrics averaged over frames, the relative D98, and the number of frames."""
        code = self.edition == "code"

        def side(truth: Any, _: str, __: str) -> float:
            return empty_value(_first(truth).sequence, "hd95", edition=self.edition)

        def frames(truth: Any, _: str, __: str) -> float:
            return float(_first(truth).sequence.shape[0])

        def distance(name: str, title: str) -> Measure:
            price = Price(side, "the longer side of the image", caps=not code)
            return Measure(name, title, Direction.LOWER, "mm", minimum=0, price=price, infinite=code, undefined=code)

        nothing = Price(0.0)
        judged = (
            Measure("dice", "Dice", Direction.HIGHER, minimum=0, maximum=1, price=nothing, undefined=code),
            distance("hd95", "HD95"),
            distance("masd", "MASD"),
            distance("centre_distance", "Centre distance"),
            Measure("relative_d98", "Relative D98", Direction.HIGHER, minimum=0, price=nothing, undefined=True),
        )
        count = Measure("frames", "Frames", minimum=1, price=Price(frames, "none: it follows from the truth"))
        return (*judged, count, *(_spread_measures(judged[:4]) if code else ()))

    def cases(self, truth: Path) -> list[Case]:
        """Find A_001/targets/A_001_labels.mha, and the labels of further observers if they are asked for."""
        cases = self.rated_cases(truth)
        if self.references == "first":
            return [replace(case, files=case.files[:2]) for case in cases]
        if cases and all(len(case.files) == 2 for case in cases):
            raise InputError(
                f"references={self.references} needs further observers, and no case has any",
                path=truth,
                advice="They are expected beside A_001_labels.mha as A_001_labels2.mha and so on",
            )
        return cases

    def rated_cases(self, truth: Path) -> list[Case]:
        """Find the cases with the labels of all observers: the first, the scanned region, then the others."""
        cases = []
        for folder in sorted(path for path in truth.iterdir() if path.is_dir()):
            labels = folder / "targets" / f"{folder.name}_labels.mha"
            if labels.is_file():
                others = observers.observer_files(labels)
                files = (labels, folder / "scanned-region.json", *others)
                cases.append(Case(folder.name, files, _expected(folder.name)))
            elif (folder / "targets").is_dir():
                raise InputError(f"this case has no targets/{labels.name}", path=folder)
        return cases

    def load(self, case: Case) -> Truth | Observed:
        """Read the reference, or those of all observers, and plan the dose on the first frame that has a target."""
        labels, region, *others = case.files
        files = (labels, *others)
        sequences = [read_sequence(path) for path in files]
        for sequence, path in zip(sequences, files, strict=True):
            check_shape(sequences[0], sequence, path=path)
        if self.references in FUSIONS:
            one = observers.fused(sequences, method=self.references, files=files)
            return self._truth(one, labels, region)
        truths = [self._truth(sequence, path, region) for sequence, path in zip(sequences, files, strict=True)]
        return truths[0] if self.references == "first" else Observed(observers.observer_names(files), tuple(truths))

    def _truth(self, sequence: LabelSequence, labels: Path, region: Path) -> Truth:
        present = np.flatnonzero(sequence.present)
        if not present.size:
            raise InputError("no frame of the reference has a target", path=labels)
        first = int(present[0])
        plan = plan_dose(
            sequence.frame(first), region=_region(region), spacing_mm=sequence.spacing_mm, edition=self.edition
        )
        return Truth(sequence, first, plan)

    def truth_as_prediction(self, case: Case) -> Path | None:
        """Offer the labels of the first observer."""
        return case.files[0]

    def measure(self, case: Case, truth: Truth | Observed, prediction: Path) -> list[Value]:
        """Measure every frame of a prediction, and the sequence; against several observers, the means over them."""
        guess = read_sequence(prediction)
        own = _first(truth).sequence
        check_shape(own, guess, path=prediction)
        if self.edition == "code" and not guess.labels.size:
            raise InputError("no frame has a target", path=prediction, advice="Every pixel is 0")
        differences = geometry_differences(own, guess)
        return self._against(case, truth, guess, warning=f"accepted although {differences}" if differences else "")

    def views(self, case: Case, truth: Truth | Observed, prediction: Path, *, images: Path | None = None) -> list[View]:
        """Show the target's centre over time, its error, the dose, and the worst frame."""
        guess = read_sequence(prediction)
        check_shape(_first(truth).sequence, guess, path=prediction)
        names, truths = (truth.names, truth.truths) if isinstance(truth, Observed) else (("reference",), (truth,))
        seen = [
            Observer(name, reference.sequence, reference.plan) for name, reference in zip(names, truths, strict=True)
        ]
        return views_of(case, seen, guess, edition=self.edition, images=images)

    def scenes(
        self, case: Case, truth: Truth | Observed, prediction: Path, *, images: Path | None = None
    ) -> list[Scene]:
        """Show the sequence as a film; of several observers, the first is the reference."""
        guess, own = read_sequence(prediction), _first(truth).sequence
        check_shape(own, guess, path=prediction)
        return [film(case, own, guess, edition=self.edition, images=images)]

    def _against(self, case: Case, truth: Truth | Observed, guess: LabelSequence, *, warning: str = "") -> list[Value]:
        if isinstance(truth, Truth):
            return self._values(case, truth, guess, warning=warning)
        return observers.averaged([self._values(case, reference, guess, warning=warning) for reference in truth.truths])

    def _values(self, case: Case, truth: Truth, guess: LabelSequence, *, warning: str = "") -> list[Value]:
        frames = measure_frames(truth.sequence, guess, edition=self.edition)
        values = [_averaged(case.name, metric, frames, warning=warning) for metric in METRICS]
        dose = relative_d98(truth.plan, frames.shifts, frames=frames.listed.size, edition=self.edition)
        if np.isnan(dose):
            reason = "no dose is planned where the target is"
            values.append(Value(case.name, "relative_d98", None, status=Status.UNDEFINED, reason=reason))
        else:
            values.append(Value(case.name, "relative_d98", dose, reason=warning))
        values.append(Value(case.name, "frames", float(truth.sequence.shape[0])))
        if self.edition == "code":
            values += _spread(case.name, frames)
        return values + _frame_values(case.name, frames)

    @property
    def built_in(self) -> Mapping[str, Role]:
        """No tracking, the first target repeated in every frame; and the observers, where all of them are the truth."""
        people = {PEOPLE: Role.REFERENCE} if self.references == "observers" else {}
        return {BASELINE: Role.BASELINE} | people

    def measure_built_in(self, name: str, case: Case, truth: Truth | Observed) -> list[Value]:
        """Measure what not tracking at all would give, or how far the observers agree."""
        first = _first(truth)
        if name == BASELINE:
            return self._against(case, truth, first.sequence.repeated(first.first))
        count = Value(case.name, "frames", float(first.sequence.shape[0]))
        if not isinstance(truth, Observed) or len(truth.truths) < 2:
            reason = "there is one observer only"
            return [*(undefined(case.name, metric, "", reason) for metric in (*METRICS, "relative_d98")), count]
        return [*agreed_values(self.agreement(case, truth)), count]

    def panel(self, case: Case) -> Observed:
        """Read the labels of all observers."""
        if len(case.files) < 3:
            raise InputError(f"{case.name} has one observer only", advice="Others are A_001_labels2.mha and so on")
        observed = self.varied(references="observers").load(case)
        assert isinstance(observed, Observed)
        return observed

    def agreement(
        self, case: Case, panel: Observed, *, percentiles: Sequence[float] = (), metrics: Sequence[str] = ()
    ) -> RaterAgreement:
        """Compare all observers with one another, each in turn being the reference of the other."""
        truths = panel.truths
        judged = [measure.name for measure in self.decisive]
        more = rater_measures([name for name in metrics if name not in judged])

        def compared(one: int, other: int) -> PairValues:
            ways = [self._values(case, truths[a], truths[b].sequence) for a, b in ((one, other), (other, one))]
            both = [{v.metric: math.nan if v.value is None else v.value for v in way if not v.unit} for way in ways]
            values = {(name, ""): sum(way[name] for way in both) / 2 for name in judged}
            sequences = truths[one].sequence, truths[other].sequence
            values |= {(measure.name, ""): observers.other_metric(measure, *sequences) for measure in more}
            return PairValues(values, observers.pooled_tolerances(*sequences, percentiles))

        group = tuple(range(len(truths)))
        return agreement_of(case.name, RaterPanel(panel.names, (group,)), compared)

    def check(self, case: Case | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say what is wrong with a prediction, as far as it can be seen without the truth."""
        guess = read_sequence(prediction)
        return [_NOTHING] if self.edition == "code" and not guess.labels.size else []

    def doubts(self, case: Case | None, truth: Truth | Observed | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say whether there is no target at all, whether frames are mirrored, and which pixels `code` miscounts."""
        guess = read_sequence(prediction)
        if not guess.labels.size:
            return [_NOTHING] if self.edition == "document" else []
        doubts = []
        if self.edition == "code" and guess.labels.max() > 1:
            doubts.append(
                f"a pixel is {guess.labels.max()}: the organisers' code scores such a Dice wrongly; use 0 and 1"
            )
        if truth is None or guess.shape != _first(truth).sequence.shape:
            return doubts
        own, other = (sequence.whole for sequence in (_first(truth).sequence, guess))
        return doubts + mirror_doubts(own, other, axes={1: "top–bottom", 2: "left–right"})

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say whose time is unknown or strange, and where the loading time or the baseline is."""
        return scoring.notes(cube, self.edition, self.timing)

    def ineligible(self, cube: Cube) -> Mapping[str, str]:
        """Exclude what takes more than 1 s a frame, and what nowhere outperforms no tracking."""
        return scoring.ineligible(cube, self.edition, self.timing)

    @property
    def counts_time(self) -> bool:
        """One of six ranks is the runtime, unless the organiser ignores it."""
        return self.timing == "required"

    @property
    def terms(self) -> tuple[str, ...]:
        """The values that are ranked."""
        return scoring.TERMS if self.timing == "required" else scoring.TERMS[:-1]

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average over cases, fit the runtime, rank six times, and average the ranks."""
        return scoring.score(cube, weights, ranked, self)


def _first(truth: Truth | Observed) -> Truth:
    """Return the reference of the first observer."""
    return truth.truths[0] if isinstance(truth, Observed) else truth


def _region(path: Path) -> str:
    """Read which part of the body was scanned, which decides how steeply the dose falls off."""
    advice = 'It must hold one string, such as "thorax" or "abdomen"'
    if not path.is_file():
        raise InputError("there is no such file", path=path, advice=advice)
    try:
        region = json.loads(read_text(path))
    except json.JSONDecodeError:
        raise InputError("this is not JSON", path=path, advice=advice) from None
    if not isinstance(region, str):
        raise InputError(f"the scanned region is {region!r}", path=path, advice=advice)
    return region.strip().lower()


def _averaged(case: str, metric: str, frames: Frames, *, warning: str) -> Value:
    if not frames.averaged.size:
        reason = "only one frame has a target, and the first does not count"
        return Value(case, metric, None, status=Status.UNDEFINED, reason=reason)
    mean, raw = (float(numbers[metric][frames.averaged].mean()) for numbers in (frames.values, frames.measured))
    return Value(case, metric, mean, reason=warning, measured=None if raw == mean else raw)


def _spread_measures(measures: Sequence[Measure]) -> list[Measure]:
    """Return what else the organisers' code reports of a sequence."""
    return [
        Measure(f"{m.name}_{name}", f"{m.title}, {title}", unit=m.unit, minimum=0, infinite=m.infinite, optional=True)
        for m in measures
        for name, title in _SPREADS.items()
    ]


def _spread(case: str, frames: Frames) -> list[Value]:
    """Return these; the maximum alone includes the first entry."""
    values = []
    for metric in METRICS:
        numbers, all_numbers = frames.values[metric][frames.averaged], frames.values[metric][frames.listed]
        if numbers.size and np.isfinite(all_numbers).all():
            spreads = zip(_SPREADS, (numbers.std(), numbers.min(), all_numbers.max()), strict=True)
            values += [Value(case, f"{metric}_{name}", float(number)) for name, number in spreads]
    return values


def _frame_values(case: str, frames: Frames) -> list[Value]:
    """Return the numbers of every frame that has a reference; frames are counted from 1."""
    return [
        Value(case, metric, value, unit=f"frame {number:04d}", measured=None if raw == value else raw)
        for metric in METRICS
        for number, (value, raw) in enumerate(
            zip(frames.values[metric].tolist(), frames.measured[metric].tolist(), strict=True), start=1
        )
        if not math.isnan(value)
    ]


CHALLENGE = TrackRAD2025

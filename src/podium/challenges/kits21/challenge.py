"""KiTS21: kidney, tumour and cyst segmentation. Rules and their sources are in the README beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np

from podium.challenges.kits21.annotations import Sampled, read_fused, read_samples
from podium.challenges.kits21.views import slices
from podium.io import read_label_map
from podium.metrics import dice, overlap, structures, surface_dice, surface_distances
from podium.model import (
    TOLERANCE_SCALES,
    Case,
    Challenge,
    Column,
    Cube,
    Direction,
    Expected,
    Floats,
    InputError,
    LabelMap,
    Quantity,
    Scores,
    Status,
    Value,
    View,
)
from podium.ranking import competition_ranks, mean_rank, weighted_mean
from podium.raters import FUSIONS, PEOPLE, Agreement, Measure, RatedChallenge, agreed_values, undefined

REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
TOLERANCES_MM = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}
LABELS = {0, 1, 2, 3}
REFERENCES = ("aggregated", "samples", *FUSIONS)


@dataclass
class KiTS21(RatedChallenge):
    """Dice and surface Dice of three hierarchical regions; six ranks, averaged."""

    name: ClassVar[str] = "kits21"
    scoring_options: ClassVar[tuple[str, ...]] = ("tolerance_scale",)
    title: ClassVar[str] = "KiTS21"
    page: ClassVar[str] = "https://kits21.kits-challenge.org"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = (
        "Kidneys, tumours and cysts in CT. Dice and surface Dice of kidney and mass, mass, and tumour are averaged "
        "over cases; each of the six values ranks the teams, and the lowest average rank wins. A failed case scores 0."
    )

    reference: str = "MAJ"
    """Which aggregation of the annotations is the truth: MAJ, AND or OR."""
    references: str = ""
    """What predictions are measured against. `aggregated`: the file that `reference` names, the default in `document`.
    `samples`: every sampled segmentation, the default in `code`. `majority`, `intersection`, `union` or `staple`: what
    Podium makes of the separate annotations."""
    geometry: str = "full"
    """`full`: spacing, origin and direction must be the reference's. `shape`: only the shape must be."""
    tolerance_scale: float = 1.0
    """At which multiple of its tolerance surface Dice is scored: 0.5, 1 or 2; all three are measured."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.references = self.references or ("samples" if self.edition == "code" else "aggregated")
        if self.tolerance_scale not in TOLERANCE_SCALES:
            raise InputError(f"tolerance_scale is {self.tolerance_scale}", advice="There are: 0.5, 1, 2")
        for option, value, choices in (
            ("reference", self.reference, ("MAJ", "AND", "OR")),
            ("references", self.references, REFERENCES),
            ("geometry", self.geometry, ("full", "shape")),
        ):
            if value not in choices:
                raise InputError(f"{option} is one of {', '.join(choices)}, not {value!r}")

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Dice and surface Dice of each region; surface Dice also at half and twice the tolerance."""
        regions = tuple(REGIONS)
        return (
            Quantity("dice", "Dice", "", Direction.HIGHER, price="0", targets=regions),
            Quantity("surface_dice", "Surface Dice", "", Direction.HIGHER, price="0", targets=regions),
            *(
                Quantity(
                    f"surface_dice{ending}", f"Surface Dice, tolerance × {scale:g}", "", Direction.NONE, "0", regions
                )
                for scale, ending in TOLERANCE_SCALES.items()
                if ending
            ),
        )

    def cases(self, truth: Path) -> list[Case]:
        """Find case_00000/aggregated_MAJ_seg.nii.gz, or case_00000.nii.gz; or the separate annotations."""
        if self.references != "aggregated":
            return self._annotated_cases(truth)
        for folder in sorted(truth.glob("case_*/")):
            if not (folder / f"aggregated_{self.reference}_seg.nii.gz").is_file():
                raise InputError(f"this case has no aggregated_{self.reference}_seg.nii.gz", path=folder)
        nested = {path.parent.name: path for path in truth.glob(f"case_*/aggregated_{self.reference}_seg.nii.gz")}
        flat = {path.name.removesuffix(".nii.gz"): path for path in truth.glob("case_*.nii.gz")}
        return [Case(name, (path,)) for name, path in sorted((flat | nested).items())]

    def expected(self, case: Case) -> Expected:
        """Name the prediction: case_00000.nii.gz."""
        return Expected(case.name, (f"{case.name}.nii.gz", f"{case.name}.nii"))

    def _annotated_cases(self, truth: Path) -> list[Case]:
        """Find the cases, all of which must have separate annotations."""
        advice = "Add them, or measure against one file: --references aggregated"
        if flat := sorted(truth.glob("case_*.nii.gz")):
            raise InputError(f"references={self.references} needs separate annotations", path=flat[0], advice=advice)
        cases = self.rated_cases(truth)
        for case in cases:
            if not case.files:
                raise InputError("this case has no segmentations/*.nii.gz", path=truth / case.name, advice=advice)
        return cases

    def load(self, case: Case) -> LabelMap | Sampled:
        """Read the reference, or make it of the annotations."""
        if self.references == "aggregated":
            return read_label_map(case.files[0], dimensions=3)
        if self.references == "samples":
            return self.panel(case)
        return read_fused(case, method=self.references)

    def measure(self, case: Case, truth: LabelMap | Sampled, prediction: Path) -> list[Value]:
        """Measure the six values of a prediction; against samples, their means."""
        guess = read_label_map(prediction, dimensions=3)
        grid = truth.grid if isinstance(truth, Sampled) else truth
        warning = self._check_grid(grid, guess, prediction)
        spacing = guess.spacing if self.edition == "code" else grid.spacing
        if isinstance(truth, Sampled):
            own = structures(guess, regions=REGIONS)
            found = truth.structures.against(own, measures=_measures(), spacing_mm=spacing)
            return [Value(case.name, metric, x, region, reason=warning) for (metric, region), x in found.items()]
        overlaps = overlap(truth, guess, regions=REGIONS, spacing_mm=spacing)
        surfaces = surface_distances(truth, guess, regions=REGIONS, spacing_mm=spacing)
        values = []
        for region, tolerance in TOLERANCES_MM.items():
            values.append(Value(case.name, "dice", dice(overlaps[region]), region, reason=warning))
            for scale, ending in TOLERANCE_SCALES.items():
                within = surface_dice(surfaces[region], tolerance_mm=scale * tolerance)
                values.append(Value(case.name, f"surface_dice{ending}", within, region, reason=warning))
        return values

    def _check_grid(self, truth: LabelMap, guess: LabelMap, path: Path) -> str:
        """Refuse a prediction on another grid; return a warning where one is accepted."""
        if guess.shape != truth.shape:
            shapes = (" × ".join(map(str, shape)) for shape in (guess.shape, truth.shape))
            raise InputError("wrong shape: {} voxels, the reference has {}".format(*shapes), path=path)
        differences = truth.geometry_differences(guess) if self.edition == "document" else []
        if differences and self.geometry == "full":
            raise InputError(
                f"wrong geometry: reference and prediction have {'; '.join(differences)}",
                path=path,
                advice="Save it with the reference's header, or ask for --geometry shape",
            )
        if strange := set(guess.labels) - LABELS:
            raise InputError(f"label {min(strange)} is none of 0, 1, 2, 3", path=path)
        return f"accepted although {'; '.join(differences)} differ" if differences else ""

    def views(
        self, case: Case, truth: LabelMap | Sampled, prediction: Path, *, images: Path | None = None
    ) -> list[View]:
        """Show the slices that are disputed most; of several annotations, their majority is the reference."""
        guess = read_label_map(prediction, dimensions=3)
        reference = read_fused(case, method="majority") if isinstance(truth, Sampled) else truth
        self._check_grid(reference, guess, prediction)
        several = ("The reference that is drawn is the majority of all annotations.",)
        remarks = several if isinstance(truth, Sampled) else ()
        return [slices(case, reference, guess, images=images, remarks=remarks)]

    def rated_cases(self, truth: Path) -> list[Case]:
        """Find case_00000 with its annotations, segmentations/kidney_instance-1_annotation-1.nii.gz and so on."""
        return [
            Case(folder.name, tuple(sorted((folder / "segmentations").glob("*.nii.gz"))))
            for folder in sorted(truth.glob("case_*/"))
        ]

    def panel(self, case: Case) -> Sampled:
        """Read the annotations of a case and compose its plausible segmentations."""
        return read_samples(case, regions=REGIONS)

    def agreement(
        self, case: Case, panel: Sampled, *, percentiles: Sequence[float] = (), metrics: Sequence[str] = ()
    ) -> Agreement:
        """Compare the samples within their groups."""
        own = _measures()[:2]
        measures = [*own, *(Measure.named(name) for name in metrics if name not in {each.name for each in own})]
        return self._agreement(case, panel, measures, percentiles)

    def _agreement(
        self, case: Case, panel: Sampled, measures: Sequence[Measure], percentiles: Sequence[float] = ()
    ) -> Agreement:
        return panel.structures.agreement(
            case.name,
            measures=measures,
            spacing_mm=panel.grid.spacing,
            percentiles=percentiles,
            remarks=panel.remarks,
        )

    def samples(self, case: Case, panel: Sampled) -> Iterator[tuple[PurePosixPath, LabelMap]]:
        """Compose every sample: case_00000/segmentation_samples/group_0/kidney_i1a1_i2a3_cyst_tumor_i1a2.nii.gz."""
        return panel.files(case.name)

    def people(self) -> tuple[str, ...]:
        """Name the raters, where predictions are measured against the same samples as they are."""
        return (PEOPLE,) if self.references == "samples" else ()

    def measure_people(self, name: str, case: Case, truth: Sampled) -> list[Value]:
        """Measure how far the raters agree."""
        if name not in self.people():
            raise InputError(f"{self.title} knows no people called {name!r}", advice=f"There are: {PEOPLE}")
        measures = _measures()
        try:
            return agreed_values(self._agreement(case, truth, measures))
        except InputError as error:  # there is only one annotation
            return [undefined(case.name, m.name, region, str(error)) for m in measures for region in REGIONS]

    def failed(self, case: Case, truth: LabelMap | Sampled | None, status: Status, reason: str) -> list[Value]:  # noqa: ARG002
        """Price a failed case: 0 in every value."""
        return [
            Value(case.name, quantity.metric, 0.0, target, status=status, reason=reason)
            for quantity in self.quantities
            for target in quantity.targets
        ]

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a prediction, as far as it can be seen without the truth."""
        problems = []
        if case is None and not re.fullmatch(r"case_\d{5}\.nii(\.gz)?", prediction.name):
            problems.append("the name is not of the form case_00000.nii.gz")
        guess = read_label_map(prediction, dimensions=3)
        if strange := set(guess.labels) - LABELS:
            problems.append(f"label {min(strange)} is none of 0, 1, 2, 3")
        return problems

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say what predictions were measured against, where that is not the usual."""
        # In runs from before samples were an option, edition `code` too had one reference, and no raters.
        if self.references == "samples" and PEOPLE in cube.submissions:
            return ("Measured against every sampled segmentation of the annotators; values are means over samples.",)
        if self.references in FUSIONS:
            return (f"Measured against one reference, made of all annotations by {self.references}.",)
        if self.edition == "document":
            return ()
        return (f"Measured against one reference ({self.reference}); the organisers take every sampled one.",)

    @property
    def terms(self) -> tuple[str, ...]:
        """The values that are ranked."""
        regions = ("all",) if self.edition == "code" else tuple(REGIONS)
        return tuple(f"{quantity}_{region}" for quantity in ("dice", "surface_dice") for region in regions)

    def alternatives(self, cube: Cube) -> dict[str, Challenge]:
        """Score surface Dice at half and at twice the tolerance, where that was measured."""
        return {
            f"tolerance × {scale:g}": replace(self, tolerance_scale=scale)
            for scale, ending in TOLERANCE_SCALES.items()
            if scale != self.tolerance_scale and cube.has(f"surface_dice{ending}", "mass")
        }

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average over cases, rank each of six values (`code`: one Dice, one surface Dice), average the ranks."""
        measured = {"dice": "dice", "surface_dice": f"surface_dice{TOLERANCE_SCALES[self.tolerance_scale]}"}
        rows = {(q, region): cube.of(metric, region) for q, metric in measured.items() for region in REGIONS}
        if self.edition == "code":
            rows = {(q, "all"): np.mean([rows[q, region] for region in REGIONS], axis=0) for q in measured}
        titles = {"dice": "Dice", "surface_dice": "Surface Dice"}
        criteria = {
            f"{q}_{region}": Column(
                f"{q}_{region}",
                f"{titles[q]} {region.replace('_', ' ')}",
                weighted_mean(values, weights),
                direction=Direction.HIGHER,
                rows=values,
            )
            for (q, region), values in rows.items()
        }
        ranks = {
            name: competition_ranks(column.values, direction=Direction.HIGHER, among=ranked)
            for name, column in criteria.items()
        }
        average = mean_rank(ranks, self.emphasis)
        columns = [Column("average_rank", "Average rank", average, direction=Direction.LOWER, digits=2, relative=True)]
        for name, column in criteria.items():
            columns += [column, Column(f"{name}_rank", f"{column.title} rank", ranks[name], digits=0, relative=True)]
        places = competition_ranks(average, direction=Direction.LOWER, among=ranked)
        return Scores(
            places,
            tuple(columns),
            tuple(replace(criteria[name], importance=self.weight(name)) for name in ranks if self.weight(name) > 0),
        )


def _measures() -> list[Measure]:
    """Return Dice, surface Dice, and surface Dice at other multiples of its tolerance."""
    scaled = [
        Measure(
            f"surface_dice{ending}",
            surface_dice,
            {region: {"tolerance_mm": scale * tolerance} for region, tolerance in TOLERANCES_MM.items()},
        )
        for scale, ending in sorted(TOLERANCE_SCALES.items(), key=lambda item: item[1])
    ]
    return [Measure("dice", dice), *scaled]


CHALLENGE = KiTS21

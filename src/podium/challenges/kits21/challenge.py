"""KiTS21: kidney, tumour and cyst segmentation. Rules and their sources are in the README beside this file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from podium.io import read_label_map
from podium.metrics import dice, overlap, surface_dice, surface_distances
from podium.model import (
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
)
from podium.ranking import competition_ranks, weighted_mean

REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
TOLERANCES_MM = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}
LABELS = {0, 1, 2, 3}


@dataclass
class KiTS21(Challenge):
    """Dice and surface Dice of three hierarchical regions; six ranks, averaged."""

    name: ClassVar[str] = "kits21"
    title: ClassVar[str] = "KiTS21"
    page: ClassVar[str] = "https://kits21.kits-challenge.org"
    summary: ClassVar[str] = (
        "Kidneys, tumours and cysts in CT. Dice and surface Dice of kidney and mass, mass, and tumour are averaged "
        "over cases; each of the six values ranks the teams, and the lowest average rank wins. A failed case scores 0."
    )

    reference: str = "MAJ"
    """Which aggregation of the annotations is the truth: MAJ, AND or OR."""
    geometry: str = "full"
    """`full`: spacing, origin and direction must be the reference's. `shape`: only the shape must be."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, value, choices in (
            ("reference", self.reference, ("MAJ", "AND", "OR")),
            ("geometry", self.geometry, ("full", "shape")),
        ):
            if value not in choices:
                raise InputError(f"{option} is one of {', '.join(choices)}, not {value!r}")

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Dice and surface Dice of each region."""
        return tuple(
            Quantity(metric, title, "", Direction.HIGHER, price="0", targets=tuple(REGIONS))
            for metric, title in (("dice", "Dice"), ("surface_dice", "Surface Dice"))
        )

    def cases(self, truth: Path) -> list[Case]:
        """Find case_00000/aggregated_MAJ_seg.nii.gz, or case_00000.nii.gz."""
        for folder in sorted(truth.glob("case_*/")):
            if not (folder / f"aggregated_{self.reference}_seg.nii.gz").is_file():
                raise InputError(f"this case has no aggregated_{self.reference}_seg.nii.gz", path=folder)
        nested = {path.parent.name: path for path in truth.glob(f"case_*/aggregated_{self.reference}_seg.nii.gz")}
        flat = {path.name.removesuffix(".nii.gz"): path for path in truth.glob("case_*.nii.gz")}
        return [Case(name, (path,)) for name, path in sorted((flat | nested).items())]

    def expected(self, case: Case) -> Expected:
        """Name the prediction: case_00000.nii.gz."""
        return Expected(case.name, (f"{case.name}.nii.gz", f"{case.name}.nii"))

    def load(self, case: Case) -> LabelMap:
        """Read the reference."""
        return read_label_map(case.files[0], dimensions=3)

    def measure(self, case: Case, truth: LabelMap, prediction: Path) -> list[Value]:
        """Measure the six values of a prediction."""
        guess = read_label_map(prediction, dimensions=3)
        warning = self._check_grid(truth, guess, prediction)
        spacing = guess.spacing if self.edition == "code" else truth.spacing
        overlaps = overlap(truth, guess, regions=REGIONS, spacing_mm=spacing)
        surfaces = surface_distances(truth, guess, regions=REGIONS, spacing_mm=spacing)
        values = []
        for region, tolerance in TOLERANCES_MM.items():
            values.append(Value(case.name, "dice", dice(overlaps[region]), region, reason=warning))
            within = surface_dice(surfaces[region], tolerance_mm=tolerance)
            values.append(Value(case.name, "surface_dice", within, region, reason=warning))
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

    def failed(self, case: Case, truth: LabelMap | None, status: Status, reason: str) -> list[Value]:  # noqa: ARG002
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

    def notes(self, cube: Cube) -> tuple[str, ...]:  # noqa: ARG002
        """Say what the organisers' code does that this does not."""
        if self.edition == "document":
            return ()
        return (f"Measured against one reference ({self.reference}); the organisers also take every sampled one.",)

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average over cases, rank each of six values (`code`: one Dice, one surface Dice), average the ranks."""
        means = {
            (quantity, region): weighted_mean(cube.of(quantity, region), weights)
            for quantity in ("dice", "surface_dice")
            for region in REGIONS
        }
        if self.edition == "code":
            means = {
                (quantity, "all"): np.mean([means[quantity, region] for region in REGIONS], axis=0)
                for quantity in ("dice", "surface_dice")
            }
        ranks = {key: competition_ranks(mean, direction=Direction.HIGHER, among=ranked) for key, mean in means.items()}
        average = np.mean(list(ranks.values()), axis=0)
        titles = {"dice": "Dice", "surface_dice": "Surface Dice"}
        columns = [Column("average_rank", "Average rank", average, direction=Direction.LOWER, digits=2)]
        for quantity, region in means:
            name, title = f"{quantity}_{region}", f"{titles[quantity]} {region.replace('_', ' ')}"
            columns.append(Column(name, title, means[quantity, region], direction=Direction.HIGHER))
            columns.append(Column(f"{name}_rank", f"{title} rank", ranks[quantity, region], digits=0))
        places = competition_ranks(average, direction=Direction.LOWER, among=ranked)
        return Scores(places, tuple(columns))


CHALLENGE = KiTS21

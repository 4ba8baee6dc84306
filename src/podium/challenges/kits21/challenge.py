"""KiTS21: kidney, tumour and cyst segmentation. Rules and their sources are in the README beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal

import numpy as np

from podium.challenges.kits21.annotations import Sampled, read_fused, read_samples
from podium.challenges.kits21.views import slices
from podium.io import read_label_map
from podium.metrics import dice, overlap, structures, surface_dice, surface_distances
from podium.metrics.mixups import volume_doubts
from podium.model import (
    TOLERANCE_SCALES,
    Case,
    Challenge,
    Cube,
    Direction,
    Floats,
    InputError,
    LabelMap,
    Measure,
    Price,
    Role,
    Scores,
    Value,
    View,
)
from podium.model.options import ToleranceScale, other_tolerances
from podium.ranking import average_of_ranks, mean_column
from podium.raters import FUSIONS, PEOPLE, RatedChallenge, RaterAgreement, agreed_values, rater_measures, undefined

REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
TOLERANCES_MM = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}
LABELS = {0, 1, 2, 3}


def _surface_dice(scale: float, ending: str) -> Measure:
    """Return surface Dice at a multiple of the tolerances; only the tolerances themselves judge."""
    return Measure.by(
        surface_dice,
        name=f"surface_dice{ending}",
        title="Surface Dice" if not ending else f"Surface Dice, tolerance × {scale:g}",
        direction=Direction.NONE if ending else Direction.HIGHER,
        targets=tuple(REGIONS),
        price=Price(0.0),
        options={region: {"tolerance_mm": scale * tolerance} for region, tolerance in TOLERANCES_MM.items()},
    )


class KiTS21(RatedChallenge):
    """Dice and surface Dice of three hierarchical regions; six ranks, averaged."""

    name: ClassVar[str] = "kits21"
    title: ClassVar[str] = "KiTS21"
    page: ClassVar[str] = "https://kits21.kits-challenge.org"
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    scoring_options: ClassVar[tuple[str, ...]] = ("tolerance_scale",)
    version: ClassVar[int] = 2
    naming: ClassVar[tuple[str, ...]] = ("case_*.nii.gz", "case_*.nii")
    summary: ClassVar[str] = (
        "Kidneys, tumours and cysts in CT. Dice and surface Dice of kidney and mass, mass, and tumour are averaged "
        "over cases; each of the six values ranks the teams, and the lowest average rank wins. A failed case scores 0."
    )
    measures: ClassVar[tuple[Measure, ...]] = (
        Measure.by(dice, title="Dice", targets=tuple(REGIONS), price=Price(0.0)),
        *(_surface_dice(scale, ending) for scale, ending in TOLERANCE_SCALES.items()),
    )

    reference: Literal["MAJ", "AND", "OR"] = "MAJ"
    """Which aggregation of the annotations is the truth: MAJ, AND or OR."""
    references: Literal["", "aggregated", "samples", "majority", "intersection", "union", "staple"] = ""
    """What predictions are measured against. `aggregated`: the file that `reference` names, the default in `document`.
    `samples`: every sampled segmentation, the default in `code`. `majority`, `intersection`, `union` or `staple`: what
    Podium makes of the separate annotations."""
    geometry: Literal["full", "shape"] = "full"
    """`full`: spacing, origin and direction must be the reference's. `shape`: only the shape must be."""
    tolerance_scale: ToleranceScale = 1.0
    """At which multiple of its tolerance surface Dice is scored: 0.5, 1 or 2; all three are measured."""

    @property
    def against(self) -> str:
        """What predictions are measured against, the edition's default where nothing was said."""
        return self.references or ("samples" if self.edition == "code" else "aggregated")

    def cases(self, truth: Path) -> list[Case]:
        """Find case_00000/aggregated_MAJ_seg.nii.gz, or case_00000.nii.gz; or the separate annotations."""
        if self.against != "aggregated":
            return self._annotated_cases(truth)
        for folder in sorted(truth.glob("case_*/")):
            if not (folder / f"aggregated_{self.reference}_seg.nii.gz").is_file():
                raise InputError(f"this case has no aggregated_{self.reference}_seg.nii.gz", path=folder)
        nested = {path.parent.name: path for path in truth.glob(f"case_*/aggregated_{self.reference}_seg.nii.gz")}
        flat = {path.name.removesuffix(".nii.gz"): path for path in truth.glob("case_*.nii.gz")}
        return [_case(name, path) for name, path in sorted((flat | nested).items())]

    def _annotated_cases(self, truth: Path) -> list[Case]:
        """Find the cases, all of which must have separate annotations."""
        advice = "Add them, or measure against one file: --references aggregated"
        if flat := sorted(truth.glob("case_*.nii.gz")):
            raise InputError(f"references={self.against} needs separate annotations", path=flat[0], advice=advice)
        cases = self.rated_cases(truth)
        for case in cases:
            if not case.files:
                raise InputError("this case has no segmentations/*.nii.gz", path=truth / case.name, advice=advice)
        return cases

    def load(self, case: Case) -> LabelMap | Sampled:
        """Read the reference, or make it of the annotations."""
        if self.against == "aggregated":
            return read_label_map(case.files[0], dimensions=3)
        return self.panel(case) if self.against == "samples" else read_fused(case, method=self.against)

    def truth_as_prediction(self, case: Case) -> Path | None:
        """Offer the one file that is the reference."""
        return case.files[0] if self.against == "aggregated" else None

    def measure(self, case: Case, truth: LabelMap | Sampled, prediction: Path) -> list[Value]:
        """Measure the six values of a prediction; against samples, their means."""
        guess = read_label_map(prediction, dimensions=3)
        grid = truth.grid if isinstance(truth, Sampled) else truth
        warning = self._check_grid(grid, guess, prediction)
        spacing = guess.spacing if self.edition == "code" else grid.spacing
        if isinstance(truth, Sampled):
            own = structures(guess, regions=REGIONS)
            numbers: Mapping[tuple[str, str], float] = truth.structures.against(
                own, measures=self.measures, spacing_mm=spacing
            )
        else:
            overlaps = overlap(truth, guess, regions=REGIONS, spacing_mm=spacing)
            surfaces = surface_distances(truth, guess, regions=REGIONS, spacing_mm=spacing)
            known: dict[str, dict[str, Any]] = {
                region: {"overlap": overlaps[region], "surface": surfaces[region]} for region in REGIONS
            }
            numbers = {(m.name, region): m(known[region], region) for m in self.measures for region in REGIONS}
        return [Value(case.name, name, value, region, reason=warning) for (name, region), value in numbers.items()]

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
                advice="Resample it onto the reference's grid (its header alone is right only for voxels in its order: "
                "podium check --truth tells), or ask for --geometry shape",
            )
        if strange := _strange(guess):
            raise InputError(strange, path=path)
        return f"accepted although {'; '.join(differences)} differ" if differences else ""

    def check(self, case: Case | None, prediction: Path) -> list[str]:  # noqa: ARG002
        """Say what is wrong with a prediction, as far as it can be seen without the truth."""
        strange = _strange(read_label_map(prediction, dimensions=3))
        return [strange] if strange else []

    def doubts(self, case: Case | None, truth: LabelMap | Sampled | None, prediction: Path) -> list[str]:
        """Say whether everything is background, labels are swapped, or voxels or header are turned."""
        guess = read_label_map(prediction, dimensions=3)
        if isinstance(truth, Sampled):
            assert case is not None
            truth = read_fused(case, method="majority")
        return volume_doubts(guess, truth)

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
            _case(folder.name, *sorted((folder / "segmentations").glob("*.nii.gz")))
            for folder in sorted(truth.glob("case_*/"))
        ]

    def panel(self, case: Case) -> Sampled:
        """Read the annotations of a case and compose its plausible segmentations."""
        return read_samples(case, regions=REGIONS)

    def agreement(
        self, case: Case, panel: Sampled, *, percentiles: Sequence[float] = (), metrics: Sequence[str] = ()
    ) -> RaterAgreement:
        """Compare the samples within their groups."""
        own = [*self.measures[:2], *(measure for measure in self.measures[2:] if measure.name in metrics)]
        return self._agreement(case, panel, rater_measures(metrics, besides=own), percentiles)

    def _agreement(
        self, case: Case, panel: Sampled, measures: Sequence[Measure], percentiles: Sequence[float] = ()
    ) -> RaterAgreement:
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

    @property
    def built_in(self) -> Mapping[str, Role]:
        """The raters, where predictions are measured against the same samples as they are."""
        return {PEOPLE: Role.REFERENCE} if self.against == "samples" else {}

    def measure_built_in(self, name: str, case: Case, truth: Sampled) -> list[Value]:  # noqa: ARG002
        """Measure how far the raters agree."""
        try:
            return agreed_values(self._agreement(case, truth, self.measures))
        except InputError as error:  # there is only one annotation
            return [
                undefined(case.name, *single.key, str(error)) for measure in self.measures for single in measure.each
            ]

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say what predictions were measured against, where that is not the usual."""
        # In runs from before samples were an option, edition `code` too had one reference, and no raters.
        if self.against == "samples" and PEOPLE in cube.submissions:
            return ("Measured against every sampled segmentation of the annotators; values are means over samples.",)
        if self.against in FUSIONS:
            return (f"Measured against one reference, made of all annotations by {self.against}.",)
        if self.edition == "document":
            return ()
        return (f"Measured against one reference ({self.reference}); the organisers take every sampled one.",)

    @property
    def terms(self) -> tuple[str, ...]:
        """The values that are ranked."""
        regions = ("all",) if self.edition == "code" else tuple(REGIONS)
        return tuple(f"{name}_{region}" for name in ("dice", "surface_dice") for region in regions)

    def alternatives(self, cube: Cube) -> dict[str, Challenge]:
        """Score surface Dice at half and at twice the tolerance, where that was measured."""
        return other_tolerances(self, cube, "surface_dice", "mass")

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average over cases, rank each of six values (`code`: one Dice, one surface Dice), average the ranks."""
        criteria = []
        for measure, ending in zip(self.measures[:2], ("", TOLERANCE_SCALES[self.tolerance_scale]), strict=True):
            rows = {region: cube.of(f"{measure.name}{ending}", region) for region in REGIONS}
            if self.edition == "code":
                rows = {"all": np.mean(list(rows.values()), axis=0)}
            criteria += [mean_column(measure.at(r).as_column(), values, weights) for r, values in rows.items()]
        return average_of_ranks(criteria, among=ranked, emphasis=self.emphasis)


def _case(name: str, *files: Path) -> Case:
    return Case(name, files, (f"{name}.nii.gz", f"{name}.nii"))


def _strange(labels: LabelMap) -> str:
    """Say which label does not exist; nothing where all do."""
    strange = set(labels.labels) - LABELS
    return f"label {min(strange)} is none of 0, 1, 2, 3" if strange else ""


CHALLENGE = KiTS21

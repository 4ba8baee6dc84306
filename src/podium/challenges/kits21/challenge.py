"""KiTS21: kidney, tumour and cyst segmentation. Rules and their sources are in the README beside this file.

It is the challenge.toml beside this file, and what TOML cannot say: the layouts of containers, a truth that is made of
separate annotations, edition `code`, tolerances and their multiples, pictures of cases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, Self

import numpy as np

from podium.challenges.kinds import FileNames, Images, Quantity, SegmentationChallenge
from podium.challenges.kinds.grids import check_grid
from podium.challenges.kinds.scoring import Criterion
from podium.challenges.kinds.segmentation import LabelMaps
from podium.challenges.kits21.annotations import Sampled, lacking_annotations, read_fused, read_samples
from podium.challenges.kits21.settings import DECLARED, REGIONS, Names, Tolerances
from podium.challenges.kits21.spacing import (
    BY_REFERENCE,
    by_reference,
    changed_by_spacing,
    spacing_notes,
    spacing_warning,
)
from podium.challenges.kits21.views import slices, volume
from podium.metrics import structures
from podium.model import (
    TOLERANCE_SCALES,
    Case,
    Challenge,
    Cube,
    Floats,
    InputError,
    LabelMap,
    Measure,
    OrganisersKeys,
    Role,
    Scene,
    Scores,
    Value,
    View,
)
from podium.model.options import ToleranceScale, other_tolerances
from podium.ranking import average_of_ranks, mean_column
from podium.raters import FUSIONS, PEOPLE, RatedChallenge, RaterAgreement, agreed_values, rater_measures, undefined

_OFFICIAL = {
    f"{metric}_{region}": f"{short}_{name}"
    for metric, short in (("dice", "Dice"), ("surface_dice", "SD"))
    for region, name in zip(REGIONS, ("kidney", "masses", "tumor"), strict=True)
}
_LIKE_AN_IMAGE = "this is called like an image of nnU-Net; a prediction is called after its case, case_00000.nii.gz"


def _expected(case: str) -> tuple[str, ...]:
    """Return how a prediction may be called.

    A container puts all predictions into one folder, or runs for each case in a folder of its own.
    """
    output = "images/kidney-tumor-and-cyst"
    alone = (f"{case}{suffix}" for suffix in (".nii.gz", ".nii", ".mha"))
    together = (f"{place}{output}/{case}.mha" for place in ("", "output/"))
    apart = (f"{case}/{place}{output}/*.mha" for place in ("", "output/"))
    return *alone, *together, *apart


class KiTS21(SegmentationChallenge, RatedChallenge):
    """Dice and surface Dice of three hierarchical regions; six ranks, averaged."""

    name: ClassVar[str] = "kits21"  # type: ignore[misc]  # no field, as there is but one
    title: ClassVar[str] = DECLARED.title  # type: ignore[misc]  # likewise
    page: ClassVar[str] = DECLARED.page
    summary: ClassVar[str] = DECLARED.summary
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    scoring_options: ClassVar[tuple[str, ...]] = ("tolerance_scale",)
    naming: ClassVar[tuple[str, ...]] = _expected("case_*")
    organisers_keys: ClassVar[OrganisersKeys | None] = OrganisersKeys("caseID", results=_OFFICIAL, aggregates=_OFFICIAL)

    revision: int = DECLARED.revision
    files: FileNames = DECLARED.files
    images: Images = DECLARED.images
    labels: Mapping[str, int] = DECLARED.labels
    regions: Mapping[str, tuple[str | int, ...]] = DECLARED.regions
    quantities: tuple[Quantity, ...] = DECLARED.quantities

    reference: Literal["MAJ", "AND", "OR"] = "MAJ"
    """Which aggregation of the annotations is the truth: MAJ, AND or OR."""
    references: Literal["", "aggregated", "samples", "majority", "intersection", "union", "staple"] = ""
    """What predictions are measured against. `aggregated`: the file that `reference` names, the default in `document`.
    `samples`: every sampled segmentation, the default in `code`. `majority`, `intersection`, `union` or `staple`: what
    Podium makes of the separate annotations."""
    incomplete: Literal["refuse", "skip"] = "refuse"
    """What to do with cases that are to be measured against their annotations, where these do not show all that was
    aggregated of them. `refuse`: name them all and stop. `skip`: leave them out for everybody."""
    left_out: Names = ()
    """Cases that are left out for everybody, separated by commas; `incomplete=skip` adds to them."""
    tolerances: Tolerances = None
    """Tolerances of surface Dice in mm for other data: the raters.json that `podium raters --out` wrote."""
    geometry: Literal["full", "shape"] = "full"
    """`full`: spacing, origin and direction must be the reference's. `shape`: only the shape must be."""
    tolerance_scale: ToleranceScale = 1.0
    """At which multiple of its tolerance surface Dice is scored: 0.5, 1 or 2; all three are measured."""

    def options_of(self, quantity: Quantity, target: str) -> dict[str, Any]:
        """Return the tolerance that was given in place of the challenge's own."""
        if self.tolerances and quantity.called == "surface_dice":
            return {"tolerance_mm": self.tolerances[target]}
        return super().options_of(quantity, target)

    @property
    def besides(self) -> tuple[Quantity, ...]:
        """Surface Dice at the halves and the doubles of its tolerances."""
        _, surface = self.quantities
        own = {region: self.options_of(surface, region)["tolerance_mm"] for region in REGIONS}
        return tuple(
            surface.model_copy(
                update={
                    "name": f"surface_dice{ending}",
                    "title": f"Surface Dice, tolerance × {scale:g}",
                    "options": {"tolerance_mm": {region: scale * tolerance for region, tolerance in own.items()}},
                }
            )
            for scale, ending in TOLERANCE_SCALES.items()
            if ending
        )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is declared, surface Dice at other tolerances, and by the reference's spacing."""
        return (*super().measures, by_reference(tuple(REGIONS)))

    @property
    def against(self) -> str:
        """What predictions are measured against, the edition's default where nothing was said."""
        return self.references or ("samples" if self.edition == "code" else "aggregated")

    def prepared(self, truth: Path) -> Self:
        """Look through the annotations, where they are measured against; refuse or leave out incomplete cases."""
        if self.against == "aggregated":
            return self
        cases = self._annotated_cases(truth)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = pool.map(lambda case: lacking_annotations(truth / case.name, reference=self.reference), cases)
            incomplete = {case.name: lacking for case, lacking in zip(cases, answers, strict=True) if lacking}
        if incomplete and self.incomplete == "refuse":
            raise InputError(
                "; ".join(f"{name}: {lacking}" for name, lacking in incomplete.items()),
                path=truth,
                advice="Add what is missing, or leave these cases out for everybody: --option incomplete=skip",
            )
        return self.varied(left_out=tuple(sorted({*self.left_out, *incomplete})))

    def cases(self, truth: Path) -> list[Case]:
        """Find case_00000/aggregated_MAJ_seg.nii.gz, or case_00000.nii.gz; or the separate annotations."""
        cases = self._aggregated_cases(truth) if self.against == "aggregated" else self._annotated_cases(truth)
        return [case for case in cases if case.name not in self.left_out]

    def _aggregated_cases(self, truth: Path) -> list[Case]:
        for folder in sorted(truth.glob("case_*/")):
            if not (folder / f"aggregated_{self.reference}_seg.nii.gz").is_file():
                raise InputError(f"this case has no aggregated_{self.reference}_seg.nii.gz", path=folder)
        nested = {path.parent.name: path for path in truth.glob(f"case_*/aggregated_{self.reference}_seg.nii.gz")}
        flat = {path.name.removesuffix(".nii.gz"): path for path in truth.glob("case_*.nii.gz")}
        return [Case(name, (path,), _expected(name)) for name, path in sorted((flat | nested).items())]

    def _annotated_cases(self, truth: Path) -> list[Case]:
        """Find the cases, all of which must have separate annotations."""
        advice = "Add them, or measure against one file: --references aggregated"
        if flat := sorted(truth.glob("case_*.nii.gz")):
            raise InputError(f"references={self.against} needs separate annotations", path=flat[0], advice=advice)
        cases = [case for case in self.rated_cases(truth) if case.name not in self.left_out]
        for case in cases:
            if not case.files:
                raise InputError("this case has no segmentations/*.nii.gz", path=truth / case.name, advice=advice)
        return cases

    def load(self, case: Case) -> LabelMaps | Sampled:  # type: ignore[override]  # samples besides
        """Read the reference, or make it of the annotations."""
        if self.against == "aggregated":
            return super().load(case)
        return self.panel(case) if self.against == "samples" else self._fused(case, self.against)

    def _fused(self, case: Case, method: str) -> LabelMaps:
        return {"": read_fused(case, method=method, reference=self.reference)}

    def truth_as_prediction(self, case: Case) -> Path | None:
        """Offer the one file that is the reference."""
        return case.files[0] if self.against == "aggregated" else None

    def measure(self, case: Case, truth: LabelMaps | Sampled, prediction: Path) -> list[Value]:
        """Measure the six values of a prediction; against samples, their means."""
        guess = self.read(prediction)
        grid = truth.grid if isinstance(truth, Sampled) else truth[""]
        warning = self.check_grid(grid, guess, prediction)
        numbers = self._numbers(truth, guess, grid.spacing)
        if self.edition == "document" or guess.spacing == grid.spacing:
            return [Value(case.name, name, value, region, reason=warning) for (name, region), value in numbers.items()]
        believed = self._numbers(truth, guess, guess.spacing)
        changed = changed_by_spacing(believed, numbers)
        warning = spacing_warning(guess.spacing, grid.spacing, believed, changed) if changed else ""
        values = [
            Value(case.name, name, value, region, reason=warning if (name, region) in changed else "")
            for (name, region), value in believed.items()
        ]
        return values + [
            Value(case.name, BY_REFERENCE, value, region)
            for (name, region), value in changed.items()
            if name == "surface_dice"
        ]

    def _numbers(
        self, truth: LabelMaps | Sampled, guess: LabelMap, spacing: tuple[float, ...]
    ) -> Mapping[tuple[str, str], float]:
        if isinstance(truth, Sampled):
            measures = [measure for measure in self.measures if not measure.optional]
            own = structures(guess, regions=REGIONS)
            return truth.structures.against(own, measures=measures, spacing_mm=spacing)
        values = self.compared("", replace(truth[""], spacing=spacing), guess)
        return {(value.metric, value.target): value.value for value in values if value.value is not None}

    def check_grid(self, truth: LabelMap, guess: LabelMap, path: Path) -> str:
        """Refuse a prediction on another grid; return a warning where one is accepted."""
        geometry = self.geometry if self.edition == "document" else "any"
        return check_grid(truth, guess, path, geometry=geometry, otherwise="--geometry shape")

    def doubts(self, case: Case | None, truth: LabelMaps | Sampled | None, prediction: Path) -> list[str]:
        """Say whether everything is background, labels are swapped, voxels or header are turned, or the name is odd."""
        named = [_LIKE_AN_IMAGE] if case is None and re.fullmatch(r".*_\d{5}_\d{4}\..*", prediction.name) else []
        if isinstance(truth, Sampled):
            assert case is not None
            truth = self._fused(case, "majority")
        return named + super().doubts(case, truth, prediction)

    def views(
        self, case: Case, truth: LabelMaps | Sampled, prediction: Path, *, images: Path | None = None
    ) -> list[View]:
        """Show the slices that are disputed most; of several annotations, their majority is the reference."""
        reference, guess = self._pair(case, truth, prediction)
        several = isinstance(truth, Sampled)
        remarks = ("The reference that is drawn is the majority of all annotations.",) if several else ()
        return [slices(case, reference, guess, images=images, remarks=remarks)]

    def scenes(
        self, case: Case, truth: LabelMaps | Sampled, prediction: Path, *, images: Path | None = None
    ) -> list[Scene]:
        """Show the whole volume; of several annotations, their majority is the reference."""
        return [volume(case, *self._pair(case, truth, prediction), images=images)]

    def _pair(self, case: Case, truth: LabelMaps | Sampled, prediction: Path) -> tuple[LabelMap, LabelMap]:
        """Return what is shown of a truth, and a prediction on its grid."""
        guess = self.read(prediction)
        reference = self._fused(case, "majority")[""] if isinstance(truth, Sampled) else truth[""]
        self.check_grid(reference, guess, prediction)
        return reference, guess

    def rated_cases(self, truth: Path) -> list[Case]:
        """Find case_00000 with its annotations, segmentations/kidney_instance-1_annotation-1.nii.gz and so on."""
        return [
            Case(folder.name, tuple(sorted((folder / "segmentations").glob("*.nii.gz"))), _expected(folder.name))
            for folder in sorted(truth.glob("case_*/"))
        ]

    def panel(self, case: Case) -> Sampled:
        """Read the annotations of a case and compose its plausible segmentations."""
        return read_samples(case, regions=REGIONS, reference=self.reference)

    def agreement(
        self, case: Case, panel: Sampled, *, percentiles: Sequence[float] = (), metrics: Sequence[str] = ()
    ) -> RaterAgreement:
        """Compare the samples within their groups."""
        own = [*self.measures[:2], *(m for m in self.measures[2:] if m.name in metrics and not m.optional)]
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

    def measure_built_in(self, name: str, case: Case, truth: Sampled) -> list[Value]:  # noqa: ARG002  # what every challenge is given
        """Measure how far the raters agree."""
        measures = [measure for measure in self.measures if not measure.optional]
        try:
            return agreed_values(self._agreement(case, truth, measures))
        except InputError as error:  # there is only one annotation
            return [undefined(case.name, *single.key, str(error)) for measure in measures for single in measure.each]

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say whose spacing was believed, and what predictions were measured against where that is not the usual."""
        # In runs from before samples were an option, edition `code` too had one reference, and no raters.
        notes = spacing_notes(cube, tuple(REGIONS))
        if self.against == "samples" and PEOPLE in cube.submissions:
            notes.append(
                "Measured against every sampled segmentation of the annotators; values are means over samples."
            )
        elif self.against in FUSIONS:
            notes.append(f"Measured against one reference, made of all annotations by {self.against}.")
        elif self.edition == "code":
            notes.append(f"Measured against one reference ({self.reference}); the organisers take every sampled one.")
        if self.tolerances:
            given = ", ".join(f"{region.replace('_', ' ')} {mm:.4g}" for region, mm in self.tolerances.items())
            notes.append(f"Tolerances of surface Dice are not the challenge's own, but in mm: {given}.")
        if self.left_out:
            why = " (incomplete annotations)" if self.incomplete == "skip" else ""
            notes.append(f"Left out for everybody{why}: {', '.join(self.left_out)}.")
        return tuple(notes)

    @property
    def terms(self) -> tuple[str, ...]:
        """The values that are ranked."""
        return ("dice_all", "surface_dice_all") if self.edition == "code" else super().terms

    def alternatives(self, cube: Cube) -> dict[str, Challenge]:
        """Score surface Dice at half and at twice the tolerance, where that was measured."""
        return other_tolerances(self, cube, "surface_dice", "mass")

    def criterion(self, quantity: Quantity, measure: Measure, cube: Cube) -> Criterion:
        """Return what decides: surface Dice at the multiple of its tolerance that was asked for."""
        single = super().criterion(quantity, measure, cube)
        name, region = single.key
        return replace(
            single, key=(name if name == "dice" else f"{name}{TOLERANCE_SCALES[self.tolerance_scale]}", region)
        )

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average over cases, rank each of six values (`code`: one Dice, one surface Dice), average the ranks."""
        if self.edition == "document":
            return super().score(cube, weights, ranked)
        criteria = []
        for quantity in self.quantities:
            measure = self.measure_of(quantity)
            keys = [self.criterion(quantity, measure.at(region), cube).key for region in REGIONS]
            rows = np.mean([cube.of(*key) for key in keys], axis=0)
            criteria.append(mean_column(measure.at("all").as_column(), rows, weights))
        return average_of_ranks(criteria, among=ranked, emphasis=self.emphasis)


CHALLENGE = KiTS21

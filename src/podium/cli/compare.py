"""`podium compare`: two label maps, every metric."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium import __version__
from podium.cli._console import failing_clearly, print_json, say
from podium.cli._options import given_regions

if TYPE_CHECKING:
    from podium.metrics import LabelMapComparison


class Boundary(StrEnum):
    """Which boundary surface distances are between."""

    surfel = "surfel"
    voxel = "voxel"


class Also(StrEnum):
    """What more to measure."""

    shape = "shape"
    instances = "instances"


def compare(
    context: typer.Context,
    reference: Annotated[
        Path,
        typer.Argument(metavar="REFERENCE", help="The truth: a label map (.nii, .nii.gz, .mha, .mhd, .nrrd, .nhdr)."),
    ],
    prediction: Annotated[
        Path, typer.Argument(metavar="PREDICTION", help="The label map to measure, on the same grid.")
    ],
    *,
    region: Annotated[
        list[str] | None,
        typer.Option(
            help="A region as NAME=LABEL,LABEL,…; repeat for more. Default: every label is one.", metavar="NAME=LABELS"
        ),
    ] = None,
    tolerance: Annotated[
        list[float] | None,
        typer.Option(help="Tolerance of the surface Dice in mm; repeat for more. Default: 1.", metavar="MM", min=0),
    ] = None,
    boundary: Annotated[
        Boundary,
        typer.Option(
            help="surfel: DeepMind's surface elements. voxel: edge voxels, as MONAI and MedPy.", metavar="surfel|voxel"
        ),
    ] = Boundary.surfel,
    also: Annotated[
        list[Also] | None,
        typer.Option(
            help="shape: boundary IoU, centrelines, topology. instances: connected components, matched. Or both.",
            metavar="shape|instances",
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw both, to this .png, .pdf or .svg file.", metavar="FILE")
    ] = None,
    max_voxels: Annotated[
        int | None, typer.Option(help="Refuse files that promise more voxels.", metavar="N", min=1)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")] = False,
) -> None:
    """Compare two label maps: every metric for every label or region.

    Examples
    --------
    podium compare truth.nii.gz guess.nii.gz
    podium compare truth.nii.gz guess.nii.gz --region mass=2,3 --tolerance 2 --figure both.png
    podium compare truth.mha guess.mha --also shape --also instances --json
    """
    with failing_clearly(context):
        import podium
        from podium.model import InputError

        if reference.is_dir() and prediction.is_dir():
            raise InputError("these are two folders", advice=f"Measure them: podium measure {reference} {prediction}")
        result = podium.compare(
            reference,
            prediction,
            regions=given_regions(region),
            tolerances_mm=tolerance or (1.0,),
            boundary=boundary.value,
            also=[choice.value for choice in also or ()],
            figure=figure,
            max_voxels=max_voxels,
        )
        for warning in result.warnings:
            say(f"warning: {prediction}: {warning}")
        (_print_json if as_json else _print_tables)(reference, prediction, result)


def _print_tables(reference: Path, prediction: Path, result: LabelMapComparison) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, truth, regions = Console(), result.reference, result.regions
    size = " × ".join(map(str, truth.shape))
    spacing = " × ".join(f"{s:g}" for s in truth.spacing)
    for role, path in (("Reference ", reference), ("Prediction", prediction)):
        console.print(Text(f"{role}  {path}"), soft_wrap=True)
    console.print(Text(f"Grid        {size} voxels of {spacing} mm; boundary: {result.boundary}"))
    console.print()
    if not regions:
        console.print(Text("Neither holds any label: there is nothing to compare."))
    for chosen in _fitting(list(regions), console.width - 41):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("")
        for name in chosen:
            labels = ",".join(map(str, regions[name]))
            heading = name if name == labels else f"{name}\n({labels})"
            table.add_column(Text(heading), justify="right")
        for row in zip(*(result[name].values for name in chosen), strict=True):
            metric = row[0].metric
            unit = result.unit(metric)
            cells = [Text(_number(measured.value)) for measured in row]
            title = f"{row[0].title}, {unit}" if unit else row[0].title
            table.add_row(Text(f"{title} {metric.direction.arrow}".strip()), *cells)
        console.print(table)
        console.print()
    for name in regions:
        if (empty := result[name].overlap.empty) is not None:
            side = {"both": "both are", "reference": "the reference is", "prediction": "the prediction is"}[empty]
            console.print(Text(f"{name}: {side} empty; values are those declared for that case."))


def _fitting(names: list[str], width: int) -> list[list[str]]:
    """Divide columns among tables that are no wider than the terminal."""
    tables: list[list[str]] = []
    room = 0
    for name in names:
        column = max(len(name), 9) + 2
        if not tables or column > room:
            tables.append([])
            room = width
        tables[-1].append(name)
        room -= column
    return tables


def _number(value: float) -> str:
    if value != value:
        return "undefined"
    if abs(value) == float("inf"):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4f}"


def _print_json(reference: Path, prediction: Path, result: LabelMapComparison) -> None:
    import math

    def written(value: float) -> dict[str, object]:
        if math.isfinite(value):
            return {"value": value}
        return {"value": None, "status": "undefined" if math.isnan(value) else "infinite"}

    document = {
        "podium": __version__,
        "reference": str(reference),
        "prediction": str(prediction),
        "shape": result.reference.shape,
        "spacing_mm": result.reference.spacing,
        "boundary": result.boundary,
        "regions": {
            name: {
                "labels": labels,
                "empty": result[name].overlap.empty,
                "metrics": {
                    measured.name: {
                        **written(measured.value),
                        **measured.options,
                        "unit": result.unit(measured.metric),
                        "direction": measured.metric.direction.value,
                    }
                    for measured in result[name].values
                },
            }
            for name, labels in result.regions.items()
        },
    }
    print_json(document)

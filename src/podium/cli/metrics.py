"""`podium metrics`: what can be measured, and what each metric promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._completion import metric_names
from podium.cli._console import failing_clearly, print_json
from podium.cli._options import Json

if TYPE_CHECKING:
    from podium.model import Metric


def metrics(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="METRIC",
            help="One metric, to tell all about it. Default: list them all.",
            autocompletion=metric_names,
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """List the metrics by family; of one, tell formula, unit, range, direction, empty cases and equal peers.

    Examples
    --------
    podium metrics                  # all, by family
    podium metrics surface_dice     # its definition, and who computes the same
    podium metrics --json
    """
    with failing_clearly(context):
        import podium.metrics

        chosen = podium.metrics.metrics() if name is None else [podium.metrics.get_metric(name)]
    if as_json:
        print_json({metric.name: _document(metric) for metric in chosen})
    elif name is None:
        _print_families(chosen)
    else:
        _print_metric(chosen[0])


def _print_families(chosen: list[Metric[..., Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for family in dict.fromkeys(metric.family for metric in chosen):
        console.print(Text(family, "bold"))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        for metric in chosen:
            if metric.family == family:
                row = f"  {metric.name}", metric.title, metric.unit, metric.direction.arrow
                table.add_row(*(Text(cell) for cell in row))
        console.print(table)
        console.print()
    console.print(Text("podium metrics NAME tells all about one."))


def _print_metric(metric: Metric[..., Any]) -> None:
    import inspect

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text.assemble((metric.name, "bold"), f"  {metric.title}"))
    console.print()
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for topic, text in _facts(metric):
        table.add_row(Text(topic, "dim"), Text(text))
    console.print(table)
    console.print()
    console.print(Text(inspect.getdoc(metric) or ""))


def _facts(metric: Metric[..., Any]) -> Iterator[tuple[str, str]]:
    yield "family", metric.family
    yield "formula", metric.formula
    yield "unit", metric.unit or "none"
    yield "range", f"{_number(metric.minimum)} to {_number(metric.maximum)}"
    yield "direction", metric.direction.value
    yield "perfect", "depends on the reference" if metric.perfect is None else _number(metric.perfect)
    yield "symmetric", "yes" if metric.symmetric else "no"
    cases = {"both": "both empty", "reference": "reference empty", "prediction": "prediction empty"}
    empty = ", ".join(f"{_number(value)} ({cases.get(case, case)})" for case, value in metric.empty.items())
    yield "empty", empty or "no exception"
    if metric.also_called:
        yield "also called", ", ".join(metric.also_called)
    for peer, call in metric.same_as.items():
        yield "same as", f"{peer}: {call}"
    if not metric.same_as:
        yield "same as", "no peer that was tried"
    yield "call", _signature(metric)


def _signature(metric: Metric[..., Any]) -> str:
    import inspect

    return f"{metric.__module__}.{metric.name}{inspect.signature(metric)}".replace("'", "")


def _number(value: float) -> str:
    if value != value:
        return "undefined"
    return f"{value:g}".replace("inf", "∞").replace("-", "−")


def _document(metric: Metric[..., Any]) -> dict[str, object]:
    import inspect
    import math

    def written(value: float) -> dict[str, object]:
        if math.isfinite(value):
            return {"value": value}
        return {"value": None, "status": "undefined" if math.isnan(value) else "infinite"}

    depends = {"value": None, "status": "depends on the reference"}
    perfect = depends if metric.perfect is None else written(metric.perfect)
    return {
        "title": metric.title,
        "family": metric.family,
        "formula": metric.formula,
        "unit": metric.unit,
        "minimum": metric.minimum if math.isfinite(metric.minimum) else None,
        "maximum": metric.maximum if math.isfinite(metric.maximum) else None,
        "direction": metric.direction.value,
        "perfect": perfect,
        "symmetric": metric.symmetric,
        "empty": {case: written(value) for case, value in metric.empty.items()},
        "same_as": dict(metric.same_as),
        "also_called": list(metric.also_called),
        "call": _signature(metric),
        "description": inspect.getdoc(metric),
    }

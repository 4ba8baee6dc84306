"""`podium run`: from algorithms to predictions, times and a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._console import STOPPED, counted, failing_clearly, print_json, say
from podium.cli._options import Json, Name, Options, Rules, given_options

if TYPE_CHECKING:
    from podium.algorithms.running import AlgorithmRuns

_GB = 2**30
_ALGORITHMS = "Required: at least one of"
_LIMITS = "Limits of what it may use"
_ENGINES = ("podman", "docker", "apptainer", "singularity")


def run(
    context: typer.Context,
    name: Name,
    *,
    out: Annotated[
        Path, typer.Option(help="The folder for predictions, times, logs and, with --truth, the run.", metavar="DIR")
    ],
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="The folder with the images; by default that of the truth, where they lie beside it.", metavar="DIR"
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Option(
            help="A command, with {input} and {output} where its folders go; repeat for more teams.",
            metavar="[TEAM=]COMMAND",
            rich_help_panel=_ALGORITHMS,
        ),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="A container image, by name or as the .tar.gz that a team sent; repeat for more.",
            metavar="[TEAM=]NAME|FILE",
            rich_help_panel=_ALGORITHMS,
        ),
    ] = None,
    function: Annotated[
        list[str] | None,
        typer.Option(
            help="A function in Python that returns arrays, which are measured as they are handed over.",
            metavar="[TEAM=]FILE:NAME",
            rich_help_panel=_ALGORITHMS,
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="case: one start per case. many: one start, many cases, so that loading is timed by itself. frames: "
            "frame by frame.",
            metavar="case|many|frames",
        ),
    ] = "case",
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Measure every prediction as soon as it is there, and delete it unless --keep is given.", metavar="DIR"
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep predictions that were measured.")] = False,
    repeat: Annotated[
        int, typer.Option(help="Ask for each case so often; the median time counts.", metavar="N", min=1)
    ] = 1,
    warm_up: Annotated[
        bool, typer.Option("--warm-up", help="Ask for one case before all others, without counting it.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that a case may take, besides those below; by default as the rules say.",
            metavar="SECONDS",
            rich_help_panel=_LIMITS,
            min=0,
        ),
    ] = None,
    frame_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for each of its frames.", metavar="SECONDS", rich_help_panel=_LIMITS, min=0),
    ] = None,
    load_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds until it is ready; added to every case in the protocol case.",
            metavar="SECONDS",
            rich_help_panel=_LIMITS,
            min=0,
        ),
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="Gigabytes of memory.", metavar="GB", rich_help_panel=_LIMITS, min=0.001)
    ] = None,
    cpus: Annotated[
        float | None, typer.Option(help="Processors; by default all.", metavar="N", rich_help_panel=_LIMITS, min=0.01)
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes and threads.", metavar="N", rich_help_panel=_LIMITS, min=1)
    ] = None,
    output_limit: Annotated[
        float | None,
        typer.Option(help="Gigabytes that a case may write.", metavar="GB", rich_help_panel=_LIMITS, min=0.001),
    ] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Give it the GPU.")] = False,
    home: Annotated[
        Path | None,
        typer.Option(
            help="The folder that commands and functions are started in and may read; by default that of the script.",
            metavar="DIR",
        ),
    ] = None,
    read: Annotated[
        list[Path] | None, typer.Option(help="A further folder that it may read, such as a model.", metavar="DIR")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(help="A variable that is set for it; none of yours are. Repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="For images; by default what is there.", metavar="podman|docker|apptainer")
    ] = "",
    unconfined: Annotated[
        bool, typer.Option("--unconfined", help="Run commands without walls: they see all that you see.")
    ] = False,
    baseline_command: Annotated[
        str,
        typer.Option(
            help="A command that is run first and not ranked; its time is the baseline's where rules need one.",
            metavar="[TEAM=]COMMAND",
        ),
    ] = "",
    rules: Rules = "document",
    option: Options = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where it was stopped, or with further algorithms.")
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew where algorithms were run already.")] = False,
    jobs: Annotated[
        int, typer.Option(help="Cases at once, where the rules do not count time.", metavar="N", min=1)
    ] = 1,
    as_json: Json = False,
) -> None:
    """Run participants' algorithms over all cases, time them, and, with --truth, measure and rank them.

    Each gets the inputs of a case, read-only, and an empty folder for its answer; no network, no truth, no other case.
    A command may read the folder of its script, so inputs, truth and --out are elsewhere.

    Exit code 0 if every case was answered, 3 if some failed: failures.csv says which and why, logs what they said. 130
    if it was stopped; --resume goes on.

    Examples
    --------
    podium run kits21 --inputs images --out out --command "mine=python mine/infer.py {input} {output}"
    podium run trackrad2025 --truth truth --out out --image a.tar.gz --image b.tar.gz --memory 16
    podium run tusrec --truth truth --out out --function mine=mine/infer.py:predict_ddfs
    podium run csv2026 --truth truth --out out --image a.tgz --baseline-command "python b/base.py {input} {output}"
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import cases_done
        from podium.model import InputError

        if protocol not in ("case", "many", "frames"):
            raise InputError(f"there is no protocol {protocol!r}", advice="Say case, many or frames")
        if engine and engine not in _ENGINES:
            raise InputError(f"there is no engine {engine!r}", advice=f"Say {', '.join(_ENGINES[:-1])}")
        limits: dict[str, Any] = {
            "case_seconds": time_limit,
            "frame_seconds": frame_limit,
            "load_seconds": load_limit,
            "memory_bytes": None if memory is None else int(memory * _GB),
            "processors": cpus,
            "processes": processes,
            "output_bytes": None if output_limit is None else int(output_limit * _GB),
            "gpu": gpu or None,
        }
        try:
            with cases_done(name) as progress:
                ran = podium.run_algorithm(
                    name,
                    out=out,
                    inputs=inputs,
                    truth=truth,
                    commands=command or (),
                    images=image or (),
                    functions=function or (),
                    baseline_command=baseline_command,
                    protocol=protocol,  # type: ignore[arg-type]  # it is one of them
                    keep=keep,
                    repeat=repeat,
                    warm_up=warm_up,
                    limits={name: limit for name, limit in limits.items() if limit is not None},
                    home=home,
                    reads=read or (),
                    environment=given_options(env, flag="--env", form="NAME=VALUE"),
                    engine=engine,
                    unconfined=unconfined,
                    rules=rules,
                    options=given_options(option),
                    jobs=jobs,
                    resume=resume,
                    restart=restart,
                    progress=progress,
                    say=say,
                )
        except KeyboardInterrupt:
            say(f"Stopped; nothing is left running, and what is done is in {out}. The same with --resume goes on.")
            raise typer.Exit(STOPPED) from None
        _tell(ran, as_json=as_json, resumed=resume)
        if ran.run is not None and ran.run.withheld:
            raise InputError(
                f"the leaderboard is withheld, as the challenge itself is at fault ({ran.run.withheld})",
                advice="Mend it, and add --resume",
            )
    if ran.failed or (ran.run is not None and _lost(ran)):
        raise typer.Exit(3)


def _tell(ran: AlgorithmRuns, *, as_json: bool, resumed: bool) -> None:
    """Show what came of it, to people or to a program, and say what went wrong, and where everything is."""
    if as_json:
        print_json(ran.document)
    else:
        _show(ran)
    for warning in ran.warnings:
        say(f"Warning: {warning}.")
    if ran.failed:
        places = f"{ran.out / 'failures.csv'}, and {ran.out / 'logs'} for all that they said"
        say(f"{ran.failed} case{'' if ran.failed == 1 else 's'} failed: see {places}.")
        for team, timing in sorted(ran.timings.items()):
            for case, failure in list(timing.failures.items())[:1]:
                say(f"  {team}, {case}: {failure.reason}")
        if resumed:
            say("What has failed is not asked again; --restart runs everything anew.")
    if ran.run is not None and (lost := _lost(ran)):
        say(f"{counted(len(lost), 'prediction')} cannot be used: see {ran.out / 'run' / 'failures.csv'}.")
        firsts = dict(reversed(lost))
        for team, case in sorted(firsts.items()):
            say(f"  {team}, {case}: {lost[team, case]}")
    say(f"Everything is in {ran.out}.")
    if ran.run is not None:
        say(f"The run is in {ran.out / 'run'}, for podium rank and podium report.")
    elif any(len(timing.failures) < len(timing.cases) for timing in ran.timings.values()):
        say("The same with --truth and --resume measures the predictions that are there.")


def _show(ran: AlgorithmRuns) -> None:
    """Show how long everybody took, and the leaderboard if there is one."""
    from rich.console import Console
    from rich.table import Table

    timings = {team: timing for team, timing in sorted(ran.timings.items()) if timing.cases}
    by_frame = any(case.frames > 1 for timing in timings.values() for case in timing.cases.values())
    table = Table("Team", box=None, pad_edge=False)
    for heading in ("Cases", "Failed", "s a case", *(["s a frame"] if by_frame else []), "Loading, s", "Peak, GB"):
        table.add_column(heading, justify="right")
    for team, timing in timings.items():
        answered = len(timing.failures) < len(timing.cases)
        table.add_row(
            team,
            str(len(timing.cases)),
            str(len(timing.failures)),
            f"{timing.seconds_a_case:.3f}" if answered else "–",
            *([f"{timing.seconds_a_frame:.4f}" if answered else "–"] if by_frame else []),
            "–" if timing.loading is None else f"{timing.loading:.2f}",
            "–" if timing.peak_bytes is None else f"{timing.peak_bytes / _GB:.2f}",
        )
    Console().print(table)
    if ran.run is not None and not ran.run.withheld:
        from podium.cli._board import show_board

        show_board(ran.run.leaderboard)


def _lost(ran: AlgorithmRuns) -> dict[tuple[str, str], str]:
    """Return which predictions were there but could not be measured, as team and case, and why not."""
    assert ran.run is not None
    failures = ran.run.failures
    lost = failures.filter(failures["status"] == "invalid").sort("submission", "case")
    return {(team, case): reason for team, case, _, reason in lost.iter_rows()}

"""The front door: what Podium does, each in one call. The command line parses, calls these, and prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from podium._front_rank import compare_runs, load, rank
from podium.challenges import challenges, chosen_challenge, recorded_challenge
from podium.challenges.baselines import demo_algorithms
from podium.io import MAX_VOXELS, read_label_map
from podium.metrics import LabelMapComparison, compare_label_maps, surface_dice
from podium.metrics.comparison import Also
from podium.metrics.devices import usable_device
from podium.metrics.surface import Boundary
from podium.model import Challenge, InputError, measured_on
from podium.ranking import Ranking
from podium.ranking.inference.resampling import check_resamples
from podium.raters import PERCENTILES, RatedChallenge, Survey, survey_raters
from podium.run import (
    Limits,
    Problem,
    Run,
    RunFolder,
    check_submission,
    evaluate_into,
    evaluate_on_grand_challenge,
    gather_runs,
    ranking_files,
    read_enclosed,
)
from podium.run.grand_challenge import Keys

__all__ = [
    "agreement",
    "check",
    "compare",
    "compare_runs",
    "demo",
    "evaluate",
    "gather",
    "grand_challenge",
    "list_challenges",
    "load",
    "rank",
]

_DEMO = ".podium-demo"
AnyPath: TypeAlias = str | Path
Options: TypeAlias = Mapping[str, Any]
CasesDone: TypeAlias = Callable[[int, int], None]


def evaluate(
    challenge: str | Challenge,
    *,
    truth: AnyPath,
    submissions: AnyPath,
    out: AnyPath,
    rules: str | None = None,
    options: Options | None = None,
    baselines: Sequence[str] = (),
    references: Sequence[str] = (),
    jobs: int | None = None,
    resume: bool = False,
    restart: bool = False,
    dask: str | None = None,
    device: str = "cpu",
    limits: Limits | None = None,
    progress: CasesDone | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Measure every submission on every case, rank them, and write a run folder.

    Parameters
    ----------
    challenge
        Its name, or a challenge of your own.
    truth, submissions
        The folder with the truth, and that with one folder, .zip or .tar.gz per team; or one file per team, where that
        is a whole submission.
    out
        The run folder: new, empty, or a run that is to be resumed or made anew.
    rules, options
        The edition of the rules, and options of the challenge.
    baselines, references
        Names of submissions that are shown but not ranked: simple methods, and people.
    jobs, dask
        Threads (by default as many as there are processors), or a Dask cluster. Results do not depend on it.
    resume, restart
        Measure only what is missing or whose inputs changed; or begin anew. A run that was there
        stays until the new one is complete.
    device
        "cuda" to measure surface distances on a GPU, where there is one: the same numbers. Files are read by the
        threads, and the rest is measured there.
    limits
        How much a submission may hold.
    progress, say
        Called with the number of cases done and their total; and with what a person may want to know meanwhile.
    """
    chosen = chosen_challenge(challenge, rules, options)
    with measured_on(usable_device(device, say, elsewhere=dask is not None)):
        return evaluate_into(
            Path(out),
            chosen,
            truth=Path(truth),
            submissions=Path(submissions),
            jobs=jobs,
            baselines=_names(baselines),
            references=_names(references),
            resume=resume,
            restart=restart,
            dask=dask,
            limits=limits,
            progress=progress,
            say=say,
        )


def check(
    challenge: str | Challenge,
    predictions: AnyPath,
    *,
    truth: AnyPath | None = None,
    rules: str | None = None,
    options: Options | None = None,
) -> list[Problem]:
    """Return everything that is wrong with a submission before it is sent, or looks so.

    It would be accepted if every problem is a `warning`.

    Parameters
    ----------
    challenge, rules, options
        As of `evaluate`.
    predictions
        A folder, .zip or .tar.gz; or one file, where that is a whole submission.
    truth
        If it is known, what is missing is known as well.
    """
    return check_submission(
        chosen_challenge(challenge, rules, options), Path(predictions), truth=None if truth is None else Path(truth)
    )


def compare(
    reference: AnyPath,
    prediction: AnyPath,
    *,
    regions: Mapping[str, Sequence[int]] | None = None,
    tolerances_mm: float | Sequence[float] = (1.0,),
    boundary: Boundary = "surfel",
    also: Also | Sequence[Also] = (),
    figure: AnyPath | None = None,
    max_voxels: int | None = None,
) -> LabelMapComparison:
    """Compare two label maps by every metric of overlap, surfaces and centres; of shape and instances where asked for.

    Parameters
    ----------
    reference, prediction
        Files (.nii, .nii.gz, .mha, .mhd, .nrrd, .nhdr) on the same grid.
    regions
        Labels of each region by name; by default each label by itself.
    tolerances_mm
        At which tolerances surface Dice is measured.
    boundary
        "surfel" for surface elements weighted by area, "voxel" for boundary voxels of equal weight.
    also
        "shape" for boundary IoU, centrelines and topology; "instances" for connected components, matched and priced.
    figure
        A .png, .pdf or .svg file to draw both to.
    max_voxels
        Refuse files that promise more voxels.
    """
    for given in (reference, prediction):
        if not isinstance(given, str | Path):
            raise InputError(
                f"podium.compare takes the names of two files, not {type(given).__name__}",
                advice="podium.metrics.compare(reference, prediction, regions={…}, spacing_mm=…) takes arrays, which "
                "np.asarray(image.dataobj) is of a nibabel image; podium.metrics.compare_label_maps takes label maps",
            )
    if figure is not None:
        from podium.report.figures import check_name

        check_name(Path(figure))
    truth, guess = (read_label_map(Path(path), max_voxels=max_voxels or MAX_VOXELS) for path in (reference, prediction))
    compared = compare_label_maps(
        truth, guess, regions=regions, tolerances_mm=tolerances_mm, boundary=boundary, also=also
    )
    if figure is not None:
        from podium.report import figures

        at = compared.distances
        curves = {name: [surface_dice(region.surface, tolerance_mm=t) for t in at] for name, region in compared.items()}
        drawn = figures.comparison(truth, guess, regions=compared.regions, tolerances_mm=at, surface_dice=curves)
        figures.save(drawn, Path(figure))
    return compared


def list_challenges() -> dict[str, type[Challenge]]:
    """Return every challenge there is, by name: those that are built in, and those of installed packages."""
    return challenges()


def demo(
    challenge: str | Challenge | None = None,
    *,
    out: AnyPath = "demo-run",
    report: bool = True,
    bootstrap: int = 1000,
    seed: int = 0,
    before: Callable[[Challenge, Path], None] = lambda *_: None,
    after: Callable[[Ranking], None] = lambda _: None,
    progress: CasesDone | None = None,
) -> list[Run]:
    """Make synthetic data in a challenge's own layout, evaluate several submissions, rank them, and write a report.

    Where a challenge's demo has algorithms, these are run as well, and give a run of their own.

    Parameters
    ----------
    challenge
        Which; by default all that have a demo, one by one.
    out
        Where data and results go. An earlier demo there is made anew.
    report
        Whether to write reports too.
    bootstrap
        How many resamples tell how sure a ranking is.
    seed
        Which data: the same for the same number.
    before, after, progress
        Are told what is about to be done, and what came out.
    """
    check_resamples(bootstrap)
    if challenge is not None:
        chosen = [chosen_challenge(challenge, None, None)]
    else:
        chosen = [rules for rules in (kind.made() for kind in challenges().values()) if rules.has_demo]
    runs = []
    for rules in chosen:
        folder = Path(out) / rules.name
        if (folder / "truth").exists() and not (folder / _DEMO).exists() and not (folder / "run" / "run.json").exists():
            raise InputError("a truth is here that no demo wrote", path=folder, advice="Give another folder as --out")
        rules.write_demo(folder, seed=seed)
        (folder / _DEMO).touch()
        before(rules, folder)
        baselines = ["baseline"] if (folder / "submissions" / "baseline").exists() else []
        again = RunFolder(folder / "run")
        run = evaluate(
            rules,
            truth=folder / "truth",
            submissions=folder / "submissions",
            out=folder / "run",
            baselines=baselines,
            restart=again.finished or again.parts.unfinished,
            progress=progress,
        )
        made = [run]
        if algorithms := demo_algorithms(rules):
            from podium._front_run import run_algorithm

            place = folder / "algorithms"
            asked = run_algorithm(
                rules, out=place, truth=folder / "truth", algorithms=algorithms, restart=place.exists()
            )
            made += [asked.run] if asked.run is not None else []
        for run in made:
            ranking = run.rank(bootstrap=bootstrap)
            if bootstrap and not ranking.untold and run.run_folder is not None:
                run.run_folder.add(ranking_files(ranking))
            after(ranking)
            if report:
                ranking.report(formats=("svg",))
        runs += made
    return runs


def agreement(
    challenge: str | Challenge,
    *,
    truth: AnyPath,
    out: AnyPath | None = None,
    rules: str | None = None,
    options: Options | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    metrics: Sequence[str] = (),
    samples: AnyPath | None = None,
    jobs: int | None = None,
    resume: bool = False,
    restart: bool = False,
    progress: CasesDone | None = None,
) -> Survey:
    """Measure how far people agree, and which tolerances follow from it, where a truth has several annotators.

    Parameters
    ----------
    challenge, rules, options
        As of `evaluate`.
    truth
        The folder with the truth and everybody's annotations.
    out
        A folder for tables and raters.json.
    percentiles, metrics
        At which percentiles of distance tolerances are reported; metrics besides the challenge's own.
    samples
        A folder to write the plausible segmentations to, in the organisers' layout.
    jobs, resume, restart, progress
        As of `evaluate`.
    """
    rated = chosen_challenge(challenge, rules, options)
    if not isinstance(rated, RatedChallenge):
        raise InputError(f"{rated.title} has one annotator only, so there is nobody to compare")
    if resume and out is None:
        raise InputError("--resume needs --out", advice="Name the folder of the survey that was begun")
    return survey_raters(
        rated,
        truth=Path(truth),
        percentiles=percentiles,
        metrics=metrics,
        jobs=jobs,
        progress=progress,
        out=None if out is None else Path(out),
        resume=resume,
        restart=restart,
        samples=None if samples is None else Path(samples),
    )


def grand_challenge(
    challenge: str | Challenge,
    *,
    truth: AnyPath = "/opt/ml/input/data/ground_truth",
    predictions: AnyPath = "/input/predictions.json",
    metrics: AnyPath = "/output/metrics.json",
    rules: str | None = None,
    options: Options | None = None,
    keys: Keys = "podium",
    socket: str | None = None,
) -> dict[str, Any]:
    """Evaluate one team inside a grand-challenge.org container: predictions.json in, metrics.json out.

    Parameters
    ----------
    challenge, rules, options
        As of `evaluate`.
    truth, predictions, metrics
        The folder with the truth, the list of jobs, and where the results go.
    keys
        "organisers" to have the organisers' own keys beside Podium's.
    socket
        The slug of the output to take, where jobs have several.
    """
    return evaluate_on_grand_challenge(
        chosen_challenge(challenge, rules, options),
        truth=Path(truth),
        predictions=Path(predictions),
        metrics=Path(metrics),
        keys=keys,
        socket=socket,
    )


def gather(
    sources: Sequence[AnyPath | tuple[str, AnyPath]],
    *,
    out: AnyPath,
    challenge: Challenge | None = None,
    restart: bool = False,
) -> Run:
    """Join evaluations of several teams into one run that can be ranked, as if all had been measured together.

    Parameters
    ----------
    sources
        Run folders, or metrics.json files of `grand_challenge`; a pair of name and path where the only team of one is
        to have another name. A metrics file's team is called like the file, or like its folder if that is
        metrics.json.
    out
        The run folder: new, empty, or a run that is to be made anew.
    challenge
        The challenge, if it is not one that Podium finds by its name.
    restart
        Make a run anew that is there; it stays until the new one is complete.
    """
    named = [source if isinstance(source, tuple) else ("", source) for source in sources]
    runs = [(name, Path(place), _evaluated(Path(place), challenge)) for name, place in named]
    return gather_runs(runs, out=Path(out), restart=restart)


def _evaluated(place: Path, challenge: Challenge | None) -> Run:
    """Return the run in a folder, or what is enclosed in a metrics file."""
    if not place.exists():
        raise InputError("there is nothing here", path=place)
    if (place / "metrics.json").is_file() and not (place / "run.json").exists():
        raise InputError("this is not a run folder", path=place, advice=f"Give {place / 'metrics.json'}")
    if not place.is_file():
        return load(place, challenge=challenge)
    if place.suffix.lower() != ".json":
        raise InputError(
            "this is neither a run folder nor a metrics.json",
            path=place,
            advice="Give what podium evaluate wrote, with --grand-challenge or without",
        )
    record, table, failures = read_enclosed(place)
    if challenge is not None and challenge.name != record.challenge:
        raise InputError(f"these are metrics of {record.challenge}, not of {challenge.name}", path=place)
    rules = recorded_challenge(record.challenge, edition=record.edition, options=record.options, given=challenge)
    return Run(rules, record, table, failures)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return names, also where a single one was given as it is."""
    return (names,) if isinstance(names, str) else tuple(names)

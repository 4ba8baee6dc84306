"""The front door for algorithms: run, timed, and measured, in one call."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from podium.algorithms.asking import ask_cases
from podium.algorithms.choosing import confinement_for
from podium.algorithms.confinement import Confinement
from podium.algorithms.running import AlgorithmRuns, run_algorithms
from podium.algorithms.specs import Algorithm, Allowance, Protocol
from podium.challenges import chosen_challenge
from podium.model import Challenge, InputError

__all__ = ["run_algorithm"]

Given: TypeAlias = str | Sequence[str] | Mapping[str, str]
"""What to run: one or several, as text that may begin with `team=`, or by team."""
_PACKED = (".tar.gz", ".tgz", ".tar", ".sif")
_NAMED = re.compile(r"([^\s=/{}]+)=(.+)", re.DOTALL)


def run_algorithm(
    challenge: str | Challenge,
    *,
    out: str | Path,
    inputs: str | Path | None = None,
    truth: str | Path | None = None,
    commands: Given = (),
    images: Given = (),
    functions: Given = (),
    algorithms: Sequence[Algorithm] = (),
    baseline_command: str | Algorithm = "",
    protocol: Protocol = "case",
    keep: bool = False,
    repeat: int = 1,
    warm_up: bool = False,
    limits: Mapping[str, Any] | None = None,
    reads: Sequence[str | Path] = (),
    engine: str = "",
    unconfined: bool = False,
    rules: str | None = None,
    options: Mapping[str, Any] | None = None,
    jobs: int = 1,
    resume: bool = False,
    restart: bool = False,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> AlgorithmRuns:
    """Run participants' algorithms over all cases, time them, and, with the truth, measure and rank them.

    Parameters
    ----------
    challenge, rules, options
        As of `evaluate`.
    out
        The folder for predictions, times, logs and, with the truth, the run: new, empty, or one to go on with.
    inputs
        The folder with the images; by default that of the truth, where they lie beside it.
    truth
        Measure every prediction against it as soon as it is there, and delete it then unless `keep` is set.
    commands, images, functions
        What to run, by team: commands with `{input}` and `{output}`; names or files of container images; or functions
        in Python as FILE:NAME. A team without a name is called after its image or file.
    algorithms
        More of them, described in full, such as those of `podium.challenges.baselines`.
    baseline_command
        A command that is run first, and shown without being ranked; where a challenge scores time against a baseline's,
        this is that.
    protocol
        "case" for one start per case, "many" for one start and many cases, "frames" for frame by frame.
    repeat, warm_up
        How often each case is asked for, of which the median time counts; and whether one is before all others,
        without being counted.
    limits
        How much an algorithm may take, by the names of `Allowance`; else what the challenge's rules say.
    reads
        Further folders that algorithms may read, such as a model.
    engine, unconfined
        podman, docker or apptainer for images, by default what is there; and whether commands run without walls.
    jobs
        How many cases at once, where the rules do not count time.
    resume, restart
        Go on where it was stopped, perhaps with further algorithms; or begin anew.
    progress, say
        Called with the number of cases done and their total; and with what a person may want to know meanwhile.
    """
    rules_of = chosen_challenge(challenge, rules, options)
    images_folder = inputs or truth
    if images_folder is None:
        raise InputError("there are no inputs", advice="Give --inputs, or --truth where images lie beside the truth")
    folders = tuple(Path(folder).absolute() for folder in reads)
    everybody = [
        *algorithms,
        *(_command(name, text, protocol, folders) for name, text in _named(commands)),
        *(
            Algorithm(name or _stem(image), image=_image(image), protocol=protocol, reads=folders)
            for name, image in _named(images)
        ),
        *(_function(name, text, folders) for name, text in _named(functions)),
    ]
    baseline = None
    if isinstance(baseline_command, Algorithm):
        baseline = baseline_command
    elif baseline_command:
        ((name, text),) = _named(baseline_command)
        baseline = _command(name or "baseline", text, protocol, folders)

    said: set[str] = set()

    def say_once(text: str) -> None:
        if text not in said:
            said.add(text)
            say(text)

    def confine(algorithm: Algorithm, hidden: Sequence[Path]) -> Confinement:
        wanted = engine if algorithm.image else "none" if unconfined else ""
        return confinement_for(algorithm, engine=wanted, hidden=hidden, say=say_once)

    allowed = rules_of.interface.allowance if rules_of.interface else {}
    return run_algorithms(
        Path(out),
        rules_of,
        everybody,
        inputs=Path(images_folder),
        ask=ask_cases,
        confine=confine,
        truth=None if truth is None else Path(truth),
        baseline=baseline,
        allowance=replace(Allowance(), **{**allowed, **(limits or {})}),
        keep=keep,
        repeat=repeat,
        warm_up=warm_up,
        jobs=jobs,
        resume=resume,
        restart=restart,
        progress=progress,
        say=say,
    )


def _named(given: Given) -> list[tuple[str, str]]:
    """Return teams, "" where none is named, and what each gave."""
    if isinstance(given, Mapping):
        return list(given.items())
    texts = [given] if isinstance(given, str) else given
    named = ((_NAMED.fullmatch(text.strip()), text) for text in texts)
    return [(match[1], match[2]) if match else ("", text) for match, text in named]


def _command(name: str, text: str, protocol: Protocol, reads: tuple[Path, ...]) -> Algorithm:
    """Return a command that is at home where its script lies."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"this command cannot be understood ({error}): {text[:80]}") from None
    if not words:
        raise InputError("a command is empty", advice='Say --command "team=python infer.py {input} {output}"')
    if protocol == "case" and not any("{output}" in word or "{input}" in word for word in words):
        raise InputError(
            f"the command does not say where inputs and output go: {text[:80]}",
            advice='Write {input} and {output} into it: "python infer.py {input} {output}"',
        )
    places = [Path(word).absolute() if _is_here(word, first=not place) else None for place, word in enumerate(words)]
    script = next((path for path in places if path is not None and path.is_file()), None)
    own = tuple(word if path is None else str(path) for word, path in zip(words, places, strict=True))
    folder = None if script is None else script.parent
    return Algorithm(name or _called(words, script), command=own, protocol=protocol, folder=folder, reads=reads)


def _is_here(word: str, *, first: bool) -> bool:
    """Return whether a word is a file or folder of ours, and not a program of the system."""
    path = Path(word)
    return "{" not in word and not (first and (path.is_absolute() or "/" not in word)) and path.exists()


def _called(words: Sequence[str], script: Path | None) -> str:
    """Return what a command may be called that nobody named: after its script, its module, or its program."""
    if script is not None:
        return script.stem
    return words[words.index("-m") + 1].rpartition(".")[2] if "-m" in words[:-1] else Path(words[0]).stem


def _image(image: str) -> str:
    if Path(image).is_file():
        return str(Path(image).absolute())
    if image.lower().endswith(_PACKED):
        raise InputError("there is no such image", path=image, advice="Give a file, or the name of an image")
    return image


def _stem(image: str) -> str:
    """Return what an image is called, without its ending, registry or tag."""
    name = Path(image).name
    ending = next((ending for ending in _PACKED if name.lower().endswith(ending)), "")
    return name[: -len(ending)] if ending else re.split("[:@]", name)[0]


def _function(name: str, text: str, reads: tuple[Path, ...]) -> Algorithm:
    file, _, function = text.rpartition(":")
    path = Path(file).absolute()
    if not file or not function.isidentifier() or not path.is_file():
        raise InputError(f"{text} is no function", advice="Say FILE:NAME, such as infer.py:predict_ddfs")
    return Algorithm(name or path.stem, function=f"{path}:{function}", folder=path.parent, reads=reads)

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
from podium.algorithms.running import BASELINE_OPTION, AlgorithmRuns, run_algorithms
from podium.algorithms.specs import Algorithm, Allowance, Protocol
from podium.algorithms.surroundings import SYSTEM_FOLDERS, whole
from podium.challenges import chosen_challenge
from podium.model import Challenge, InputError

__all__ = ["run_algorithm"]

Given: TypeAlias = str | Sequence[str] | Mapping[str, str]
"""What to run: one or several, as text that may begin with `team=`, or by team."""
_PACKED = (".tar.gz", ".tgz", ".tar", ".sif")
_NAMED = re.compile(r"([^\s=/{}]+)=(.+)", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*")
_SCRIPTS = (".py", ".sh")


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
    home: str | Path | None = None,
    reads: Sequence[str | Path] = (),
    environment: Mapping[str, str] | None = None,
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
    home
        The folder that commands and functions are started in, and may read; by default that of their script.
    reads
        Further folders that algorithms may read, such as a model.
    environment
        Variables that are set for all that is given here; no others of ours are passed on.
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
    at_home = None if home is None else Path(home).absolute()
    given = [
        *(
            _command(name, text, protocol, folders, home=at_home, walls=not unconfined)
            for name, text in _named(commands)
        ),
        *(
            Algorithm(name or _stem(image), image=_image(image), protocol=protocol, reads=folders)
            for name, image in _named(images)
        ),
        *(_function(name, text, folders, home=at_home) for name, text in _named(functions)),
    ]
    variables = dict(environment or {})
    if odd := [name for name in variables if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)]:
        raise InputError(f"a variable cannot be called {odd[0]!r}", advice="Say --env NAME=VALUE")
    everybody = [*algorithms, *(replace(algorithm, environment=variables) for algorithm in given)]
    if baseline_command and BASELINE_OPTION in (options or {}):
        what = f"the baseline is to be timed, and its time is given as the option {BASELINE_OPTION}"
        raise InputError(what, advice="Give one of the two")
    baseline = None
    if isinstance(baseline_command, Algorithm):
        baseline = baseline_command
    elif baseline_command:
        ((name, text),) = _named(baseline_command)
        baseline = _command(name or "baseline", text, protocol, folders, home=at_home, walls=not unconfined)
        baseline = replace(baseline, environment=variables)

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


def _command(
    name: str, text: str, protocol: Protocol, reads: tuple[Path, ...], *, home: Path | None = None, walls: bool = True
) -> Algorithm:
    """Return a command that is at home where its script lies, and refuse one that could not work behind walls."""
    try:
        words = [_expanded(word) for word in shlex.split(text)]
    except ValueError as error:
        raise InputError(f"this command cannot be understood ({error}): {text[:80]}") from None
    if not words:
        raise InputError("a command is empty", advice='Say --command "team=python infer.py {input} {output}"')
    asked = any("{output}" in word or "{input}" in word for word in words)
    if protocol == "case" and not asked:
        raise InputError(
            f"the command does not say where inputs and output go: {text[:80]}",
            advice='Write {input} and {output} into it: "python infer.py {input} {output}"',
        )
    if protocol != "case" and asked:
        raise InputError(
            f"with --protocol {protocol} a program is asked through its standard input: {text[:80]}",
            advice="Leave {input} and {output} out; a program that takes them needs --protocol case",
        )
    places = [Path(word).absolute() if _is_here(word, first=not place) else None for place, word in enumerate(words)]
    script = _script(words, places)
    folder = home or (_home_of_module(words) if script is None else script.parent)
    own = tuple(word if path is None else str(path) for word, path in zip(words, places, strict=True))
    algorithm = Algorithm(name or _called(words, script), command=own, protocol=protocol, folder=folder, reads=reads)
    if walls:
        _check_seen(algorithm, [path for path in places[1:] if path is not None])
    return algorithm


def _script(words: Sequence[str], places: Sequence[Path | None]) -> Path | None:
    """Return the first file of ours in a command that is not Python itself."""
    files = [path for path in places if path is not None and path.is_file() and not _PYTHON.fullmatch(path.name)]
    missing = [word for word in words if word.endswith(_SCRIPTS) and not word.startswith("-") and "{" not in word]
    if not files and missing:
        raise InputError("there is no such script", path=missing[0], advice="Give its path as seen from here")
    return files[0] if files else None


def _home_of_module(words: Sequence[str]) -> Path | None:
    """Return where a module lies that is started with -m, if that is here."""
    if "-m" not in words[:-1]:
        return None
    package = words[words.index("-m") + 1].partition(".")[0]
    return Path.cwd() if Path(f"{package}.py").is_file() or Path(package).is_dir() else None


def _check_seen(algorithm: Algorithm, places: Sequence[Path]) -> None:
    """Refuse a command with a file or folder of ours that is out of its sight."""
    seen = [*([algorithm.folder] if algorithm.folder else []), *algorithm.reads, *map(Path, SYSTEM_FOLDERS)]
    for path in map(whole, places):
        if not any(path.is_relative_to(whole(folder)) for folder in seen):
            raise InputError(
                f"{algorithm.name} names this, but could not read it behind its walls",
                path=path,
                advice=f"Add --read {path if path.is_dir() else path.parent}",
            )


def _expanded(word: str) -> str:
    """Return a path with the home of whoever calls, which shells do not see behind `team=` or in quotes."""
    return f"{Path.home()}{word[1:]}" if word.startswith("~/") else word


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
    path = Path(_expanded(image))
    if path.is_file():
        return str(path.absolute())
    if image.lower().endswith(_PACKED):
        raise InputError("there is no such image", path=image, advice="Give a file, or the name of an image")
    return image


def _stem(image: str) -> str:
    """Return what an image is called, without its ending, registry or tag."""
    name = Path(image).name
    ending = next((ending for ending in _PACKED if name.lower().endswith(ending)), "")
    return name[: -len(ending)] if ending else re.split("[:@]", name)[0]


def _function(name: str, text: str, reads: tuple[Path, ...], *, home: Path | None = None) -> Algorithm:
    file, _, function = text.rpartition(":")
    path = Path(_expanded(file)).absolute()
    if not file or not function.isidentifier() or not path.is_file():
        raise InputError(f"{text} is no function", advice="Say FILE:NAME, such as infer.py:predict_ddfs")
    return Algorithm(name or path.stem, function=f"{path}:{function}", folder=home or path.parent, reads=reads)

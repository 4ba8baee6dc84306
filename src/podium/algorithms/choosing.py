"""Choosing where an algorithm runs: behind the best walls that there are."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.algorithms.apptainer import Apptainers
from podium.algorithms.commands import Bubblewrapped, Unconfined
from podium.algorithms.confinement import Confinement
from podium.algorithms.containers import Containers
from podium.algorithms.specs import Algorithm
from podium.algorithms.walls import why_no_walls
from podium.model import InputError

__all__ = ["confinement_for"]

_ENGINES: dict[str, type[Containers] | type[Apptainers]] = {
    "podman": Containers,
    "docker": Containers,
    "apptainer": Apptainers,
    "singularity": Apptainers,
}
_WALLS = ("bubblewrap", "none")


def confinement_for(
    algorithm: Algorithm,
    *,
    engine: str = "",
    hidden: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Confinement:
    """Return where an algorithm runs.

    Parameters
    ----------
    algorithm
        A command or function runs under bubblewrap, and without walls where that is missing; an image in a container.
    engine
        What to use, if not what is there: podman, docker, apptainer or singularity for an image; bubblewrap or none
        for a command.
    hidden
        Folders that no algorithm may see: truth, submissions, runs.
    say
        Is told where nothing keeps an algorithm from network and files.

    Raises
    ------
    InputError
        The engine is unknown or not there.
    """
    choices = tuple(_ENGINES) if algorithm.image else _WALLS
    if engine and engine not in choices:
        kind = "an image" if algorithm.image else "a command"
        raise InputError(f"{kind} cannot be run with '{engine}'", advice=f"Use one of {', '.join(choices)}")
    if algorithm.image:
        return _container_engine(engine, hidden)
    reason = "" if engine == "none" else why_no_walls()
    if engine == "bubblewrap" and reason:
        raise InputError(reason, advice="Install it, or let the command run without walls")
    if engine == "none" or reason:
        return Unconfined(say=say, reason=reason)
    return Bubblewrapped(hidden=hidden)


def _container_engine(engine: str, hidden: Sequence[Path]) -> Confinement:
    """Return the engine that was asked for, or the first that is there and answers."""
    problems = []
    for name in [engine] if engine else list(_ENGINES):
        program = shutil.which(name)
        problem = _why_not(program) if program else "it is not installed"
        if program and not problem:
            return _ENGINES[name](program, hidden=hidden)
        problems.append(f"{name}: {problem}")
    raise InputError(
        f"no container can be run here ({'; '.join(problems)})", advice="Install Podman, Docker or Apptainer"
    )


def _why_not(program: str) -> str:
    """Return why an engine does not answer, or nothing; Docker does not without its service."""
    word = "info" if Path(program).name == "docker" else "version"
    answer = subprocess.run([program, word], capture_output=True, text=True, errors="replace", check=False)
    return " ".join(answer.stderr.split())[:150] or "it does not answer" if answer.returncode else ""

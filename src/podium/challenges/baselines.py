"""Baselines that run: classical methods as commands, asked as a participant's program is.

    python -m podium.challenges.<challenge>.baseline [--method NAME] INPUT OUTPUT
    python -m podium.challenges.<challenge>.baseline [--method NAME] --protocol many
    python -m podium.challenges.<challenge>.baseline [--method NAME] --protocol frames

They are not meant to win. They show what little effort gives, and the whole way from an algorithm to a report.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from podium.algorithms.specs import Algorithm, Protocol
from podium.model import Challenge, InputError

__all__ = ["Answer", "Start", "answer_as_asked", "baseline_algorithms", "demo_algorithms"]

Answer = Callable[[Path, Path], None]
"""Reads the inputs of a case from one folder and writes the answer into another."""

Start = Callable[[Mapping[str, Any]], Callable[[Any], Any]]
"""Takes what is known of a sequence, and returns what answers to its frames in turn."""


def baseline_algorithms(challenge: Challenge, *, protocol: Protocol = "case") -> list[Algorithm]:
    """Return the baselines of a challenge, the simplest first, ready to be run by this Python.

    They are in `METHODS` of the module `baseline` beside the challenge's own; those that can be asked frame by frame
    are in its `TRACKERS` as well. A challenge without such a module has none.
    """
    package = type(challenge).__module__.rpartition(".")[0]
    name = f"{package}.baseline"
    if not package or find_spec(name) is None:
        return []
    module = import_module(name)
    methods = getattr(module, "TRACKERS" if protocol == "frames" else "METHODS", None)
    if methods is None:
        raise InputError(f"the baselines of {challenge.title} cannot be asked frame by frame")
    home = Path(sys.modules[package.partition(".")[0]].__path__[0]).parent
    asked = ("{input}", "{output}") if protocol == "case" else ("--protocol", protocol)
    return [
        Algorithm(
            name=method,
            command=(sys.executable, "-m", name, "--method", method, *asked),
            protocol=protocol,
            reads=(home,),
            environment={"PYTHONPATH": str(home)},
        )
        for method in methods
    ]


def demo_algorithms(challenge: Challenge) -> list[Algorithm]:
    """Return the baselines that a challenge's demo runs: those of the protocol that its module `demo` names."""
    name = f"{type(challenge).__module__.rpartition('.')[0]}.demo"
    if name.startswith(".") or find_spec(name) is None:
        return []
    demo = import_module(name)
    protocol: Protocol | None = getattr(demo, "ALGORITHMS", None)
    return baseline_algorithms(challenge, protocol=protocol) if protocol else []


def answer_as_asked(methods: Mapping[str, Answer], trackers: Mapping[str, Start] | None = None) -> None:
    """Do what the words behind the command ask for; the last of the methods is the usual one."""
    parser = argparse.ArgumentParser(prog="baseline", description="A baseline, asked as a participant's program is.")
    parser.add_argument("--method", choices=list(methods), default=list(methods)[-1])
    parser.add_argument("--protocol", choices=("case", "many", *(["frames"] if trackers else [])), default="case")
    parser.add_argument("folders", nargs="*", type=Path, metavar="INPUT OUTPUT")
    words = parser.parse_args()
    if len(words.folders) != (2 if words.protocol == "case" else 0):
        parser.error("give INPUT and OUTPUT, or a --protocol")
    if words.protocol == "case":
        methods[words.method](*words.folders)
        return
    from podium.algorithms import podium_worker  # which takes over standard input and output

    if words.protocol == "many":
        podium_worker.answer_cases(lambda inputs, output: methods[words.method](Path(inputs), Path(output)))
    elif trackers:
        podium_worker.answer_frames(trackers[words.method])

"""How many functions, and how many changes of package, one prediction takes from `podium evaluate` to leaderboard.csv.

One KiTS21 case and one submission with one prediction go through the command line in this process, with one worker,
twice: the first time untraced, so that neither imports nor compilation are counted. The second time every call of a
function whose code lies in the package's folder is recorded, in the order of time and in all threads. What is counted:

functions
    Distinct functions that are called, by file and qualified name. Comprehensions, generator expressions and lambdas
    belong to the function they are written in; a compiled kernel is a function when Python calls it, and what it calls
    itself is unseen; the bodies of modules and classes, and methods that dataclasses generate, do not count.
changes of package
    Distinct pairs of a calling and a called function that lie in different packages. A package is a folder or file
    right under podium/. The caller is the nearest function of Podium on the stack, whatever libraries are in between;
    of the first one in a thread, it is the function that started the thread. What the command line's library calls
    first has no caller and is no change.
calls that change package
    The same calls, as often as they happen. A generator counts where it starts, not where it goes on.
switches in time
    How often a call is of another package than the call before it, whoever called.

The first two do not depend on how often a loop runs, and thus not on the number of metrics or columns: these are the
figures to compare between versions, by this script and on one version of Python.

Of these changes, those into and out of `model` are mostly properties of the types that everybody shares; a row of its
own leaves them out of the count. Version 0.1.0 had 161 functions and 60 changes, 40 without `model`, by this script.

Run it with `python benchmarks/hops.py`; `--json` prints JSON.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.io import write_label_map
from podium.model import LabelMap

PACKAGE = Path(podium.__file__).parent
SIDE = 32
"""Voxels along each axis of the case."""

_ANONYMOUS = re.compile(r"(\.<locals>)?\.?<(lambda|listcomp|setcomp|dictcomp|genexpr)>.*")


class Function(NamedTuple):
    """A function of Podium: the parts of its file's path below podium/, and its qualified name."""

    file: tuple[str, ...]
    name: str

    @property
    def package(self) -> str:
        """Return the folder or file right under podium/ that it lies in."""
        return self.file[0].removesuffix(".py")


@dataclass(frozen=True)
class Call:
    """One call: of what, and by what; by None if nothing of Podium was on the stack."""

    caller: Function | None
    callee: Function

    @property
    def changes(self) -> bool:
        """Return whether it leads from one package to another."""
        return self.caller is not None and self.caller.package != self.callee.package


@dataclass(frozen=True)
class Edge:
    """How often one package calls another: distinct pairs of functions, and calls."""

    caller: str
    callee: str
    pairs: int
    calls: int


@dataclass(frozen=True)
class Hops:
    """What was counted; the module says how."""

    functions: int
    changes: int
    changing_calls: int
    switches: int
    calls: int
    edges: tuple[Edge, ...]
    """From package to package, the most distinct pairs first."""
    functions_by_package: dict[str, int]


class Recorder:
    """Records the calls of Podium's functions in all threads.

    It keeps stacks of its own, because the frame in which Numba shows a kernel to a profiler does not know its caller.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._functions: dict[CodeType, Function | None] = {}
        self._stacks: defaultdict[threading.Thread, list[tuple[FrameType, Function]]] = defaultdict(list)
        self._started_by: dict[threading.Thread, Function | None] = {}
        self._generators: dict[int, FrameType] = {}  # keeps them alive, so that no other has the same id

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is called meanwhile, in this thread and in those that are started."""
        before, before_in_threads = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(before_in_threads)

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code is threading.Thread.start.__code__:
            if event == "call":
                self._started_by[frame.f_locals["self"]] = self._innermost(threading.current_thread())
            return
        if code not in self._functions:
            self._functions[code] = _function(code)
        function = self._functions[code]
        if function is None:
            return
        thread = threading.current_thread()
        stack = self._stacks[thread]
        if event == "return":
            if stack and stack[-1][0] is frame:
                stack.pop()
            return
        if id(frame) not in self._generators:
            self.calls.append(Call(self._innermost(thread), function))
            if code.co_flags & inspect.CO_GENERATOR:
                self._generators[id(frame)] = frame
        stack.append((frame, function))

    def _innermost(self, thread: threading.Thread) -> Function | None:
        stack = self._stacks[thread]
        return stack[-1][1] if stack else self._started_by.get(thread)


def _function(code: CodeType) -> Function | None:
    """Return which function of Podium this is the code of; None if of none."""
    path = Path(code.co_filename)
    is_class = not code.co_flags & inspect.CO_OPTIMIZED and "__qualname__" in code.co_names
    if not path.is_relative_to(PACKAGE) or code.co_name == "<module>" or is_class:
        return None
    return Function(path.relative_to(PACKAGE).parts, _ANONYMOUS.sub("", code.co_qualname) or "<module>")


def count_hops() -> Hops:
    """Evaluate one prediction, and count."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_case(folder)
        evaluate(folder, folder / "first")
        with recorder.recording():
            evaluate(folder, folder / "second")
    return counted(recorder.calls)


def counted(calls: list[Call]) -> Hops:
    """Count functions and changes of package in calls that are in the order of time."""
    changing = [call for call in calls if call.changes]
    by_calls = Counter((call.caller.package, call.callee.package) for call in changing if call.caller)
    by_pairs = Counter((call.caller.package, call.callee.package) for call in set(changing) if call.caller)
    functions = {call.callee for call in calls}
    return Hops(
        functions=len(functions),
        changes=len(set(changing)),
        changing_calls=len(changing),
        switches=sum(first.callee.package != second.callee.package for first, second in pairwise(calls)),
        calls=len(calls),
        edges=tuple(
            Edge(*edge, pairs=pairs, calls=by_calls[edge])
            for edge, pairs in sorted(by_pairs.items(), key=lambda item: (-item[1], item[0]))
        ),
        functions_by_package=dict(sorted(Counter(function.package for function in functions).items())),
    )


def write_case(folder: Path) -> None:
    """Write a kidney with a tumour and a cyst as the truth, and the same one voxel further on as the prediction."""
    place = np.indices((SIDE,) * 3) - SIDE / 2
    truth = np.zeros((SIDE,) * 3, np.uint8)
    for label, centre, radius in ((1, 0.0, 0.4), (2, 0.0, 0.25), (3, 0.25, 0.1)):
        offset = np.array([centre * SIDE, 0, 0])[:, None, None, None]
        truth[((place - offset) ** 2).sum(axis=0) < (radius * SIDE) ** 2] = label
    files = {
        folder / "truth/case_00000/aggregated_MAJ_seg.nii.gz": truth,
        folder / "submissions/team/case_00000.nii.gz": np.roll(truth, 1, axis=0),
    }
    for path, labels in files.items():
        path.parent.mkdir(parents=True)
        write_label_map(path, LabelMap.from_array(labels, spacing=(1.0, 1.0, 1.0)))


def evaluate(folder: Path, out: Path) -> None:
    """Run the command line as a user would; a table of 80 columns and no progress bar, whatever the terminal."""
    places = {"--truth": folder / "truth", "--submissions": folder / "submissions", "--out": out}
    arguments = [str(word) for option in places.items() for word in option]
    done = CliRunner().invoke(
        app, ["evaluate", "kits21", *arguments, "--jobs", "1"], env={"COLUMNS": "80", "FORCE_COLOR": None}
    )
    if done.exit_code != 0 or not (out / "leaderboard.csv").is_file():
        raise RuntimeError(f"podium evaluate ended with {done.exit_code}:\n{done.output}") from done.exception


def show(hops: Hops, console: Console) -> None:
    """Print what was counted."""
    table = Table("one KiTS21 prediction, from podium evaluate to leaderboard.csv", "count")
    table.columns[1].justify = "right"
    table.add_row("functions", str(hops.functions))
    table.add_row("changes of package (distinct pairs of functions)", str(hops.changes))
    shared = sum(edge.pairs for edge in hops.edges if "model" in (edge.caller, edge.callee))
    table.add_row("… without those into and out of model", str(hops.changes - shared))
    table.add_row("calls that change package", str(hops.changing_calls))
    table.add_row("switches in time", str(hops.switches))
    table.add_row("all calls", str(hops.calls))
    console.print(table)
    edges = Table("from", "to", "pairs", "calls")
    for edge in hops.edges:
        edges.add_row(edge.caller, edge.callee, str(edge.pairs), str(edge.calls))
    console.print(edges)
    console.print("functions:", ", ".join(f"{name} {count}" for name, count in hops.functions_by_package.items()))


def main() -> None:
    """Count, and print a table or JSON."""
    hops = count_hops()
    if "--json" in sys.argv[1:]:
        print(json.dumps(asdict(hops), indent=2))
    else:
        show(hops, Console())


if __name__ == "__main__":
    main()

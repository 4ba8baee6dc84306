"""What a newcomer waits for: the size of the installation, the first import, the first help, the first kernels."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from cases import Case
from harness import Row


def rows(case: Case) -> list[Row]:
    """Measure what is installed, `import podium`, `podium --help`, the Tab key and the first comparison."""
    compare = ("-m", "podium", "compare", str(case.reference), str(case.prediction))
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(*compare, NUMBA_CACHE_DIR=cache)
        second = min(_seconds(*compare, NUMBA_CACHE_DIR=cache) for _ in range(3))
    tab = {"_PODIUM_COMPLETE": "complete_bash", "COMP_WORDS": "podium evaluate k", "COMP_CWORD": "2"}
    return [
        _within("what `pip install podium` installs", sum(sizes().values()), 700.0, "MB"),
        _within("import podium, beyond Python itself", _best("-c", "import podium") - _best("-c", ""), 0.2),
        _within("podium --help", _best("-m", "podium", "--help"), 0.3),
        _within("podium evaluate k<Tab>", _best("-m", "podium", **tab), 0.5),
        _within("first call ever, beyond the second", first - second, 20.0),
    ]


def sizes(name: str = "podium") -> dict[str, float]:
    """Return the megabytes of every package that another needs, directly or not, as they are installed here."""
    known: dict[str, float] = {}
    waiting = [name]
    while waiting:
        package = distribution(waiting.pop())
        known[package.name.lower()] = _megabytes(package)
        for line in package.requires or ():
            other = re.match(r"[\w.-]+", line)[0].lower()
            if other not in known and not re.search(r"extra *==|platform_system *==|sys_platform *==", line):
                try:
                    waiting.append(distribution(other).name)
                except PackageNotFoundError:  # which this Python does not need
                    continue
    return known


def _megabytes(package: Distribution) -> float:
    paths = [package.locate_file(file) for file in package.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def _within(what: str, ours: float, allowed: float, unit: str = "s") -> Row:
    return Row(what, ours, {"allowed": allowed}, unit=unit, targets={"allowed": ("≤", 1.0)})


def _best(*arguments: str, **variables: str) -> float:
    """Return seconds of the processor, which one thread needs and what else the machine does leaves alone."""
    taken = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _seconds(*arguments, **variables)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def _seconds(*arguments: str, **variables: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=os.environ | variables, capture_output=True, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    for package, megabytes in sorted(sizes().items(), key=lambda item: -item[1]):
        print(f"{package:28} {megabytes:7.1f} MB")
    print(f"{'together':28} {sum(sizes().values()):7.1f} MB")

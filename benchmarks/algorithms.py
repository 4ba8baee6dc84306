"""How right algorithms are timed, and what the runner itself takes: programs that sleep 0.5 s a frame, or not at all.

Behind bubblewrap where it is there. What is measured of a sleeping program must be right within 5 %; beside what is
counted, a command may take 50 ms and a frame 2 ms.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import sleeping
from harness import Row

import podium.algorithms
from podium.algorithms.asking import ask_cases
from podium.algorithms.choosing import confinement_for
from podium.algorithms.specs import Algorithm, Allowance, Outcome

NAP_SECONDS, FRAMES = 0.5, 10
STARTS, QUICK_FRAMES = 20, 500
NEAR, MOST_MS_A_CASE, MOST_MS_A_FRAME = 1.05, 50.0, 2.0

PROGRAMS = {
    "case.py": "import pathlib, sys, time\n"
    "i, o = map(pathlib.Path, sys.argv[1:3])\n"
    "[time.sleep(float(sys.argv[3])) for _ in range(int((i / 'frames').read_text()))]\n"
    "(o / 'answer').touch()\n",
    "many.py": "import pathlib, sys, time, podium_worker\n"
    "def predict(i, o):\n"
    "    [time.sleep(float(sys.argv[1])) for _ in range(int((pathlib.Path(i) / 'frames').read_text()))]\n"
    "    (pathlib.Path(o) / 'answer').touch()\n"
    "podium_worker.answer_cases(predict)\n",
    "frames.py": "import numpy, sys, time, podium_worker\n"
    "def start(known):\n"
    "    mask = numpy.zeros((256, 256), 'u1')\n"
    "    return lambda frame: (time.sleep(float(sys.argv[1])), mask)[1]\n"
    "podium_worker.answer_frames(start)\n",
    "function.py": "import numpy, time\n"
    "def predict(frames):\n"
    f"    [time.sleep({NAP_SECONDS}) for _ in range(frames)]\n"
    "    return numpy.zeros(1)\n",
}


def rows() -> list[Row]:
    """Measure every protocol with programs that sleep, and the runner with programs that do nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        for file, text in PROGRAMS.items():
            (home / file).write_text(text)
        shutil.copy(
            Path(podium.algorithms.__file__).with_name("podium_worker.py"), home
        )  # importing it takes over stdout
        napping, quick = algorithms(home, NAP_SECONDS), algorithms(home, 0.0)
        results = [_napping(protocol, algorithm, folder) for protocol, algorithm in napping.items()]
        return [*results, *_overhead(quick, folder)]


def algorithms(home: Path, nap: float) -> dict[str, Algorithm]:
    """Return a program for each protocol."""
    python, told = sys.executable, str(nap)
    return {
        "case": Algorithm("case", (python, str(home / "case.py"), "{input}", "{output}", told), folder=home),
        "many": Algorithm("many", (python, str(home / "many.py"), told), protocol="many", folder=home),
        "frames": Algorithm("frames", (python, str(home / "frames.py"), told), protocol="frames", folder=home),
        "function": Algorithm("function", function=f"{home}/function.py:predict", folder=home),
    }


def asked(algorithm: Algorithm, folder: Path, *, cases: int, frames: int) -> list[tuple[Outcome, float]]:
    """Ask about cases, and return what came of each, and how long that took with everything around it."""
    images, scratch = folder / "images", folder / "scratch"
    for place in (images, scratch):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    for number in range(cases):
        (images / f"{number:03}.case").write_text(str(frames))
    questions = sleeping.INTERFACE.questions(images)
    confinement = confinement_for(algorithm)
    confinement.prepare(algorithm)
    results, begin = [], time.perf_counter()
    for outcome in ask_cases(
        algorithm,
        confinement,
        sleeping.INTERFACE,
        questions,
        allowance=Allowance(),
        scratch=scratch,
        logs=folder / "logs",
    ):
        assert outcome.ending == "answered", outcome
        results.append((outcome, time.perf_counter() - begin))
        begin = time.perf_counter()
    confinement.close()
    return results


def _napping(protocol: str, algorithm: Algorithm, folder: Path) -> Row:
    measured = max(outcome.spans.run for outcome, _ in asked(algorithm, folder, cases=2, frames=FRAMES))
    what = f"{protocol}: a case of {FRAMES} frames, {NAP_SECONDS:g} s each, is timed as"
    return Row(what, measured, {"slept": FRAMES * NAP_SECONDS}, unit="s", targets={"slept": ("≤", NEAR)})


def _overhead(quick: dict[str, Algorithm], folder: Path) -> list[Row]:
    """Measure what a case and a frame cost beside what is counted."""
    results = []
    for protocol in ("case", "many"):
        cases = asked(quick[protocol], folder, cases=STARTS, frames=0)
        beside = 1e3 * median(taken - outcome.spans.load - outcome.spans.run for outcome, taken in cases)
        what = f"{protocol}: beside what is counted, a case takes, the median of {STARTS}"
        results.append(Row(what, beside, {"allowed": MOST_MS_A_CASE}, targets={"allowed": ("≤", 1.0)}))
    ((outcome, _),) = asked(quick["frames"], folder, cases=1, frames=QUICK_FRAMES)
    a_frame = 1e3 * median(outcome.spans.frames)
    what = f"frames: asking and answering {' × '.join(map(str, sleeping.SHAPE))} pixels, the median of {QUICK_FRAMES}"
    return [*results, Row(what, a_frame, {"allowed": MOST_MS_A_FRAME}, targets={"allowed": ("≤", 1.0)})]


if __name__ == "__main__":
    for row in rows():
        (other, taken), *_ = row.others.items()
        print(
            f"{row.what}: {row.ours:.4g} {row.unit}, {other} {taken:g}: {'reached' if row.reached(other) else 'MISSED'}"
        )

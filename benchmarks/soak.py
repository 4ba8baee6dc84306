"""Ten minutes of load: the same run again and again, in one process, with equal results and memory that stays.

Run it with `make soak`; another number of seconds is the first argument.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from scale import write_load

from podium.challenges import get_challenge
from podium.ranking import leaderboard_of
from podium.run import Parts, find_submissions, measure_all

SUBMISSIONS, CASES = 40, 10
ALLOWED_GROWTH = 1.1


def resident_mb() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def main() -> None:
    """Evaluate, rank and compare until the time is up."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    challenge = get_challenge("kits21")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_load(folder, submissions=SUBMISSIONS, cases=CASES)
        submissions = find_submissions(folder / "submissions")
        started, rounds, settled, first = time.monotonic(), 0, 0.0, None
        while time.monotonic() - started < seconds:
            parts = Parts(folder / "run")
            evaluation = measure_all(
                challenge, truth=folder / "truth", submissions=submissions, parts=parts, resume=rounds % 3 == 2
            )
            board = leaderboard_of(challenge, evaluation.table, roles=evaluation.roles)
            result = evaluation.table.hash_rows(seed=0).sum(), [entry.place for entry in board.entries]
            first = first or result
            if result != first:
                sys.exit(f"round {rounds} gave another result")
            rounds += 1
            if time.monotonic() - started < seconds / 5:
                settled = max(settled, resident_mb())  # what caches and threads need is taken by then
        measured = rounds * SUBMISSIONS * CASES
        print(f"{rounds} rounds, {measured:,} predictions, {measured / (time.monotonic() - started):.0f} a second")
        print(f"memory: {settled:.0f} MB after a fifth of the time, {resident_mb():.0f} MB at the end")
        if resident_mb() > ALLOWED_GROWTH * settled:
            sys.exit("memory grows")


if __name__ == "__main__":
    main()

# ruff: noqa: T201 (this is a command)
"""Fuzz every reader: `make fuzz`, or `python tests/fuzz/run.py --inputs 100000 [--reader hdf5] [--seed 1]`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path

from fuzzing import fuzz
from readers import TARGETS


def main() -> int:
    """Return 1 if any input ended a process, hung, took too much memory or raised what it should not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="over all readers together")
    parser.add_argument("--reader", action="append", choices=sorted(TARGETS), help="only this one; repeat for more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="readers at a time")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "podium-fuzz")
    options = parser.parse_args()
    names = options.reader or list(TARGETS)
    one = options.inputs / sum(TARGETS[name].share for name in names)
    shutil.rmtree(options.out, ignore_errors=True)
    failed = 0
    print(f"{'reader':10} {'inputs':>8} {'seconds':>8} {'read':>8} {'refused':>8} {'edges':>6} {'corpus':>6}  found")
    with ThreadPoolExecutor(options.jobs) as pool:
        work = {
            name: pool.submit(
                fuzz, name, inputs=ceil(one * TARGETS[name].share), seed=options.seed, folder=options.out / name
            )
            for name in names
        }
        for name, future in work.items():
            found = future.result()
            read, refused = found.outcomes["read"], found.outcomes["refused"]
            print(
                f"{name:10} {found.inputs:8,} {found.seconds:8.1f} {read:8,} {refused:8,} {found.edges:6,} "
                f"{found.corpus:6,}  {len(found.bad)}",
                flush=True,
            )
            different = {what.partition(": ")[2][:60]: (what, kept) for what, kept in reversed(found.bad)}
            for what, kept in different.values():
                print(f"    {what}\n        {kept}", flush=True)
            failed += len(found.bad)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

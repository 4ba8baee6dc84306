"""Run folders that were damaged: run.json, the tables, and the parts of a run that is resumed."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import plugin
import polars as pl
from sixth_challenge import Landmarks

import podium
from podium.io import parquet_bytes
from podium.model import InputError

RUN_FILES = ("run.json", "measurements.parquet", "failures.csv")


@cache
def finished() -> Path:
    """Return a folder with a truth, the answers of three teams, and their run."""
    place, ours = Path(mkdtemp(prefix="podium-fuzz-run-")), os.getpid()
    atexit.register(lambda: ours == os.getpid() and shutil.rmtree(place, ignore_errors=True))
    teams = {"Ärzte": {"001": "1 1 1"}, "late": {"002": ""}, "odd": {"001": "no point", "002": "3 0 0"}}
    truth, submissions = plugin.write_landmarks(place, teams, cases=2)
    podium.evaluate(Landmarks(), truth=truth, submissions=submissions, out=place / "run", jobs=1)
    return place


def seed(name: str) -> bytes:
    """Return a file of the run."""
    return next((finished() / "run").glob(name)).read_bytes()


def read_run(path: Path) -> None:
    """Load a run that holds one damaged file, and rank it again, as every command does.

    Measurements are damaged in a run of an earlier version, which knows no checksum that would tell.
    """
    for name in RUN_FILES:
        if name != path.name:
            shutil.copyfile(finished() / "run" / name, path.with_name(name))
    if path.name == "measurements.parquet":
        document = json.loads(path.with_name("run.json").read_text())
        path.with_name("run.json").write_text(json.dumps({**document, "measurements": ""}))
    run = podium.load(path.parent, challenge=Landmarks())
    assert run.provenance
    assert repr(run)
    if not run.withheld:
        assert run.rank(bootstrap=0).leaderboard.to_frame() is not None


def resume(path: Path) -> None:
    """Resume a run with a damaged part: what is not a part is measured again, and comes out as it was."""
    folder = finished() / "resumed"
    if not folder.exists():
        shutil.copytree(finished() / "run", folder)
    content = path.read_bytes()
    checksum, _, packed = content.partition(b"\n")
    damaged = checksum != sha256(packed).hexdigest().encode()
    next((folder / "parts").glob("001*.part")).write_bytes(content)
    truth, submissions = finished() / "truth", finished() / "teams"
    run = podium.evaluate(Landmarks(), truth=truth, submissions=submissions, out=folder, jobs=1, resume=True)
    if damaged:
        assert run.measurements.equals(podium.load(finished() / "run", challenge=Landmarks()).measurements)
    if run.why:
        raise InputError(f"this part is not used: {', '.join(run.why)}")


def with_facts(facts: bytes) -> bytes:
    """Return a part that says this, checksum included, as if another program or version had written it."""
    table = pl.read_parquet(BytesIO(seed("parts/001*.part").partition(b"\n")[2]))
    packed = parquet_bytes(table, metadata={"podium": facts.decode(errors="replace")})
    return sha256(packed).hexdigest().encode() + b"\n" + packed


def facts_of(content: bytes) -> bytes:
    """Return what a part says beside its table."""
    if not content.startswith(sha256(content.partition(b"\n")[2]).hexdigest().encode()):
        raise InputError("the checksum is wrong")
    return pl.read_parquet_metadata(BytesIO(content.partition(b"\n")[2]))["podium"].encode()

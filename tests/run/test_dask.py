"""Cases measured by the workers of a Dask cluster: the same bytes, also when a worker is killed."""

import os
import pickle
import signal
import threading

import pytest
from typer.testing import CliRunner
from waiting_kits21 import WaitingKiTS21

from podium.challenges import get_challenge
from podium.cli import app
from podium.model import InputError
from podium.run import Parts, dask_pool, find_submissions, measure_all

pytest.importorskip("distributed", reason="Dask is not installed")


@pytest.fixture(scope="module")
def demo(kits21_demo):
    return kits21_demo


@pytest.fixture(scope="module")
def workers():
    said = []
    with dask_pool("local:2", say=said.append) as pool:
        assert said[0].startswith("Dask dashboard: http://127.0.0.1:")
        yield pool


@pytest.mark.slow
def test_workers_find_the_same_as_threads(demo, workers, tmp_path):
    challenge = get_challenge("kits21")
    given = {"truth": demo / "truth", "submissions": find_submissions(demo / "submissions")}
    with_threads = measure_all(challenge, **given)
    done = []
    with_workers = measure_all(
        challenge, **given, pool=workers, parts=Parts(tmp_path), progress=lambda *counts: done.append(counts)
    )
    assert with_workers.table.equals(with_threads.table)
    assert with_workers.failures == with_threads.failures
    assert with_workers.hashes == with_threads.hashes
    assert done[-1] == (8, 8)
    again = measure_all(challenge, **given, pool=workers, parts=Parts(tmp_path), resume=True)
    assert again.kept == 48
    assert again.table.equals(with_threads.table)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_case_costs_nothing(demo, workers, tmp_path):
    """The first worker that begins to measure waits there until it is killed; whoever takes its case over does not."""
    waiting = tmp_path / "waiting"
    challenge = WaitingKiTS21(waiting=str(waiting))
    given = {"truth": demo / "truth", "submissions": find_submissions(demo / "submissions")}
    killed, over = [], threading.Event()

    def kill():
        while not killed and not over.wait(0.01):
            if waiting.exists():
                killed.append(int(waiting.read_text()))
                os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        disturbed = measure_all(challenge, **given, pool=workers, parts=Parts(tmp_path))
    finally:
        over.set()
        killer.join()
    assert killed
    assert killed[0] not in workers._client.run(os.getpid).values()
    assert disturbed.table.equals(measure_all(get_challenge("kits21"), **given).table)


@pytest.mark.slow
def test_a_damaged_truth_stops_the_run_with_its_reason_wherever_it_is_read(demo, workers, tmp_path):
    import shutil

    shutil.copytree(demo / "truth", tmp_path / "truth")
    next((tmp_path / "truth").rglob("aggregated_MAJ_seg.nii.gz")).write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"nii\.gz"):
        measure_all(
            get_challenge("kits21"),
            truth=tmp_path / "truth",
            submissions=find_submissions(demo / "submissions"),
            pool=workers,
        )


@pytest.mark.slow
def test_the_command_line_gives_the_same_bytes_with_workers(demo, tmp_path):
    names = ("measurements.parquet", "failures.csv", "leaderboard.json")
    written = []
    for more in ([], ["--dask", "local:2"]):
        out = tmp_path / f"run{len(more)}"
        places = ["--truth", demo / "truth", "--submissions", demo / "submissions", "--out", out]
        assert CliRunner().invoke(app, ["evaluate", "kits21", *map(str, places), *more]).exit_code == 3
        written.append([(out / name).read_bytes() for name in names])
    assert written[0] == written[1]


@pytest.mark.parametrize("address", ["local:", "local:0", "local:many"])
def test_a_strange_address_is_refused(address):
    with pytest.raises(InputError, match="local:4, or tcp"), dask_pool(address):
        pass


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named():
    with (
        pytest.raises(InputError, match="no Dask scheduler answers at tcp"),
        dask_pool("tcp://127.0.0.1:9", timeout_seconds=1),
    ):
        pass


def test_errors_travel_between_processes():
    error = InputError("this is wrong", path="a/b", advice="Do that")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

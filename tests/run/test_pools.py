"""Cases measured in threads, and by the workers of a Dask cluster: the same bytes, also when a worker is killed."""

import os
import pickle
import shutil
import signal
import threading
import time

import pytest
from typer.testing import CliRunner
from waiting_kits21 import WaitingKiTS21

from podium.challenges import get_challenge
from podium.cli import app
from podium.model import InputError
from podium.run import Parts, Threads, dask_pool, find_submissions, measure_all

pytest.importorskip("distributed", reason="Dask is not installed")


def test_threads_stop_at_the_first_error_and_leave_the_rest_undone():
    begun = []

    def work(number):
        begun.append(number)
        time.sleep(0.005)
        return 1 // (2 - number)

    with pytest.raises(ZeroDivisionError):
        list(Threads(1).done(work, range(1000)))
    assert len(begun) < 1000
    assert sorted(Threads(3).done(lambda number: number + 1, range(5))) == [1, 2, 3, 4, 5]


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
def test_a_damaged_truth_is_the_same_fault_wherever_it_is_read(demo, workers, tmp_path):
    """It costs nobody anything, and the run goes on; only the board is withheld."""
    shutil.copytree(demo / "truth", tmp_path / "truth")
    (damaged,) = (tmp_path / "truth" / "case_00003").glob("aggregated_MAJ_seg.nii.gz")
    damaged.write_bytes(b"nothing")
    given = {"truth": tmp_path / "truth", "submissions": find_submissions(demo / "submissions")}
    evaluations = [measure_all(get_challenge("kits21"), **given, pool=pool) for pool in (workers, None)]
    for evaluation in evaluations:
        ((name, case, what),) = evaluation.faults
        assert (name, case) == ("", "case_00003")
        assert what.startswith("the truth cannot be used: ")
        assert damaged.name in what
        assert set(evaluation.table["case"]) == {f"case_{number:05}" for number in range(8) if number != 3}
    assert evaluations[0].table.equals(evaluations[1].table)
    assert evaluations[0].faults == evaluations[1].faults


@pytest.mark.slow
def test_what_a_worker_raises_is_raised_here(workers):
    assert sorted(workers.done(int, ["1", "2"])) == [1, 2]
    with pytest.raises(ValueError, match="invalid literal"):
        list(workers.done(int, ["1", "x"]))


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

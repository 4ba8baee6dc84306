"""Real commands that take more than they may: memory, processes, output and disks of their own."""

import dataclasses
import os
import signal
import subprocess

import pytest
from programs import PYTHON, SMALL, behind_walls, everywhere

from podium.algorithms.cgroups import ControlGroup
from podium.algorithms.processes import descendants
from podium.algorithms.specs import Ending


@everywhere
def test_one_that_allocates_too_much(stage):
    end = stage.run(*PYTHON, "import time; x = bytearray(b'x') * (300 << 20); time.sleep(60)")
    assert (end.ending, end.reason) == (Ending.OUT_OF_MEMORY, "more than 96 MiB of memory")


@everywhere
def test_many_that_allocate_too_much_together(stage):
    code = "import os, time\nfor _ in range(4): os.fork() or (bytearray(b'x') * (40 << 20), time.sleep(60))\n"
    code += "time.sleep(60)"
    assert stage.run(*PYTHON, code).ending is Ending.OUT_OF_MEMORY


@everywhere
def test_memory_that_processes_share_counts_once(stage):
    code = "import os, time; x = bytearray(b'x') * (40 << 20)\n"
    code += "for _ in range(4): os.fork() or (time.sleep(0.4), os._exit(0))\ntime.sleep(0.5)"
    assert stage.run(*PYTHON, code).ending is Ending.ANSWERED


@everywhere
def test_files_in_memory_count(stage):
    code = "import os, time\nf = os.memfd_create('x')\nwhile True: os.write(f, bytes(1 << 20)), time.sleep(0.002)"
    assert stage.run(*PYTHON, code, allowance=dataclasses.replace(SMALL, output_bytes=2**30)).ending is (
        Ending.OUT_OF_MEMORY
    )


@everywhere
def test_one_that_forks_without_end(stage):
    with_kernel = ControlGroup.made(SMALL)
    if with_kernel is not None:
        with_kernel.remove()
    # Where only we look after it, its end is in sight, for the sake of the machine.
    bomb = (
        "bomb() { bomb | bomb & }; bomb; sleep 60" if with_kernel else "for i in $(seq 500); do sleep 60 & done; wait"
    )
    end = stage.run("sh", "-c", bomb)
    assert (end.ending, end.reason) == (Ending.TOO_MANY_PROCESSES, "more than 24 processes and threads at once")


def test_no_more_processes_are_looked_for_than_matter():
    with subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 300 & done; echo; wait"],
                          stdout=subprocess.PIPE, start_new_session=True) as process:  # fmt: skip
        process.stdout.readline()
        assert len(descendants(process.pid)) == 9
        assert len(descendants(process.pid, most=3)) == 4
        os.killpg(process.pid, signal.SIGKILL)


@everywhere
def test_one_with_threads_without_end(stage):
    code = "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()"
    assert stage.run(*PYTHON, code).ending is Ending.TOO_MANY_PROCESSES


@everywhere
def test_one_that_leaves_a_daemon(stage):
    end = stage.run("sh", "-c", "(setsid sh -c 'trap \"\" TERM; sleep 300' >/dev/null 2>&1 &) ; true")
    assert end.ending is Ending.ANSWERED


@everywhere
def test_one_that_leaves_a_daemon_without_a_trace(stage):
    code = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sleep", ["sleep", "300.0625"], {})
    os._exit(0)
os.wait()
"""
    assert stage.run(*PYTHON, code).ending is Ending.ANSWERED
    assert "300.0625" not in subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout


@everywhere
def test_one_that_fills_the_output(stage):
    end = stage.run("sh", "-c", "i=0; while true; do i=$((i+1)); head -c 1000000 /dev/zero >{output}/$i; done")
    assert (end.ending, end.reason) == (Ending.TOO_MUCH_OUTPUT, "more than 4 MiB of output")


@everywhere
def test_one_file_that_is_too_large(stage):
    end = stage.run("sh", "-c", "head -c 100000000 /dev/zero >{output}/file; exit 0")
    assert end.ending is Ending.TOO_MUCH_OUTPUT
    assert (stage.output / "file").stat().st_size <= SMALL.largest_file_bytes + 512


@everywhere
def test_a_file_of_holes_counts_with_its_size(stage):
    assert stage.run("sh", "-c", "truncate -s 4194305 {output}/file; true").ending is Ending.TOO_MUCH_OUTPUT


@everywhere
def test_many_empty_files_count(stage):
    code = "import sys, itertools\nfor i in range(1100): open(f'{sys.argv[1]}/{i}', 'w')"
    allowance = dataclasses.replace(SMALL, output_bytes=2**19)
    assert stage.run(*PYTHON, code, "{output}", allowance=allowance).ending is Ending.TOO_MUCH_OUTPUT


@everywhere
def test_files_that_lost_their_name_count(stage):
    code = """
import os, sys, time
files = []
for i in range(40):
    path = f"{sys.argv[1]}/{i}"
    files.append(open(path, "wb"))
    os.unlink(path)
    files[-1].write(bytes(1 << 20))
    files[-1].flush()
time.sleep(60)
"""
    assert stage.run(*PYTHON, code, "{output}").ending is Ending.TOO_MUCH_OUTPUT


@everywhere
def test_folders_that_cannot_be_read_are_looked_into(stage):
    end = stage.run("sh", "-c", "cd {output}; mkdir a; chmod 300 a; head -c 4000000 /dev/zero >a/x; "
                    "head -c 4000000 /dev/zero >a/y; sleep 60")  # fmt: skip
    assert end.ending is Ending.TOO_MUCH_OUTPUT


@everywhere
def test_folders_within_folders_without_end(stage):
    code = "import os, sys; os.chdir(sys.argv[1])\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    end = stage.run(*PYTHON, code, "{output}")
    assert (end.ending, end.reason) == (Ending.TOO_MUCH_OUTPUT, "more than 64 folders within one another")
    subprocess.run(["rm", "-rf", stage.output / "d"], check=True)


@behind_walls
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_one_that_fills_its_own_disk(stage, folder):
    end = stage.run("sh", "-c", f"head -c 500000000 /dev/zero >{folder}/x; ls -l {folder}")
    assert end.ending is Ending.ANSWERED  # it was told that the disk is full
    assert "No space left" in stage.said()
    assert " 50331648 " in stage.said()


@behind_walls
def test_one_that_fills_both_of_its_own_disks(stage):
    fill = "head -c 500000000 /dev/zero >/tmp/x; head -c 500000000 /dev/zero >/dev/shm/x; sleep 60"
    end = stage.run("sh", "-c", fill)
    assert end.ending is Ending.OUT_OF_MEMORY

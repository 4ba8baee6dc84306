"""Real commands: each is run, reported and ended, whatever it does, and leaves nothing behind."""

import dataclasses
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from programs import MEBIBYTE, PLACES, PYTHON, SMALL, Stage, behind_walls, everywhere

from podium.algorithms.commands import Unconfined
from podium.algorithms.processes import marked
from podium.algorithms.recording import LARGEST_LOG
from podium.algorithms.specs import Algorithm, Bind, Ending
from podium.algorithms.sweeping import sweep_output
from podium.model import InputError


@everywhere
def test_one_that_answers(stage):
    end = stage.run("sh", "-c", "cat {input}/case.txt >{output}/answer.txt; echo well; echo ill >&2")
    assert (end.ending, end.reason) == (Ending.ANSWERED, "")
    assert (stage.output / "answer.txt").read_text() == "forty-two\n"
    assert stage.said() == "well\nill\n"


@everywhere
def test_one_that_talks(stage):
    program = stage.start("sh", "-c", 'read line; echo "heard $line"; echo log >&2; read line', pipes=True)
    program.stdin.write(b"this\n")
    program.stdin.flush()
    assert program.stdout.readline() == b"heard this\n"
    assert program.broken() is None
    program.stdin.close()
    assert program.wait(60).reason == "exit code 1"  # of read, at the end
    assert stage.said() == "log\n"


@everywhere
def test_what_it_took_is_told(stage):
    code = "import time; x = bytearray(b'x') * (32 << 20); t = time.process_time()\n"
    code += "while time.process_time() < t + 0.3: pass"
    before = time.perf_counter()
    program = stage.start(*PYTHON, code)
    end = program.wait(60)
    assert end.ending is Ending.ANSWERED
    assert end.processor_seconds >= 0.2  # looked at now and then, where the kernel does not count
    assert 32 * MEBIBYTE <= end.peak_bytes <= SMALL.memory_bytes
    assert before < program.started < program.started + 0.3 <= end.ended <= time.perf_counter()


@everywhere
def test_one_that_exits_3(stage):
    end = stage.run("sh", "-c", "echo last words >&2; exit 3")
    assert (end.ending, end.reason) == (Ending.CRASHED, "exit code 3")
    assert stage.said() == "last words\n"


@everywhere
def test_one_that_crashes(stage):
    end = stage.run("sh", "-c", "kill -SEGV $$")
    assert (end.ending, end.reason) == (Ending.CRASHED, "killed by SIGSEGV")


@everywhere
def test_one_that_sleeps_past_its_limit(stage):
    end = stage.run("sleep", "300", seconds=0.3)
    assert (end.ending, end.reason) == (Ending.TOO_SLOW, "more than 0.3 s")


@everywhere
def test_one_that_ignores_the_request_to_end(stage):
    program = stage.start("sh", "-c", "trap '' TERM INT HUP; while true; do sleep 1; done")
    assert program.wait(0.2).ending is Ending.TOO_SLOW
    assert program.broken().ending is Ending.TOO_SLOW


@everywhere
def test_one_that_is_stopped(stage):
    program = stage.start("sleep", "300", pipes=True)
    end = program.stop()
    assert (end.ending, end.reason) == (Ending.ANSWERED, "stopped")
    assert program.stop() == program.wait(1) == program.broken() == end


@behind_walls
def test_what_cannot_be_ended_is_told(stage, monkeypatch):
    """A fault of ours is not waited for without end."""
    program = stage.start("sleep", "300")
    end = program._end
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(program, "_end", lambda: (end(), 1 / 0))
    assert program.stop().reason == "it could not be ended"
    program._leave()


@everywhere
def test_one_that_says_without_end(stage):
    code = "import sys\nfor i in range(3000): print(i, 'x' * 1000, file=(sys.stdout, sys.stderr)[i % 2], flush=True)\n"
    code += "print('the end')"
    assert stage.run(*PYTHON, code).ending is Ending.ANSWERED
    assert stage.log.stat().st_size <= LARGEST_LOG
    lines = stage.said().splitlines()
    assert (lines[0].split()[0], lines[-1], lines[-2].split()[0]) == ("0", "the end", "2999")
    assert sum("bytes left out" in line for line in lines) == 1


@everywhere
def test_what_it_leaves_in_its_output_is_made_safe(stage):
    code = """
cd {output}; echo plain >plain; ln -s /etc/passwd link; ln -s . loop; ln plain hard; mkfifo pipe
echo x >rights; chmod 6777 rights
mkdir closed; echo x >closed/x; chmod 000 closed/x closed; mkdir sticky; chmod 1333 sticky; echo x >"new
line"
"""
    assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    assert sweep_output(stage.output) == [
        "hard is a file with further names (a hard link)",
        "link is a link to /etc/passwd",
        "loop is a link to .",
        "pipe is a pipe",
    ]
    assert sweep_output(stage.output) == []
    names = {str(path.relative_to(stage.output)): path.stat() for path in stage.output.rglob("*")}
    assert set(names) == {"plain", "rights", "closed", "closed/x", "sticky", "new\nline"}
    assert all(
        stat.S_IMODE(state.st_mode) & 0o7400 == 0o400 and state.st_uid == os.getuid() for state in names.values()
    )


@everywhere
def test_what_it_leaves_in_its_home_is_removed(stage):
    code = "import os; os.chdir(os.environ['HOME']); open('x', 'w').close()\n"
    code += "for _ in range(1100): os.mkdir('d'); os.chdir('d')\n"
    code += "os.chmod('.', 0); os.chdir(os.environ['HOME']); os.mkdir('closed'); os.chmod('closed', 0)"
    assert stage.run(*PYTHON, code).ending is Ending.ANSWERED


@everywhere
def test_processors_are_limited(stage):
    allowance = dataclasses.replace(SMALL, processors=1)
    before = os.sched_getaffinity(0)
    code = "import os; print(len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    stage.run(*PYTHON, code, allowance=allowance)
    assert stage.said() == "1 1\n"
    assert os.sched_getaffinity(0) == before


@everywhere
def test_its_own_folder_and_what_it_may_read(stage):
    home, model = stage.folder / "home", stage.folder / "model"
    for folder in (home, model):
        folder.mkdir()
        (folder / "file").write_text(folder.name + "\n")
    (home / "go.sh").write_text(f"#!/bin/sh\npwd; cat file {model}/file; echo $MINE; echo x >file\n")
    (home / "go.sh").chmod(0o755)
    stage.run("./go.sh", folder=home, reads=(model,), environment={"MINE": "ours", "PODIUM_TEST": stage.marker})
    assert stage.said().splitlines()[:4] == [str(home), "home", "model", "ours"]
    if stage.confinement.isolated:
        assert "Read-only" in stage.said()


@everywhere
def test_a_program_is_found_by_whatever_way_its_path_takes(stage):
    for folder in ("home", "model"):
        (stage.folder / folder).mkdir()
    (stage.folder / "model" / "go.sh").write_text("#!/bin/sh\necho gone\n")
    (stage.folder / "model" / "go.sh").chmod(0o755)
    stage.run(f"{stage.folder}/home/../model/go.sh")
    assert stage.said() == "gone\n"


@everywhere
def test_what_python_printed_is_in_the_log_even_if_it_was_killed(stage):
    stage.run(sys.executable, "-c", "import os; print('said'); os.kill(os.getpid(), 9)")
    assert stage.said() == "said\n"


def test_packages_of_its_environment_are_there(stage):
    allowance = dataclasses.replace(SMALL, memory_bytes=2**30, processes=64)
    end = stage.run(sys.executable, "-c", "import numpy; print(numpy.arange(3).sum())", allowance=allowance)
    assert (end.ending, stage.said()) == (Ending.ANSWERED, "3\n")


@pytest.mark.parametrize("folder", ["truth", "truth/inside", "."])
@pytest.mark.parametrize("member", ["folder", "reads"])
def test_a_folder_that_shows_the_truth_is_refused(stage, folder, member):
    (stage.truth / "inside").mkdir()
    place = stage.folder / folder
    with pytest.raises(InputError, match=r"must not see .*truth.*Put the algorithm into a folder of its own"):
        stage.run("true", **{member: place if member == "folder" else (place,)})


def test_a_link_to_the_truth_is_refused(stage):
    (stage.folder / "home").symlink_to(stage.truth)
    with pytest.raises(InputError, match="must not see"):
        stage.run("true", folder=stage.folder / "home")


def test_a_folder_that_is_not_there_is_refused(stage):
    with pytest.raises(InputError, match="no such folder"):
        stage.run("true", folder=stage.folder / "home")


@everywhere
def test_a_program_that_is_not_there_is_refused(stage):
    with pytest.raises(InputError, match="there is no program 'infer-this'"):
        stage.run("infer-this")


def test_walls_that_cannot_be_built_are_told(stage):
    binds = [Bind(stage.folder / "gone", "/gone")]
    with pytest.raises(InputError, match=r"could not be started \(bwrap: .*gone"):
        stage.confinement.start(
            Algorithm("team"), ["true"], binds=binds, output=stage.output, allowance=SMALL, log=stage.log
        )


def test_without_walls_it_is_said_once(tmp_path):
    said = []
    stage = Stage(tmp_path, Unconfined(say=said.append, reason="bubblewrap is not installed"))
    stage.run("true")
    stage.run("true")
    assert said == [
        "bubblewrap is not installed: nothing keeps the algorithm from the network and from files, the truth among them"
    ]


@everywhere
def test_nothing_is_left_where_we_are_interrupted_while_it_starts(stage, monkeypatch):
    def interrupt(*_):
        time.sleep(0.2)
        raise KeyboardInterrupt

    monkeypatch.setattr("podium.algorithms.launching._sign", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stage.start("sh", "-c", "(setsid sleep 300 &); sleep 300")


@everywhere
def test_it_ends_when_we_are_interrupted(stage):
    program = stage.start("sleep", "300")
    main = threading.get_ident()
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        program.wait(60)


@pytest.mark.parametrize("place", PLACES)
def test_it_ends_when_we_are_killed(tmp_path, place):
    """Whoever looks after it may be killed without notice."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = f"""
import sys, tempfile, time
tempfile.tempdir = {str(temporary)!r}
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from pathlib import Path
from programs import Stage
from podium.algorithms import commands
from podium.algorithms.cgroups import ControlGroup
if {place.endswith("group")}: ControlGroup.made = lambda _: None
stage = Stage(Path({str(tmp_path)!r}), commands.{"Bubblewrapped" if place.startswith("walls") else "Unconfined"}())
stage.start("sh", "-c", "(setsid sleep 300 &); sleep 300")
print(stage.marker, flush=True)
time.sleep(300)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as podium:
        marker = f"PODIUM_TEST={podium.stdout.readline().strip()}"
        assert marked(marker)
        podium.kill()
    for _ in range(500):
        if not marked(marker) and not any(temporary.iterdir()):
            break
        time.sleep(0.02)
    assert marked(marker) == []
    assert not any(temporary.iterdir())

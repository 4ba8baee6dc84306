"""Real commands, most of them made to do harm: each is contained, reported, and leaves nothing behind."""

import dataclasses
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from programs import MEBIBYTE, PYTHON, SMALL, Stage, nothing_left

from podium.algorithms.cgroups import ControlGroup
from podium.algorithms.commands import Bubblewrapped, Unconfined
from podium.algorithms.processes import descendants, marked
from podium.algorithms.recording import LARGEST_LOG
from podium.algorithms.specs import Algorithm, Bind, Ending
from podium.algorithms.sweeping import sweep_output
from podium.algorithms.walls import why_no_walls
from podium.model import InputError

NO_WALLS = why_no_walls()
walled = pytest.mark.skipif(bool(NO_WALLS), reason=NO_WALLS or "there are walls")
# With walls and without; kept within limits by the kernel, or by our own looking where it may not be asked.
PLACES = [
    pytest.param("walls", marks=walled),
    pytest.param("walls, no group", marks=walled),
    "none",
    "none, no group",
]
WALLS = PLACES[:2]


@pytest.fixture
def stage(request, tmp_path, monkeypatch):
    place = getattr(request, "param", "walls")
    if place == "walls" and NO_WALLS:
        pytest.skip(NO_WALLS)
    if place.endswith("no group"):
        monkeypatch.setattr(ControlGroup, "made", lambda _: None)
    hidden = [tmp_path / "truth"]
    stage = Stage(tmp_path, Bubblewrapped(hidden=hidden) if place.startswith("walls") else Unconfined())
    with nothing_left(stage):
        yield stage


everywhere = pytest.mark.parametrize("stage", PLACES, indirect=True)
behind_walls = pytest.mark.parametrize("stage", WALLS, indirect=True)


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


@behind_walls
def test_nothing_else_can_be_written(stage):
    tries = "for place in / /usr /etc /dev /input /run /var /proc /proc/sys/vm /home; do\n"
    tries += "touch $place/x && echo wrote $place; done; mkdir /new && echo wrote new; true"
    assert stage.run("sh", "-c", tries).ending is Ending.ANSWERED
    assert "wrote" not in stage.said()


@behind_walls
def test_the_kernel_keeps_its_settings(stage):
    setting = Path("/proc/sys/vm/swappiness")
    assert stage.run("sh", "-c", f"cat {setting} >{setting}").ending is Ending.CRASHED
    assert "Read-only" in stage.said()


@behind_walls
def test_it_is_nobody_and_cannot_become_anybody(stage):
    code = (
        "id -u; id -g; hostname; grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status;"
        "exec 2>/dev/null;"
        "unshare -Ur true || echo no; mount -t tmpfs none /tmp || echo no; mknod /tmp/d c 1 1 || echo no"
    )
    stage.run("sh", "-c", code)
    assert stage.said().splitlines() == [
        "65534",
        "65534",
        "podium",
        "CapPrm:\t" + 16 * "0",
        "CapEff:\t" + 16 * "0",
        "NoNewPrivs:\t1",
        *3 * ["no"],
    ]


@behind_walls
def test_one_that_tries_the_network(stage):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as hidden:
        hidden.bind("\0podium-" + stage.marker)
        hidden.listen()
        code = """
import socket, sys
for family, address in ((2, ("127.0.0.1", int(sys.argv[1]))), (2, ("192.0.2.1", 80)), (1, "\\0podium-" + sys.argv[2])):
    try:
        socket.socket(family).connect(address)
    except OSError as error:
        print("no", flush=True)
print(sorted(name for _, name in socket.if_nameindex()))
"""
        assert stage.run(*PYTHON, code, str(server.getsockname()[1]), stage.marker).ending is Ending.ANSWERED
    assert stage.said() == "no\nno\nno\n['lo']\n"


@behind_walls
def test_one_that_looks_for_the_truth(stage):
    secret = stage.truth / "secret.txt"
    code = f"""
cat {secret}; ls {stage.truth}; ls {stage.folder}; ls {Path.home()} /root /home /mnt /work
for process in /proc/[0-9]*; do
    cat $process/root{secret} $process/cwd/{secret} $process/cwd/truth/secret.txt
done
cat /proc/self/fd/*/truth/secret.txt
ln -s {secret} /output/link; cat /output/link
ln -s {stage.truth} /output/folder; cat /output/folder/secret.txt
ln {secret} /output/hard; cat /output/hard; cat /output/../truth/secret.txt /input/../truth/secret.txt
find / -name secret.txt -xdev
true
"""
    assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    assert "the truth" not in stage.said()
    assert sweep_output(stage.output) == [f"folder is a link to {stage.truth}", f"link is a link to {secret}"]
    assert not any(stage.output.iterdir())
    assert secret.read_text() == "the truth"


@behind_walls
def test_no_process_and_no_variable_of_ours_is_seen(stage, monkeypatch):
    monkeypatch.setenv("OUR_SECRET", "variable")
    code = "ls -d /proc/[0-9]* | wc -l; env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'\n"
    code += "ls /proc/self/fd | wc -l"
    stage.run("sh", "-c", code)
    assert int(stage.said().split()[0]) < 8
    assert "variable" not in stage.said()
    assert int(stage.said().split()[-1]) == 4  # 0, 1, 2 and the folder that is listed


@behind_walls
def test_one_that_changes_its_inputs(stage):
    code = "echo changed >{input}/case.txt; rm {input}/case.txt; chmod 777 {input}/case.txt; touch {input}/new; true"
    assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    assert (stage.input / "case.txt").read_text() == "forty-two\n"
    assert stat.S_IMODE((stage.input / "case.txt").stat().st_mode) == 0o644
    assert len(list(stage.input.iterdir())) == 1


@behind_walls
def test_an_output_folder_among_the_inputs(stage):
    (stage.input / "answers").mkdir()
    program = stage.confinement.start(
        Algorithm("team"),
        ["sh", "-c", "echo x >/input/answers/x; echo x >/input/x; ls /input"],
        binds=[Bind(stage.output, "/input/answers", writable=True), Bind(stage.input, "/input")],
        output=stage.output,
        allowance=SMALL,
        log=stage.log,
    )
    assert program.wait(60).ending is Ending.ANSWERED
    assert (stage.output / "x").read_text() == "x\n"
    assert "Read-only" in stage.said()
    assert stage.said().endswith("answers\ncase.txt\n")


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

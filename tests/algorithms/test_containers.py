"""Real containers, most of them made to do harm: each is contained, reported, and leaves nothing behind."""

import dataclasses
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import MEBIBYTE, SMALL, Stage, nothing_left

from podium.algorithms import containers
from podium.algorithms.choosing import confinement_for
from podium.algorithms.confinement import UnusableError
from podium.algorithms.containers import Containers
from podium.algorithms.processes import marked
from podium.algorithms.recording import LARGEST_LOG
from podium.algorithms.specs import Algorithm, Bind, Ending
from podium.algorithms.sweeping import sweep_output
from podium.model import InputError

BUSYBOX = shutil.which("busybox")
PODMAN = shutil.which("podman")
IMAGE = f"localhost/podium-test-{os.getpid()}"


def podman(*words, check=True, **options):
    return subprocess.run([PODMAN, *words], capture_output=True, text=True, check=check, **options).stdout


@pytest.fixture(scope="module")
def root_folder(tmp_path_factory):
    if not (PODMAN and BUSYBOX) or "statically linked" not in _linkage(BUSYBOX):
        pytest.skip("needs podman and a static busybox (Debian: podman runc busybox-static)")
    folder = tmp_path_factory.mktemp("root")
    (folder / "bin").mkdir()
    shutil.copy(BUSYBOX, folder / "bin" / "busybox")
    for name in subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            (folder / "bin" / name).symlink_to("busybox")
    return folder


def _linkage(program):
    return "statically linked" if b".interp" not in Path(program).read_bytes() else "dynamic"


def import_image(folder, name):
    with subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE) as packed:
        podman("import", "--change", 'CMD ["sleep", "9"]', "-", name, stdin=packed.stdout)


def save_image(folder, name, file):
    """Write an image as participants upload it; it is not among those that the engine knows."""
    import_image(folder, name)
    podman("save", "--output", str(file), name)
    podman("rmi", name)
    subprocess.run(["gzip", "-1", file], check=True)
    return file.with_name(file.name + ".gz")


@pytest.fixture(scope="module")
def archive(root_folder, tmp_path_factory):
    return save_image(root_folder, f"{IMAGE}:1", tmp_path_factory.mktemp("image") / "algorithm.tar")


@pytest.fixture(scope="module")
def engine(archive):
    """Return an engine that has loaded the image; all of it is gone at the end."""
    images = known_images()
    engine = confinement_for(Algorithm("team", image=str(archive)), engine="podman")
    yield engine
    engine.close()
    assert known_images() == images


class Image(Stage):
    """Where an image is tried."""

    def start(self, *words, **options):
        """Start a container."""
        return super().start(*words, image=str(self.archive), **options)


@pytest.fixture
def stage(engine, archive, tmp_path):
    stage = Image(tmp_path, engine)
    stage.archive = archive
    with nothing_left(stage):
        yield stage
    owner = f"-{os.getpid()}-"
    assert owner not in podman("ps", "--all", "--format", "{{.Names}}")
    assert (stage.output.stat().st_uid, stat.S_IMODE(stage.output.stat().st_mode)) == (os.getuid(), 0o700)


heavy = pytest.mark.heavy


@heavy
def test_one_that_answers(stage):
    before = time.perf_counter()
    program = stage.start("sh", "-c", "sleep 1; cat {input}/case.txt >{output}/answer.txt; echo well; echo ill >&2")
    end = program.wait(60)
    assert (end.ending, end.reason) == (Ending.ANSWERED, "")
    assert (stage.output / "answer.txt").read_text() == "forty-two\n"
    assert (stage.output / "answer.txt").stat().st_uid == os.getuid()
    assert sorted(stage.said().split()) == ["ill", "well"]
    assert before < program.started < end.ended - 0.9
    assert end.ended <= time.perf_counter()


@heavy
def test_one_that_talks(stage):
    program = stage.start("sh", "-c", 'read line; echo "heard $line"; echo log >&2; read line', pipes=True)
    program.stdin.write(b"this\n")
    program.stdin.flush()
    assert program.stdout.readline() == b"heard this\n"
    program.stdin.close()
    assert program.wait(60).reason == "exit code 1"
    assert stage.said() == "log\n"


@heavy
def test_what_it_took_is_told(stage):
    code = "x=$(head -c 20000000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; sleep 0.5"
    end = stage.run("sh", "-c", code)
    assert end.ending is Ending.ANSWERED
    assert end.processor_seconds > 0.05
    assert 20_000_000 <= end.peak_bytes <= SMALL.memory_bytes


@heavy
@pytest.mark.parametrize(
    ("code", "ending", "reason"),
    [
        ("exit 3", Ending.CRASHED, "exit code 3"),
        ("sh -c 'kill -SEGV $$'; exit $?", Ending.CRASHED, "killed by SIGSEGV"),
        ("no-such-program", Ending.CRASHED, "exit code 127"),
        ("sleep 300", Ending.TOO_SLOW, "more than 2 s"),
        ("trap '' TERM INT HUP; while true; do sleep 1; done", Ending.TOO_SLOW, "more than 2 s"),
        ("(setsid sh -c 'trap \"\" TERM; sleep 300' &); true", Ending.ANSWERED, ""),
        ("dd if=/dev/zero of=/dev/null bs=300M count=1", Ending.OUT_OF_MEMORY, "more than 96 MiB of memory"),
        (
            "bomb() { bomb | bomb & }; bomb; sleep 60",
            Ending.TOO_MANY_PROCESSES,
            "more than 24 processes and threads at once",
        ),
        (
            "i=0; while true; do i=$((i+1)); head -c 1000000 /dev/zero >/output/$i; done",
            Ending.TOO_MUCH_OUTPUT,
            "more than 4 MiB of output",
        ),
        ("head -c 9000000 /dev/zero >/output/x; true", Ending.TOO_MUCH_OUTPUT, "more than 4 MiB of output"),
    ],
)
def test_harm_is_contained_and_told(stage, code, ending, reason):
    seconds = 2 if ending is Ending.TOO_SLOW else 60
    end = stage.run("sh", "-c", code, seconds=seconds)
    assert (end.ending, end.reason) == (ending, reason)


@heavy
def test_one_that_is_stopped(stage):
    program = stage.start("sleep", "300", pipes=True)
    assert program.broken() is None
    assert program.stop() == program.broken()


@heavy
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_one_that_fills_its_own_disk(stage, folder):
    end = stage.run("sh", "-c", f"head -c 500000000 /dev/zero >{folder}/x; ls -l {folder}")
    assert end.ending is Ending.ANSWERED
    assert " 50331648 " in stage.said()


@heavy
def test_it_is_alone(stage):
    """No network, no truth, no rights, nothing to write, no process or variable of ours."""
    secret = stage.truth / "secret.txt"
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"""
id -u; id -g; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; ls -d /proc/[0-9]* | wc -l; ls /sys/class/net
exec 2>/dev/null
for place in / /bin /etc /dev /input /run /var /var/tmp /proc /sys; do touch $place/x && echo wrote $place; done
echo changed >/input/case.txt && echo changed
nc 127.0.0.1 {server.getsockname()[1]} </dev/null && echo reached
wget -T 1 -q -O - http://192.0.2.1 && echo reached
cat {secret} /proc/*/root{secret} /proc/*/cwd/../truth/secret.txt /output/../truth/secret.txt
ln -s {secret} /output/link; cat /output/link; ln {secret} /output/hard
mknod /output/device c 1 3; mkfifo /output/pipe
mount -t tmpfs none /tmp && echo mounted
echo x >/output/rights; chmod 6777 /output/rights
mkdir /output/closed; echo x >/output/closed/x; chmod 0 /output/closed
env; find / -xdev -name secret.txt; true
"""
        assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    lines = stage.said().splitlines()
    assert lines[:5] == ["65534", "65534", "NoNewPrivs:\t1", "CapEff:\t" + 16 * "0", "CapBnd:\t" + 16 * "0"] or lines[
        :5
    ] == ["65534", "65534", "CapEff:\t" + 16 * "0", "CapBnd:\t" + 16 * "0", "NoNewPrivs:\t1"]
    assert int(lines[5]) < 8
    assert lines[6] == "lo"
    assert not {"wrote", "changed", "reached", "mounted"} & set(re.findall(r"\w+", " ".join(lines[7:])))
    assert "the truth" not in stage.said()
    assert (stage.input / "case.txt").read_text() == "forty-two\n"
    assert sweep_output(stage.output) == [f"link is a link to {secret}", "pipe is a pipe"]
    assert {path.name for path in stage.output.rglob("*")} == {"rights", "closed", "x"}
    assert all(not path.stat().st_mode & 0o7000 for path in stage.output.rglob("*"))


@heavy
def test_one_that_says_without_end(stage):
    code = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); echo $i and so on and so on and so on and so on and so on; done"
    assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    assert stage.log.stat().st_size <= LARGEST_LOG
    assert stage.said().splitlines()[-1].startswith("30000 and")


@heavy
def test_the_command_of_the_image_is_run(stage):
    end = stage.run(seconds=1)
    assert end.ending is Ending.TOO_SLOW


@heavy
def test_what_it_may_read_and_its_variables(stage):
    model = stage.folder / "model"
    model.mkdir()
    (model / "weights, and: more").write_text("model")
    stage.run("sh", "-c", f"cat {model}/*; echo; echo $MINE $OMP_NUM_THREADS", reads=(model,),
              environment={"MINE": "x"},              allowance=dataclasses.replace(SMALL, processors=1.5))  # fmt: skip
    assert stage.said() == "model\nx 2\n"


@heavy
def test_a_name_that_the_image_takes_is_given_back(root_folder, tmp_path):
    """A participant's file may hold an image of the same name as one of the organiser's."""
    name = f"{IMAGE}:ours"
    (root_folder / "theirs").write_text("theirs")
    file = save_image(root_folder, name, tmp_path / "theirs.tar")
    (root_folder / "theirs").unlink()
    (root_folder / "ours").write_text("ours")
    import_image(root_folder, name)
    (root_folder / "ours").unlink()
    ours, images = podman("images", "--no-trunc", "--quiet", name), known_images()
    try:
        engine = Containers(PODMAN)
        engine.prepare(Algorithm("team", image=str(file)))
        assert podman("images", "--no-trunc", "--quiet", name) != ours
        engine.close()
        assert podman("images", "--no-trunc", "--quiet", name) == ours
        assert known_images() == images
    finally:
        podman("rmi", name)


@heavy
def test_an_image_that_was_there_stays(root_folder, tmp_path):
    file = save_image(root_folder, f"{IMAGE}:there", tmp_path / "there.tar")
    podman("load", "--input", str(subprocess.run(["gunzip", "-k", file], check=True) and tmp_path / "there.tar"))
    images = known_images()
    try:
        engine = Containers(PODMAN)
        engine.prepare(Algorithm("team", image=str(file)))
        engine.prepare(Algorithm("team", image=f"{IMAGE}:there"))
        engine.close()
        assert known_images() == images
    finally:
        podman("rmi", f"{IMAGE}:there")


def known_images():
    """Return those that these tests made, of all that there are."""
    lines = podman("images", "--all", "--no-trunc", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}").splitlines()
    return {line for line in lines if IMAGE in line or "<none>" in line}


@heavy
def test_it_ends_when_we_are_killed(archive, tmp_path):
    """Nothing runs on when a Podium was killed; what it could not remove, the next one does."""
    code = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from pathlib import Path
from programs import Stage
from podium.algorithms.containers import Containers
stage = Stage(Path({str(tmp_path)!r}), Containers({PODMAN!r}))
stage.start("sleep", "300", image={str(archive)!r})
print(stage.marker, flush=True)
time.sleep(300)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        marker = f"PODIUM_TEST={other.stdout.readline().strip()}"
        assert marked(marker)
        other.kill()
    limit = time.monotonic() + 60
    while marked(marker) or f"-{other.pid}-" in podman("ps", "--all", "--format", "{{.Names}}"):
        assert time.monotonic() < limit, "it runs on"
        time.sleep(0.1)
    left = f"{containers._space()}-{other.pid}-1-0"
    podman("create", "--name", left, f"{IMAGE}:1")
    engine = Containers(PODMAN)
    engine.prepare(Algorithm("team", image=str(archive)))
    engine.close()
    assert left not in podman("ps", "--all", "--format", "{{.Names}}")
    podman("rmi", f"{IMAGE}:1")


@heavy
def test_images_that_cannot_be_used_are_refused(engine, tmp_path):
    with pytest.raises(InputError, match=r"no image 'localhost/none:1'.*podman pull"):
        engine.prepare(Algorithm("team", image="localhost/none:1"))
    (tmp_path / "broken.tar").write_bytes(b"no archive")
    with pytest.raises(UnusableError, match=r"broken\.tar: this is no whole image \(podman load: .*podman save"):
        engine.prepare(Algorithm("team", image=str(tmp_path / "broken.tar")))


@heavy
@pytest.mark.parametrize("entry", ['["/nothing/here"]', '["/"]', "[]"])
def test_an_image_with_nothing_to_start_is_its_own_fault(root_folder, entry):
    name = f"{IMAGE}:nothing"
    with subprocess.Popen(["tar", "-C", root_folder, "-c", "."], stdout=subprocess.PIPE) as packed:
        podman("import", "--change", f"ENTRYPOINT {entry}", "-", name, stdin=packed.stdout)
    engine = Containers(PODMAN)
    try:
        with pytest.raises(UnusableError):
            engine.prepare(Algorithm("team", image=name))
    finally:
        engine.close()
        podman("rmi", name)
    assert f"-{os.getpid()}-" not in podman("ps", "--all", "--format", "{{.Names}}")


@heavy
def test_what_an_image_declares_to_be_written_to_is_no_disk_of_ours(root_folder, tmp_path):
    """It has what lies there in the image, is within its memory, and goes with the container."""
    (root_folder / "model").mkdir()
    (root_folder / "model" / "weights").write_text("42")
    volumes, name = podman("volume", "ls", "--quiet"), f"{IMAGE}:volumes"
    with subprocess.Popen(["tar", "-C", root_folder, "-c", "."], stdout=subprocess.PIPE) as packed:
        changes = (word for folder in ("/model", "/scratch", "/output") for word in ("--change", f"VOLUME {folder}"))
        podman("import", *changes, "-", name, stdin=packed.stdout)
    shutil.rmtree(root_folder / "model")
    stage = Image(tmp_path, Containers(PODMAN))
    stage.archive = name
    try:
        writing = (
            "cp /model/weights {output}; for i in $(seq 9); do dd if=/dev/zero of=/scratch/$i bs=1M count=12; done"
        )
        end = stage.run("sh", "-c", f"{writing}; du -sm /scratch >{{output}}/size", allowance=SMALL)
    finally:
        podman("rmi", name)
    assert end.ending in (Ending.ANSWERED, Ending.OUT_OF_MEMORY)
    assert (stage.output / "weights").read_text() == "42"
    size = stage.output / "size"  # said, it could stand before what dd says: two streams have no order
    assert end.ending is Ending.OUT_OF_MEMORY or int(size.read_text().split()[0]) <= 48, "half of its memory"
    assert podman("volume", "ls", "--quiet") == volumes


FAKE = """#!/bin/sh
printf '%s\\n' "$*" >>{record}
case "$1" in
    create) echo 0123 ;;
    start) echo said; echo ill >&2; exit 3 ;;
    container) echo removed >&2; exit 1 ;;
esac
"""


@pytest.fixture
def fake(tmp_path):
    """Return a program that writes down with which words it is called."""

    def made(name):
        program = tmp_path / name
        program.write_text(FAKE.format(record=tmp_path / "record"))
        program.chmod(0o755)
        return str(program)

    made.calls = lambda: (tmp_path / "record").read_text().splitlines()
    return made


def test_how_docker_is_called(fake, tmp_path):
    engine = Containers(fake("docker"))
    algorithm = Algorithm("team", image="image:1", environment={"A": "b"})
    engine.prepare(algorithm)
    (tmp_path / "out").mkdir()
    program = engine.start(
        algorithm,
        ["infer", "/input"],
        binds=[Bind(tmp_path / 'a,"b', "/input"), Bind(tmp_path / "out", "/output", writable=True)],
        output=tmp_path / "out",
        allowance=dataclasses.replace(SMALL, gpu=True, processors=2),
        log=tmp_path / "log",
    )
    end = program.wait(60)
    assert (end.ending, end.reason) == (Ending.CRASHED, "exit code 3")
    assert sorted((tmp_path / "log").read_text().split()) == ["ill", "said"]
    (create,) = [call for call in fake.calls() if call.startswith("create ")]
    for words in (
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        f"--memory {96 * MEBIBYTE}b --memory-swap {96 * MEBIBYTE}b",
        "--pids-limit 24",
        "--cpus 2",
        "--gpus all",
        "--pull=never",
        "--log-driver none",
        "--env A=b",
        f'--mount type=bind,"source={tmp_path}/a,""b",target=/input,readonly',
        f"--mount type=bind,source={tmp_path}/out,target=/output image:1 infer /input",
    ):
        assert words in create
    user = re.search(r"--user (\d+):(\d+)", create)
    assert user
    assert int(user[1]) > 0
    name = re.search(r"--name (\S+)", create)[1]
    assert (
        fake.calls()[-4:]
        == [
            f"start --attach --interactive {name}",
            f"container inspect {name}",
            f"rm --force --volumes {name}",
            f"container inspect {name}",
        ]
        or f"rm --force --volumes {name}" in fake.calls()
    )


def test_how_podman_must_be_called_is_found_by_trying(tmp_path):
    """Its own choice of a runtime and of who manages groups does not work everywhere."""
    program = tmp_path / "podman"
    program.write_text(
        f"""#!/bin/sh
printf '%s\\n' "$*" >>{tmp_path}/record
case "$*" in
    *inspect*) case "$*" in *image*) exit 0 ;; *) exit 1 ;; esac ;;
    "--runtime runc --cgroup-manager cgroupfs init "*) exit 0 ;;
    *" init "*|"init "*) echo "crun: not here" >&2; exit 126 ;;
esac
"""
    )
    program.chmod(0o755)
    engine = Containers(str(program))
    engine.prepare(Algorithm("team", image="image:1"))
    engine.prepare(Algorithm("team", image="image:1"))
    calls = (tmp_path / "record").read_text().splitlines()
    assert [re.sub(r" podium-.*", "", call) for call in calls if "init " in call] == [
        "init",
        "--cgroup-manager cgroupfs init",
        "--runtime runc --cgroup-manager cgroupfs init",
    ]
    assert sum(" rm --force " in f" {call}" for call in calls) == 3
    program.write_text(program.read_text().replace("cgroupfs init", "none init"))
    with pytest.raises(InputError, match="podman init: crun: not here"):
        Containers(str(program)).prepare(Algorithm("team", image="image:1"))


def test_how_apptainer_is_called(fake, tmp_path, monkeypatch):
    program = fake("apptainer")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "out").mkdir()
    (tmp_path / "algorithm.tar.gz").write_bytes(b"")
    algorithm = Algorithm("team", image=str(tmp_path / "algorithm.tar.gz"), environment={"A": "b"})
    engine = confinement_for(algorithm, engine="apptainer")
    engine.prepare(algorithm)
    started = engine.start(
        algorithm,
        ["--fast"],
        binds=[Bind(tmp_path / "in", "/input"), Bind(tmp_path / "out", "/output", writable=True)],
        output=tmp_path / "out",
        allowance=dataclasses.replace(SMALL, gpu=True),
        log=tmp_path / "log",
    )
    assert started.wait(60).ending is Ending.ANSWERED
    engine.close()
    _, build, run = fake.calls()
    built = re.fullmatch(rf"build (\S+\.sif) docker-archive:{tmp_path}/algorithm\.tar\.gz", build)[1]
    assert run.startswith("run --containall --cleanenv --no-home --net --network none --no-privs ")
    assert run.endswith(f"--nv --bind {tmp_path}/in:/input:ro --bind {tmp_path}/out:/output:rw {built} --fast")
    assert not Path(built).parent.exists()
    assert (tmp_path / "out").stat().st_uid == os.getuid()
    assert program

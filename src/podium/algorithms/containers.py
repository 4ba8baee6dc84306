"""Running a container image with Podman or Docker: no network, nothing to write but its output, nobody's rights."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from podium.algorithms.cgroups import ControlGroup
from podium.algorithms.confinement import Confined, Confinement, Exit, UnusableError
from podium.algorithms.launching import Launch, attached
from podium.algorithms.specs import Algorithm, Allowance, Bind
from podium.algorithms.surroundings import limits_of_threads, printing, refuse_hidden, whole
from podium.algorithms.walls import NOBODY
from podium.algorithms.watching import Watched
from podium.model import InputError
from podium.model.errors import shortened

__all__ = ["Container", "Containers", "give_away", "take_back"]

_numbers = itertools.count()
_END_SECONDS = 20.0
_NOT_YET = "0001-01-01"
_NOTHING_TO_START = ("command that was not found", "OCI permission denied", "no command or entrypoint")  # in an image
_PODMAN_WAYS = ((), ("--cgroup-manager", "cgroupfs"), ("--runtime", "runc", "--cgroup-manager", "cgroupfs"))


class Containers(Confinement):
    """Images, each started in a container of its own that is removed afterwards.

    Parameters
    ----------
    program
        The engine, podman or docker.
    hidden
        Folders that no algorithm may see.
    """

    isolated = True

    def __init__(self, program: str, *, hidden: Sequence[Path] = ()) -> None:
        self._program = program
        self._podman = Path(program).name.startswith("podman")
        self._hidden = tuple(hidden)
        self._way: tuple[str, ...] = ()
        self._images: dict[str, str] = {}
        self._brought: list[tuple[str, str, str | None, bool]] = []

    def prepare(self, algorithm: Algorithm) -> None:
        """Load the image where it is a file, and see that it can be started."""
        refuse_hidden(algorithm, self._hidden)
        self._remove_left()
        if algorithm.image not in self._images:
            self._images[algorithm.image] = self._image(algorithm.image)
            if self._podman:
                self._find_way(algorithm)

    def identity(self, algorithm: Algorithm) -> str:
        """Ask the engine which image a name stands for."""
        if Path(algorithm.image).is_file():
            return ""
        return self._say("image", "inspect", "--format", "{{.Id}}", algorithm.image).strip()

    def start(
        self,
        algorithm: Algorithm,
        words: Sequence[str],
        *,
        binds: Sequence[Bind],
        output: Path,
        allowance: Allowance,
        log: Path,
        pipes: bool = False,
    ) -> Confined:
        """Start a container."""
        give_away(output)
        name = _container_name()
        image = self._images.get(algorithm.image, algorithm.image)
        options = self.options(algorithm, binds=binds, allowance=allowance, volumes=self._volumes(image))
        guard = _Guard(self._words(*self._removal(name)))
        try:
            self._say("create", "--name", name, *options, image, *words)
            launch = attached(self._words("start", "--attach", "--interactive", name), log=log, pipes=pipes)
            container = Container(self, launch, name, guard, output=output, allowance=allowance, pipes=pipes)
        except BaseException:  # Ctrl-C too leaves nothing running
            self.remove(name)
            guard.dismiss()
            raise
        container.watch()
        return container

    def close(self) -> None:
        """Remove the images that were loaded, and give back their names to those that had them."""
        for name, identity, before, new in reversed(self._brought):
            if before is not None and before != identity:
                self._ask("tag", before, name)
            if new:
                self._ask("rmi", "--force", identity)
            elif before is None:
                self._ask("untag" if self._podman else "rmi", name)
        self._brought.clear()
        self._images.clear()

    def options(
        self, algorithm: Algorithm, *, binds: Sequence[Bind], allowance: Allowance, volumes: Sequence[str] = ()
    ) -> list[str]:
        """Return how a container is created.

        Folders that its image wants to write to, `volumes`, are in its memory, and not on a disk of ours.
        """
        memory, half = (f"{size}b" for size in (allowance.memory_bytes, allowance.temporary_bytes))
        user = f"{NOBODY}:{NOBODY}" if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}"
        options = [
            *("--interactive", "--pull=never", "--network", "none", "--hostname", "podium", "--read-only"),
            *("--user", user, "--cap-drop", "ALL"),
            *("--security-opt", "no-new-privileges", "--security-opt", "label=disable", "--log-driver", "none"),
            *("--memory", memory, "--memory-swap", memory, "--pids-limit", str(allowance.processes)),
            *("--shm-size", half),
            *("--ulimit", "core=0:0", "--ulimit", _ulimit("fsize", allowance.largest_file_bytes + 512)),
            *("--ulimit", _ulimit("nofile", 2**16), "--ulimit", _ulimit("nproc", max(1024, allowance.processes))),
        ]
        taken = {bind.target for bind in binds}
        for folder in dict.fromkeys(("/tmp", *(folder for folder in volumes if folder.rstrip("/") not in taken))):
            options += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={allowance.temporary_bytes},mode=1777"]
        if self._podman:
            options += ["--read-only-tmpfs=false", *(() if os.geteuid() == 0 else ("--userns", "keep-id"))]
        if allowance.processors:
            options += ["--cpus", f"{allowance.processors:g}"]
        if allowance.gpu:
            options += ["--device", "nvidia.com/gpu=all"] if self._podman else ["--gpus", "all"]
        values = {"HOME": "/tmp", "TMPDIR": "/tmp", **printing(algorithm), **limits_of_threads(allowance)}
        values |= algorithm.environment
        for name, value in values.items():
            options += ["--env", f"{name}={value}"]
        for bind in [*(Bind(whole(path), str(whole(path))) for path in algorithm.reads), *binds]:
            options += ["--mount", _mount(bind)]
        return options

    def inspect(self, name: str) -> dict[str, Any]:
        """Return the state of a container; nothing where there is none."""
        answer = self._ask("container", "inspect", name)
        return dict(json.loads(answer.stdout)[0]["State"]) if answer.returncode == 0 else {}

    def kill(self, name: str) -> None:
        """End a container now."""
        self._ask("kill", "--signal", "KILL", name)

    def remove(self, name: str) -> None:
        """Remove a container, and see that it is gone."""
        for _ in range(5):
            self._ask(*self._removal(name))
            if not self.inspect(name):
                return
            time.sleep(0.2)
        raise InputError(f"the container {name} cannot be removed", advice=f"Try: {self._program} rm --force {name}")

    def _removal(self, name: str) -> list[str]:
        return ["rm", "--force", "--volumes", *(("--time", "0") if self._podman else ()), name]

    def _image(self, image: str) -> str:
        """Return the name of an image, which is loaded where it is a file."""
        path = Path(image)
        if not path.is_file():
            if self._ask("image", "inspect", image).returncode:
                raise InputError(
                    f"there is no image '{image}'",
                    advice=f"Give a .tar or .tar.gz of it, or try: {self._program} pull {image}",
                )
            return image
        before, identities = self._known_images(), self._say("images", "--no-trunc", "--quiet").split()
        with _unpacked(path) as archive:
            answer = self._ask("load", stdin=archive)
        if answer.returncode:
            engine = Path(self._program).name
            raise UnusableError(
                f"this is no whole image ({engine} load: {' '.join(answer.stderr.split())[:150]} …)",
                path=path,
                advice=f"Ask for it again, as {engine} save writes it",
            )
        lines = (match[1] for match in re.finditer(r"Loaded image[^:]*:(.*)", answer.stdout))
        names = [name.strip() for line in lines for name in line.split(",")]
        after = self._known_images()
        for name in names:  # a name, or an identity where there is none
            identity = after.get(name, name)
            self._brought.append((name, identity, before.get(name), identity not in identities))
        if len(names) != 1:
            raise UnusableError(f"a file of one image is needed; this one holds {len(names)}", path=path)
        return after.get(names[0], names[0])

    def _volumes(self, image: str) -> list[str]:
        """Return the folders that an image declares to be written to, which would be made on a disk of ours."""
        declared = (
            json.loads(self._say("image", "inspect", "--format", "{{json .Config.Volumes}}", image) or "{}") or {}
        )
        if any(mark in folder for folder in declared for mark in ",:"):
            raise UnusableError(f"it has volumes that cannot be made: {shortened(sorted(declared))}", path=image)
        return sorted(declared)

    def _known_images(self) -> dict[str, str]:
        lines = self._say("images", "--no-trunc", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}").splitlines()
        pairs = (line.partition(" ") for line in lines)
        return {name: identity for name, _, identity in pairs}

    def _find_way(self, algorithm: Algorithm) -> None:
        """Find with which options containers can be started here, by preparing one."""
        image = self._images[algorithm.image]
        options = self.options(
            algorithm, binds=(), allowance=Allowance(memory_bytes=2**26), volumes=self._volumes(image)
        )
        problem = ""
        for way in _PODMAN_WAYS:
            self._way = way
            name = _container_name()
            try:
                self._say("create", "--name", name, *options, image, *algorithm.command)
                self._say("init", name)
            except InputError as error:
                if any(words in str(error) for words in _NOTHING_TO_START):
                    raise UnusableError(str(error)) from None
                problem = problem or str(error)
            else:
                return
            finally:
                self.remove(name)
        raise InputError(problem)

    def _remove_left(self) -> None:
        """Remove containers whose Podium was killed."""
        for name in self._say("ps", "--all", "--filter", "name=^podium-", "--format", "{{.Names}}").split():
            match = re.fullmatch(r"(podium-\w+-\d+)-(\d+)-(\d+)-\d+", name)
            if match and match[1] == _space() and _started(match[2]) != match[3]:
                self.remove(name)

    def _words(self, *words: str) -> list[str]:
        return [self._program, *self._way, *words]

    def _ask(self, *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._words(*words), capture_output=True, text=True, stdin=stdin, check=False, errors="replace"
        )

    def _say(self, *words: str, stdin: int = subprocess.DEVNULL) -> str:
        """Return what the engine answers, where it does as it was told."""
        answer = self._ask(*words, stdin=stdin)
        if answer.returncode:
            raise InputError(f"{Path(self._program).name} {words[0]}: {answer.stderr.strip() or answer.returncode}")
        return answer.stdout


class _Guard:
    """A process that removes a container, should we be killed: an engine lets it run on."""

    def __init__(self, removal: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _ || exec "$@"', "sh", *removal],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Let it go, as the container is gone."""
        self._process.communicate(b"\n")


class Container(Watched):
    """A program in a container."""

    _root_is_ours = False

    def __init__(
        self,
        engine: Containers,
        launch: Launch,
        name: str,
        guard: _Guard,
        *,
        output: Path,
        allowance: Allowance,
        pipes: bool,
    ) -> None:
        super().__init__(launch, output=output, allowance=allowance, pipes=pipes)
        self._engine, self._name, self._guard = engine, name, guard
        self._killed_for_memory = False
        state: dict[str, Any] = {}
        while not _has_ended(launch.process.pid):
            state = engine.inspect(name)
            if state.get("Pid") or not str(state.get("FinishedAt", _NOT_YET)).startswith(_NOT_YET):
                break
        self._first = int(state.get("Pid") or 0)
        self.started = _clock(state.get("StartedAt")) or launch.started
        self._group = ControlGroup.of(self._first) if self._first else None

    def _root(self) -> int:
        return self._first

    def _end(self) -> None:
        if not self._gone.is_set():
            self._engine.kill(self._name)
            if not self._gone.wait(_END_SECONDS):
                self._launch.process.kill()
        state = self._engine.inspect(self._name)
        self._ended = _clock(state.get("FinishedAt")) or self._ended
        self._killed_for_memory = bool(state.get("OOMKilled"))
        self._engine.remove(self._name)

    def _own_verdict(self) -> Exit | None:
        return self._too_much_memory() if self._killed_for_memory else None

    def _leave(self) -> None:
        self._guard.dismiss()
        take_back(self._output)


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[int]:
    """Open an archive, unpacked on the way where it is gzipped, which not every engine does."""
    with path.open("rb", buffering=0) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            yield file.fileno()
            return
        with subprocess.Popen(["gzip", "-dc"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gzip:
            assert gzip.stdout is not None
            yield gzip.stdout.fileno()


def _has_ended(process: int) -> bool:
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def give_away(folder: Path) -> None:
    """Let the user in a container write to a folder, and nobody else look into it."""
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


def take_back(folder: Path) -> None:
    """Make all in a folder ours again."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-Rh", "0:0", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _clock(moment: Any) -> float | None:
    """Return a moment that an engine wrote down, by `time.perf_counter`."""
    match = re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,6})?\d*(Z|[+-]\d\d:\d\d)", str(moment))
    if not match or match[0].startswith(_NOT_YET):
        return None
    written = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")).timestamp() + float(match[2] or 0)
    return time.perf_counter() - (time.time() - written)


def _ulimit(name: str, value: int) -> str:
    """Return a limit; not more than ours, which an engine may not exceed where it has no more rights than we."""
    ours = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    most = value if ours == resource.RLIM_INFINITY else min(value, ours)
    return f"{name}={most}:{most}"


def _mount(bind: Bind) -> str:
    """Return how a mount is written, which is a line of CSV."""
    fields = ["type=bind", f"source={bind.source.absolute()}", f"target={bind.target}"]
    fields += [] if bind.writable else ["readonly"]
    return ",".join(
        '"' + field.replace('"', '""') + '"' if any(mark in field for mark in ',"') else field for field in fields
    )


def _container_name() -> str:
    """Return a name that tells which process of which machine owns a container."""
    return f"{_space()}-{os.getpid()}-{_started(str(os.getpid()))}-{next(_numbers)}"


def _space() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    return f"podium-{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"


def _started(process: str) -> str:
    """Return when a process was started, which tells it from a later one of the same number."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[19]
    return ""

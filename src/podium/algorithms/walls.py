"""The walls around a command: how bubblewrap is called so that it sees what it needs and nothing of ours."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from podium.algorithms.specs import Algorithm, Allowance, Bind
from podium.algorithms.surroundings import SYSTEM_FOLDERS, environment_folders, hides, whole

__all__ = ["NOBODY", "bwrap", "made_up_files", "process_limit", "wall_options", "why_no_walls"]

NOBODY = 65534
_READ_IN_ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "nsswitch.conf"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/ca-trust", "pki/tls/certs"),
    *("fonts", "mime.types", "OpenCL", "vulkan"),
)
_GPU_DEVICES = ("nvidia*", "dri", "kfd", "dxg")
_MADE_UP = {
    "/etc/passwd": f"podium:x:{NOBODY}:{NOBODY}::/tmp:/bin/sh\n",
    "/etc/group": f"podium:x:{NOBODY}:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}


def wall_options(
    algorithm: Algorithm,
    program: Path,
    *,
    binds: Sequence[Bind],
    allowance: Allowance,
    hidden: Iterable[Path] = (),
    files: Iterable[tuple[int, str]] = (),
) -> list[str]:
    """Return the options of bwrap.

    Whoever is root here is nobody in particular inside, but still owns what root owns; so nothing is there but
    what is named, and /proc cannot be written, where root may change the kernel's settings.
    """
    own = [whole(path) for path in (algorithm.folder, *algorithm.reads) if path]
    # By depth, so that what lies inside another comes after it.
    seen = sorted({*own, *environment_folders(program)}, key=lambda path: len(path.parts))
    half = str(allowance.temporary_bytes)
    options = [
        *("--unshare-all", "--unshare-user", *_userns_option()),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "podium", "--die-with-parent", "--new-session"),
        *_system(),
        *("--proc", "/proc", "--dev", "/dev", "--size", half, "--perms", "1777", "--tmpfs", "/dev/shm"),
        *("--size", half, "--perms", "1777", "--tmpfs", "/tmp", "--dir", "/run", "--symlink", "../tmp", "/var/tmp"),
    ]
    for handle, name in files:
        options += ["--ro-bind-data", str(handle), name]
    for path in seen:
        options += ["--ro-bind", str(path), str(path)]
    options += _masks([*map(Path, SYSTEM_FOLDERS), *seen], hidden)
    for bind in sorted(binds, key=lambda bind: len(Path(bind.target).parts)):
        options += ["--bind" if bind.writable else "--ro-bind", str(bind.source), bind.target]
    if allowance.gpu:
        options += ["--ro-bind", "/sys", "/sys"]
        for device in _gpu_devices():
            options += ["--dev-bind", device, device]
    home = str(whole(algorithm.folder)) if algorithm.folder else "/tmp"
    return [*options, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", home]


def process_limit(allowance: Allowance) -> list[str]:
    """Return words before a command that keep the kernel from starting many more processes than it may have.

    They are counted for each user inside the walls, as kernels do since 5.14, but not for root. What breaks the limit
    is told by whoever watches; this keeps it from being too many to watch.
    """
    kernel = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    program = shutil.which("prlimit", path="/usr/bin:/bin")
    if os.geteuid() == 0 or kernel < (5, 14) or program is None:
        return []
    return [program, f"--nproc={2 * allowance.processes + 64}"]


def _gpu_devices() -> list[str]:
    return sorted(str(path) for pattern in _GPU_DEVICES for path in Path("/dev").glob(pattern))


def _system() -> list[str]:
    options = []
    for folder in SYSTEM_FOLDERS:
        if Path(folder).is_symlink():
            options += ["--symlink", str(Path(folder).readlink()), folder]
        elif Path(folder).is_dir():
            options += ["--ro-bind", folder, folder]
    for name in _READ_IN_ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return options


def _masks(seen: Iterable[Path], hidden: Iterable[Path]) -> list[str]:
    """Cover what must not be seen and lies in a folder of the system or of an environment."""
    options = []
    for secret in hidden:
        for folder in seen:
            if secret.exists() and hides(folder, secret):
                inside = folder / Path(os.path.realpath(secret)).relative_to(os.path.realpath(folder))
                options += ["--tmpfs", str(inside)] if secret.is_dir() else ["--ro-bind", "/dev/null", str(inside)]
    return options


def bwrap() -> str:
    """Return where the program is, if it is somewhere."""
    return shutil.which("bwrap") or "bwrap"


def made_up_files() -> list[tuple[int, str]]:
    """Return open files for what stands in /etc: who there is, and no names of ours. The caller closes them."""
    files = []
    for path, content in _MADE_UP.items():
        reading, writing = os.pipe()
        os.write(writing, content.encode())
        os.close(writing)
        files.append((reading, path))
    return files


@functools.cache
def _userns_option() -> tuple[str, ...]:
    """Return the option that keeps programs from becoming root in a space of their own, where bwrap has it."""
    said = subprocess.run([bwrap(), "--help"], capture_output=True, text=True, check=False).stdout
    return ("--disable-userns",) if "--disable-userns" in said else ()


@functools.cache
def why_no_walls() -> str:
    """Return why bubblewrap cannot be used here, or nothing."""
    try:
        options = wall_options(Algorithm(""), Path("/bin/true"), binds=(), allowance=Allowance())
        trial = subprocess.run([bwrap(), *options, "--", "/bin/true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "bubblewrap (the program bwrap) is not installed"
    return "" if trial.returncode == 0 else f"bubblewrap does not work here ({' '.join(trial.stderr.split())[:200]})"

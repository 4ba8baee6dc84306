"""A root file system with Python and what a package needs, from what is installed here: no registry is asked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

TOOLS = ("sh", "rm", "cat", "env", "groupadd", "useradd")
PACKAGES = "opt/packages"


def make_root(folder: Path, packages: list[str]) -> None:
    """Fill a folder: a shell, some tools, this Python in /usr/local, packages in /opt/packages, and their libraries."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (folder / "usr" / name).mkdir(parents=True)
        (folder / name).symlink_to(f"usr/{name}")
    for name in ("etc", "home", "input", "output", "proc", "root", "tmp", "usr/local/bin", PACKAGES):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "tmp").chmod(0o1777)
    (folder / "output").chmod(0o777)
    (folder / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (folder / "etc" / "group").write_text("root:x:0:\n")
    programs = [Path(shutil.which(tool, path=os.defpath + ":/usr/sbin:/sbin") or tool) for tool in TOOLS]
    for program in programs:
        _copy(program.resolve(), folder / "bin" / program.name)
    interpreter = Path(sys.executable).resolve()
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    _copy(interpreter, folder / "usr" / "local" / "bin" / name)
    for alias in ("python", "python3"):
        (folder / "usr" / "local" / "bin" / alias).symlink_to(name)
    library = Path(sys.base_prefix) / "lib" / name
    unwanted = shutil.ignore_patterns(
        "site-packages", "dist-packages", "__pycache__", "test", "idlelib", "EXTERNALLY-*"
    )
    shutil.copytree(library, folder / "usr" / "local" / "lib" / name, ignore=unwanted, copy_function=_copy)
    for package in _needed(packages):
        own = distribution(package)
        for file in own.files or ():
            place, source = Path(os.path.normpath(file)), Path(own.locate_file(file))
            if ".." not in place.parts and source.is_file() and source.suffix != ".pyc":
                _copy(source, folder / PACKAGES / place)
    shared = [path for path in folder.rglob("*.so*") if path.is_file() and not path.is_symlink()]
    for place in _libraries([*programs, interpreter, *shared]):
        if not place.is_relative_to(Path(sys.prefix).resolve()):  # those lie beside what needs them
            _copy(place, folder / "lib" / place.name)
    loader = next(Path("/lib64").glob("ld-linux*"), None)
    if loader is not None:
        _copy(loader.resolve(), folder / "lib64" / loader.name)


def _copy(source: str | Path, target: str | Path) -> None:
    target = Path(target)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(Path(source).resolve(), target)
        except OSError:  # another disk
            shutil.copy(source, target)


def _needed(names: list[str]) -> set[str]:
    """Return packages, and those that they need."""
    known: set[str] = set()
    waiting = list(names)
    while waiting:
        try:
            package = distribution(waiting.pop())
        except PackageNotFoundError:  # of another system or Python
            continue
        if package.name not in known:
            known.add(package.name)
            waiting += [re.match(r"[\w.-]+", line)[0] for line in package.requires or () if "extra ==" not in line]
    return known


def _libraries(programs: list[Path]) -> set[Path]:
    """Return the shared libraries that programs and libraries ask for."""
    said = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    return {Path(place).resolve() for place in re.findall(r"=> (/\S+) \(", said)} | {
        Path(place) for place in re.findall(r"=> (/\S+/lib\S+\.so\S*) \(", said)
    }

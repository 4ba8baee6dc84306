"""Running a container image with Apptainer (or Singularity), which needs no service: a command among others."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from podium.algorithms.commands import remove_home, warded
from podium.algorithms.confinement import Confined, Confinement
from podium.algorithms.containers import give_away, take_back
from podium.algorithms.specs import Algorithm, Allowance, Bind
from podium.algorithms.surroundings import limits_of_threads, printing, refuse_hidden, variables, whole
from podium.algorithms.walls import NOBODY
from podium.model import InputError

__all__ = ["Apptainers"]


class Apptainers(Confinement):
    """Images as files, run by a program that is watched as any command is.

    Parameters
    ----------
    program
        The program: apptainer or singularity.
    hidden
        Folders that no algorithm may see.
    """

    isolated = True

    def __init__(self, program: str, *, hidden: Sequence[Path] = ()) -> None:
        self._program = program
        self._hidden = tuple(hidden)
        self._folder: Path | None = None
        self._images: dict[str, str] = {}

    def prepare(self, algorithm: Algorithm) -> None:
        """Make an image file of an archive."""
        refuse_hidden(algorithm, self._hidden)
        if algorithm.image not in self._images:
            self._images[algorithm.image] = self._image(algorithm.image)

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
        image = self._images.get(algorithm.image, algorithm.image)
        home = Path(tempfile.mkdtemp(prefix="podium-home-"))
        plain = Algorithm(algorithm.name)
        environment = variables(plain, Path(self._program), home=str(home), allowance=allowance)
        for name, value in (printing(algorithm) | limits_of_threads(allowance) | dict(algorithm.environment)).items():
            environment |= {f"{maker}ENV_{name}": value for maker in ("APPTAINER", "SINGULARITY")}
        try:
            return warded(
                [self._program, "run", *self.options(algorithm, binds=binds, allowance=allowance), image, *words],
                environment=environment,
                folder=home,
                home=home,
                output=output,
                allowance=allowance,
                log=log,
                pipes=pipes,
                afterwards=take_back,
            )
        except BaseException:  # Ctrl-C too leaves no folder behind
            remove_home(home)
            raise

    def close(self) -> None:
        """Remove the image files that were made."""
        if self._folder is not None:
            remove_home(self._folder)
        self._folder = None
        self._images.clear()

    def options(self, algorithm: Algorithm, *, binds: Sequence[Bind], allowance: Allowance) -> list[str]:
        """Return how a container is run: nothing of ours, no network, and nobody's rights."""
        options = ["--containall", "--cleanenv", "--no-home", "--net", "--network", "none", "--no-privs"]
        if os.geteuid() == 0:
            options += ["--security", f"uid:{NOBODY},gid:{NOBODY}"]
        if allowance.gpu:
            options += ["--nv"]
        for bind in [*(Bind(whole(path), str(whole(path))) for path in algorithm.reads), *binds]:
            if any(mark in f"{bind.source}{bind.target}" for mark in ",:"):
                raise InputError("Apptainer takes no folder with a comma or a colon in its name", path=bind.source)
            options += ["--bind", f"{bind.source.absolute()}:{bind.target}:{'rw' if bind.writable else 'ro'}"]
        return options

    def _image(self, image: str) -> str:
        path = Path(image)
        if path.is_dir() or path.suffix in (".sif", ".simg", ".img"):
            if not path.exists():
                raise InputError("there is no such image", path=path)
            return str(path.absolute())
        if not path.is_file():
            raise InputError(
                f"there is no image '{image}'", advice="Give a .sif, or a .tar or .tar.gz as it is uploaded"
            )
        self._folder = self._folder or Path(tempfile.mkdtemp(prefix="podium-images-"))
        built = self._folder / f"{len(self._images)}.sif"
        words = [self._program, "build", str(built), f"docker-archive:{path.absolute()}"]
        answer = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
        if answer.returncode:
            raise InputError(f"no image can be made of it: {answer.stderr.strip()[-300:]}", path=path)
        return str(built)

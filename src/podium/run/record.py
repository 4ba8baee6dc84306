"""run.json: what was run, by what, of which files. A typed document with a schema that only grows."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection, Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium import __version__
from podium.model import InputError, Role
from podium.run.engine import Evaluation

__all__ = ["SCHEMA_NUMBER", "Gathered", "Input", "Machine", "RunRecord", "read_record"]

SCHEMA_NUMBER = 2
_PACKAGES = ("numpy", "scipy", "numba", "isal", "nibabel", "h5py", "polars")
_OF_GPUS = ("torch", "triton")


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Input(_Document):
    """A truth or a submission: where it lay, as seen from anywhere and from the run folder, and what was read of it.

    `kept` is False where predictions were deleted as they were measured; it is left out of the file where it is True.
    """

    path: str
    relative: str = ""
    sha256: dict[str, str] = Field(default_factory=dict)
    kept: bool = True

    @classmethod
    def at(cls, place: Path, files: Mapping[str, str], folder: Path, *, kept: bool = True) -> Self:
        """Return the record of an input of the run in a folder."""
        absolute = place.absolute()  # links stay as they are: they may be what moves
        return cls(
            path=str(absolute),
            relative=os.path.relpath(absolute, folder.absolute()),
            sha256=dict(sorted(files.items())),
            kept=kept,
        )

    def find(self, folder: Path | None) -> Path | None:
        """Return where the input is now: where it was, or the same way from the run folder; None if it is gone."""
        places = [Path(self.path)]
        if folder is not None and self.relative:
            places.append(Path(os.path.normpath(folder.absolute() / self.relative)))
        elif folder is not None and not places[0].is_absolute():  # runs of schema 1 keep what was typed
            places += [parent / self.path for parent in folder.absolute().parents]
        return next((place for place in places if self.path and place.exists()), None)


class Machine(_Document):
    """Where a run was made."""

    system: str = ""
    python: str = ""
    cores: int | None = None


class Gathered(_Document):
    """An evaluation that a run was gathered from.

    Attributes
    ----------
    path, sha256
        Where it lay, and the hash of its run.json or metrics file.
    podium, started, ended, machine, packages
        Who measured, when and where.
    submissions
        What it gave: the name of each submission here, and there.
    """

    path: str
    sha256: str
    podium: str
    started: datetime
    ended: datetime
    machine: Machine
    packages: dict[str, str] = Field(default_factory=dict)
    submissions: dict[str, str]


class RunRecord(_Document):
    """What run.json says.

    Attributes
    ----------
    schema_number
        Of this document; `schema` in the file.
    podium, challenge, version, edition, options
        Who measured, by which rules.
    truth, submissions
        The inputs.
    roles
        Who each submission stands for.
    faults
        What the challenge did wrong: submission, case, and what. While there are any, there is no leaderboard.
    started, ended, machine, packages
        When and where.
    measurements
        SHA-256 of measurements.parquet, so that a damaged one is not read; runs of earlier versions have none.
    gathered
        What it was gathered from, if it was not measured in one go; left out of the file where there is nothing.
    devices
        GPUs on which any of it was measured; likewise.
    """

    schema_number: int = Field(default=SCHEMA_NUMBER, alias="schema")
    podium: str
    challenge: str
    version: int
    edition: str
    options: dict[str, Any]
    truth: Input
    submissions: dict[str, Input]
    roles: dict[str, Role]
    faults: list[tuple[str, str, str]] = Field(default_factory=list)
    started: datetime
    ended: datetime
    machine: Machine
    packages: dict[str, str] = Field(default_factory=dict)
    measurements: str = ""
    gathered: list[Gathered] = Field(default_factory=list)
    devices: list[str] = Field(default_factory=list)

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        *,
        folder: Path,
        truth: Path,
        places: Mapping[str, Path],
        not_kept: Collection[str] = (),
        started: datetime,
        ended: datetime,
    ) -> Self:
        """Return the record of an evaluation that goes to a folder; some predictions may be there no more."""
        challenge = evaluation.challenge
        return cls(
            podium=__version__,
            challenge=challenge.name,
            version=challenge.version,
            edition=challenge.edition,
            options=challenge.options,
            truth=Input.at(truth, evaluation.truth, folder),
            submissions={
                name: Input.at(place, evaluation.hashes[name], folder, kept=name not in not_kept)
                for name, place in sorted(places.items())
            },
            roles=dict(sorted(evaluation.roles.items())),
            faults=evaluation.faults,
            started=started.replace(microsecond=0),
            ended=ended.replace(microsecond=0),
            machine=Machine(system=platform.platform(), python=platform.python_version(), cores=os.cpu_count()),
            packages={name: _version(name) for name in (*_PACKAGES, *(_OF_GPUS if evaluation.devices else ()))},
            devices=list(evaluation.devices),
        )

    @property
    def rounding(self) -> float:
        """By how much, relative to itself, a value may differ where it is measured again.

        Two machines may add up in another order; a GPU counts a million areas by kind before it adds any.
        """
        return 1e-9 if self.devices else 1e-12

    def document(self) -> dict[str, Any]:
        """Return it as plain lists and numbers, for JSON."""
        nothing = {name for name in ("gathered", "devices") if not getattr(self, name)}
        document = self.model_dump(mode="json", by_alias=True, exclude=nothing)
        for given in (document["truth"], *document["submissions"].values()):
            if given["kept"]:
                del given["kept"]
        return document


def read_record(folder: Path) -> RunRecord:
    """Read the run.json of a run folder, of this schema or an older one."""
    path = folder / "run.json"
    if not path.is_file():
        inside = folder / "run"
        advice = f"There is one in it: {inside}" if (inside / "run.json").is_file() else "Make one: podium evaluate"
        raise InputError("this is not a run folder: it has no run.json", path=folder, advice=advice)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        number = document["schema"]
        if isinstance(number, int) and number > SCHEMA_NUMBER:
            raise InputError(
                f"this run.json has schema {number}, this Podium reads up to {SCHEMA_NUMBER}",
                path=path,
                advice="Use a newer Podium",
            )
        return RunRecord.model_validate(_from_first_schema(document) if number == 1 else document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else " ".join(str(error).split())[:120]
        raise InputError(f"this run folder is damaged ({reason})", path=folder, advice="Evaluate again") from None


def _from_first_schema(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run.json of schema 1, where "truth" could not be a team's name, as one of today."""
    hashes = document.get("sha256", {})
    submissions = document.get("submissions", {})
    return {
        **{key: value for key, value in document.items() if key != "sha256"},
        "truth": {"path": document["truth"], "sha256": hashes.get("truth", {})},
        "submissions": {name: {"path": place, "sha256": hashes.get(name, {})} for name, place in submissions.items()},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

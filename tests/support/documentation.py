"""Blocks of code in README and docs, and the material that they speak of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from markdown_it import MarkdownIt
from shared_data import PROJECT

from podium.algorithms import podium_worker_file

LANGUAGES = {"console", "json", "python", "sh", "text", "toml"}
CHALLENGES = ("csv2026", "kits21", "lvquan18", "trackrad2025", "tusrec")
CASES = 4


@dataclass(frozen=True)
class Block:
    """A block of code: on which page, from which line on, in which language."""

    page: str
    line: int
    language: str
    text: str

    @property
    def challenge(self) -> str:
        """The challenge that it is about."""
        named = re.search("|".join([*CHALLENGES, r"challenge\.toml"]), self.text)
        return named[0] if named else "kits21"

    def apart(self) -> Iterator[Block]:
        """Yield it in parts, where commands are alternatives: they make the same, or are of different challenges."""
        together: list[str] = []
        for command in self.commands:
            part = replace(self, text="\n".join([*together, command]), language="sh")
            made = [part.made_by(own) for own in (*together, command)]
            alone, earlier = replace(part, text=command), replace(part, text="\n".join(together))
            other = alone.names_one and earlier.names_one and alone.challenge != earlier.challenge
            if other or len(set().union(*made)) < sum(map(len, made)):
                yield replace(part, text="\n".join(together))
                together = []
            together.append(command)
        yield replace(self, text="\n".join(together), language="sh")

    @property
    def names_one(self) -> bool:
        """Whether a challenge is named."""
        return re.search("|".join([*CHALLENGES, r"challenge\.toml"]), self.text) is not None

    @staticmethod
    def made_by(text: str) -> set[str]:
        """Return the folders that commands or calls make."""
        found = re.findall(r"--out ([\w./-]+)(?! .*--resume)|\bout=\"([\w./-]+)\"", text)
        return {name for pair in found for name in pair if name}

    @property
    def commands(self) -> Iterator[str]:
        """What is to be typed, one command after another, without remarks."""
        lines = [line for line in self.text.splitlines() if self.language == "sh" or line.startswith("$ ")]
        for line in lines:
            command = re.sub(r"\s+# .*", "", line.removeprefix("$ ")).strip()
            if command and not command.startswith("#"):
                yield command


def pages() -> list[Path]:
    """Return everything that people read."""
    root = [PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    readmes = (PROJECT / "src" / "podium" / "challenges").glob("*/README.md")
    return [*root, *sorted((PROJECT / "docs").rglob("*.md")), *sorted(readmes)]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page; of one that is only indented, the language is empty."""
    name = page.relative_to(PROJECT).as_posix() if page.is_relative_to(PROJECT) else page.name
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    return [
        Block(name, token.map[0] + 1, (token.info.split() or [""])[0] if token.type == "fence" else "", token.content)
        for token in tokens
        if token.type in ("fence", "code_block") and token.map
    ]


@dataclass(frozen=True)
class Material:
    """What examples are about, in a folder of its own, under the names that pages use."""

    demos: Path
    few_cases: Callable[[str], Path]
    declared: Path

    def lay_out(self, block: Block, folder: Path) -> None:
        """Put what a block needs into an empty folder; what it makes itself is not there."""
        words = set(re.findall(r"[\w./-]+", block.text))
        made = block.made_by(block.text)
        own = self.declared if block.challenge == "challenge.toml" else self.demos / block.challenge
        wanted = {
            name: make for name, make in self._makers(block, own).items() if words & {name, *_inside(name, words)}
        }
        for name, make in wanted.items():
            if name not in made:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                make(folder / name)

    def _makers(self, block: Block, own: Path) -> dict[str, Callable[[Path], object]]:
        truth = self.demos / "kits21" / "truth"
        teams = self.demos / "kits21" / "submissions"
        runs = "podium run " in block.text or "run_algorithm" in block.text

        def few() -> Path:
            return own / "truth" if block.challenge == "challenge.toml" else self.few_cases(block.challenge)

        def link(target: Path) -> Callable[[Path], object]:
            return lambda place: place.symlink_to(target)

        def copy(target: Path) -> Callable[[Path], object]:
            return lambda place: shutil.copytree(target, place, symlinks=True)

        def maps(source: Path, pattern: str) -> Callable[[Path], object]:
            return lambda place: _gather(source, pattern, place)

        return {
            "demo-run": copy(self.demos),
            "truth": lambda place: place.symlink_to(few() if runs else own / "truth"),
            "images": lambda place: place.symlink_to(few()),
            "teams": link(own / "submissions"),
            "my-predictions": link(own / "submissions" / "careful"),
            "run": copy(own / "run"),
            **{f"{name}/run": copy(own / "run") for name in ("2024", "2025")},
            **{f"{name}/run": lambda place, team=team: _run_of(own, team, place) for name, team in APART.items()},
            "challenge.toml": lambda place: shutil.copy(self.declared / "challenge.toml", place),
            "labelsTs": maps(truth, "*/aggregated_MAJ_seg.nii.gz"),
            "ours": maps(teams / "careful", "*.nii.gz"),
            "theirs": maps(teams / "generous", "*.nii.gz"),
            "baseline/fold_0": maps(teams / "generous", "*.nii.gz"),
            "predictions": maps(teams / "careful", "*.nii.gz"),
            "reference.nii.gz": link(next(truth.glob("case_00000/aggregated_MAJ_seg.nii.gz"), truth)),
            "prediction.nii.gz": link(teams / "careful" / "case_00000.nii.gz"),
            "scores.csv": _write_scores,
            "metrics.csv": _write_metrics,
            "ours/infer.py": lambda place: _write_program(place, block.challenge),
            "theirs/infer.py": lambda place: _write_program(place, block.challenge),
            "ours/track.py": _write_tracker,
            "ours/predict.py": _write_function,
        }


APART = {"blue": "careful", "green": "generous"}


def _inside(name: str, words: set[str]) -> set[str]:
    """Return the words that lead into a folder."""
    return {word for word in words if word.startswith(f"{name}/")}


def _gather(source: Path, pattern: str, place: Path) -> None:
    """Gather the label maps of some cases, called after these."""
    place.mkdir(exist_ok=True)
    for path in sorted(source.glob(pattern))[:CASES]:
        case = path.parent.name if path.parent.name.startswith("case_") else path.name.partition(".")[0]
        shutil.copy(path, place / f"{case}.nii.gz")


def _run_of(own: Path, team: str, place: Path) -> None:
    """Evaluate one team by itself."""
    import podium

    alone = place.parent / "alone"
    alone.mkdir()
    (alone / team).symlink_to(own / "submissions" / team)
    podium.evaluate(own.name, truth=own / "truth", submissions=alone, out=place)


def _write_scores(place: Path) -> None:
    """Write a table of five teams on thirty cases of three centres."""
    generator = np.random.default_rng(0)
    lines = ["submission,case,value,centre"]
    for team, level in zip("ABCDE", (0.90, 0.89, 0.86, 0.80, 0.75), strict=True):
        values = generator.normal(level, 0.05, 30).clip(0, 1)
        lines += [f"team {team},case {k:02},{value:.4f},centre {k % 3}" for k, value in enumerate(values)]
    place.write_text("\n".join(lines) + "\n")


def _write_metrics(place: Path) -> None:
    """Write a table with a column for each of two metrics."""
    generator = np.random.default_rng(1)
    lines = ["team,case,Dice,HD95"]
    for team, level in zip("ABC", (0.9, 0.85, 0.8), strict=True):
        rows = zip(generator.normal(level, 0.02, 12), generator.gamma(3, 10 * (1 - level), 12), strict=True)
        lines += [f"{team},{k},{dice:.4f},{distance:.3f}" for k, (dice, distance) in enumerate(rows)]
    place.write_text("\n".join(lines) + "\n")


def _write_program(place: Path, challenge: str) -> None:
    """Write an algorithm that is a challenge's own baseline."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(
        f'import runpy\n\nrunpy.run_module("podium.challenges.{challenge}.baseline", run_name="__main__")\n'
    )


def _write_tracker(place: Path) -> None:
    """Write a tracker that answers frame by frame: the target stays where it was."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(podium_worker_file(), place.parent)
    start = "lambda known: lambda frame: known['target'].astype('uint8')"
    place.write_text(f"import podium_worker\n\npodium_worker.answer_frames({start})\n")


def _write_function(place: Path) -> None:
    """Write a function that is TUS-REC's own baseline."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("from podium.challenges.tusrec.baseline import predict_ddfs as predict_ddfs\n")

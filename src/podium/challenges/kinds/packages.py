"""A Python package with a challenge of its own, for what TOML cannot say: a class, an entry point, and tests."""

from __future__ import annotations

from pathlib import Path
from string import Template

from podium.challenges.kinds.drafts import plain_name
from podium.challenges.kinds.toml_writing import toml_value
from podium.io import write_text
from podium.model import InputError

__all__ = ["write_package"]

_PROJECT = Template("""\
[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "$package"
version = "0.1.0"
description = $quoted
requires-python = ">=3.11"
dependencies = ["podium"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."podium.challenges"]   # so that `podium` finds it by itself
$name = "$module:$cls"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
pythonpath = ["src"]
testpaths = ["tests"]
""")

_CODE = Template('''\
"""$title."""

from collections.abc import Mapping
from typing import ClassVar

from podium.challenges.kinds import FileNames, Quantity, RankingRules, SegmentationChallenge
from podium.model import Case, InputError

__all__ = ["$cls"]


class $cls(SegmentationChallenge):
    """What a challenge.toml would say, as defaults; and, below, what it could not."""

    name: ClassVar[str] = "$name"
    title: ClassVar[str] = $quoted
    page: ClassVar[str] = "https://example.org"
    summary: ClassVar[str] = "Dice and HD95 of a lesion; both rank the teams, and the lowest average rank wins."

    files: FileNames = FileNames(truth="{case}_seg.nii.gz", prediction="{case}.nii.gz")
    labels: Mapping[str, int] = {"lesion": 1}
    quantities: tuple[Quantity, ...] = (
        Quantity(metric="dice", failed=0),
        Quantity(metric="hausdorff_distance", percentile=95.0, failed="image diagonal"),
    )
    ranking: RankingRules = RankingRules(scheme="mean rank")

    most_lesion_share: float = 0.5
    """A lesion that fills more of the image than this is refused: `--option most_lesion_share=0.3`."""

    def measure(self, case: Case, truth, prediction):
        """Measure as declared, after a look of our own. An InputError is the participant's to read, and is priced."""
        share = (self.read(prediction).array > 0).mean()
        if share > self.most_lesion_share:
            problem = f"{100 * share:.0f} % of the image is lesion"
            raise InputError(problem, path=prediction, advice="Is it the other way round?")
        return super().measure(case, truth, prediction)
''')

_TESTS = Template('''\
"""What every challenge must keep, and what is ours."""

import numpy as np
import pytest
from $module import $cls

import podium
from podium.io import write_label_map
from podium.model import InputError, LabelMap
from podium.testing import (
    Material,
    assert_check_agrees,
    assert_failing_never_pays,
    assert_order_does_not_matter,
    assert_outsiders_change_nothing,
    assert_zero_weights_leave_out,
    write_phantoms,
)

CHALLENGE = $cls()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write made-up truth and teams: careful, steady, hasty and unlucky."""
    folder = tmp_path_factory.mktemp("data")
    write_phantoms(CHALLENGE, folder, cases=4)
    return folder


def test_the_laws_hold(data):
    material = Material.of(CHALLENGE, truth=data / "truth", submissions=data / "submissions")
    assert_failing_never_pays(material, seed=1, trials=5)
    assert_order_does_not_matter(material, seed=2)
    assert_outsiders_change_nothing(material, seed=3)
    assert_zero_weights_leave_out(material, seed=4)


def test_check_and_evaluate_agree(data, tmp_path):
    team, damages = data / "submissions" / "careful", ["nothing", "cut", "missing"]
    assert_check_agrees(CHALLENGE, truth=data / "truth", submission=team, scratch=tmp_path, damages=damages)


def test_the_careful_team_wins(data, tmp_path):
    run = podium.evaluate(CHALLENGE, truth=data / "truth", submissions=data / "submissions", out=tmp_path / "run")
    assert run.leaderboard.places["careful"] == 1
    assert set(run.failures["submission"]) == {"unlucky"}


def test_what_fills_the_image_is_refused(data, tmp_path):
    path = tmp_path / "001.nii.gz"
    case = CHALLENGE.cases(data / "truth")[0]
    truth = CHALLENGE.load(case)
    write_label_map(path, LabelMap.from_array(np.ones(truth[""].shape, np.uint8), spacing=truth[""].spacing))
    with pytest.raises(InputError, match="the other way round"):
        CHALLENGE.measure(case, truth, path)
''')

_README = Template("""\
# $title

    pip install -e ".[test]" && pytest
    podium challenges $name        # what participants are told
    podium demo $name              # everything once, with made-up data
    podium evaluate $name --truth TRUTH --submissions TEAMS --out run

`src/$module/__init__.py` is the challenge: what a challenge.toml would say, and a method that it could not.
""")


def write_package(folder: Path, name: str, *, title: str = "", force: bool = False) -> list[Path]:
    """Write a package with a challenge, its entry point and its tests, which pass; return its files.

    Raises
    ------
    InputError
        One of them is there already.
    """
    name = plain_name(name)
    module = f"podium_{name.replace('-', '_')}"
    words = {
        "name": name,
        "title": " ".join((title or name).replace('"', "'").replace("\\", "/").split()),
        "module": module,
        "package": module.replace("_", "-"),
        "cls": "".join(part.capitalize() for part in name.replace("_", "-").split("-")) + "Challenge",
    }
    words["quoted"] = toml_value(words["title"])
    files = {
        folder / "pyproject.toml": _PROJECT,
        folder / "README.md": _README,
        folder / "src" / module / "__init__.py": _CODE,
        folder / "tests" / f"test_{module}.py": _TESTS,
    }
    for path in files:
        if path.exists() and not force:
            raise InputError("there is one already", path=path, advice="Say --force to replace it, or another folder")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text.substitute(words))
    return list(files)

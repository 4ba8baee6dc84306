"""Challenges as TOML: declared ones whole, others as far as it goes, with words on what is left out."""

import tomllib

import pytest
from declared_challenges import TOML
from sixth_challenge import Landmarks

from podium.challenges import challenges, get_challenge
from podium.challenges.kinds import SegmentationChallenge
from podium.challenges.kinds.drafts import DRAFTED, draft_challenge
from podium.challenges.kinds.expressing import in_toml
from podium.challenges.kinds.toml_files import parse_challenge, read_challenge


@pytest.mark.parametrize("path", sorted(TOML.glob("*.toml")), ids=lambda path: path.stem)
def test_declared_challenges_come_back_the_same(path):
    challenge = read_challenge(path)
    assert parse_challenge(in_toml(challenge)) == challenge


def test_editions_come_back_the_same():
    more = """
[editions.code.ranking]
scheme = "weighted mean"
[[editions.code.measure]]
metric = "dice"
failed = 0
[editions.code.time]
limit_seconds = 9.0
"""
    text = (TOML / "brain-lesions.toml").read_text().replace("test = ", "# ") + more
    for edition in ("document", "code"):
        challenge = parse_challenge(text, edition=edition)
        again = parse_challenge(in_toml(challenge), edition=edition)
        for table in ("files", "labels", "quantities", "ranking", "timing"):
            assert getattr(again, table) == getattr(challenge, table), (edition, table)
    assert again.timing.limit_seconds == 9.0
    assert "limit_seconds" in in_toml(challenge)


@pytest.mark.parametrize("kind", DRAFTED)
def test_drafts_come_back_the_same(kind):
    challenge = parse_challenge(draft_challenge("a", title='b "c"', kind=kind).text)
    assert parse_challenge(in_toml(challenge)) == challenge


@pytest.mark.parametrize("name", sorted(challenges()))
def test_built_in_ones_say_what_cannot_be_expressed(name):
    challenge = get_challenge(name)
    text = in_toml(challenge)
    comments = " ".join(line for line in text.splitlines() if line.startswith("# "))
    assert "cannot" in comments
    document = tomllib.loads(text)
    assert challenge.title.split()[0] in document["challenge"]["title"]
    if "measure" in document and "labels" in document:
        parse_challenge(text)


def test_one_that_is_programmed_is_begun():
    document = tomllib.loads(in_toml(Landmarks()))
    assert document["challenge"] == {"name": "landmarks", "title": "Landmarks"}
    assert "distance, lower is better" in in_toml(Landmarks())


class Own(SegmentationChallenge):
    """A challenge with a method replaced."""

    strict: bool = False
    """Whether it is strict."""

    def measure(self, case, truth, prediction):
        """Measure as all do."""
        return super().measure(case, truth, prediction)


def test_methods_and_options_of_ones_own_are_named():
    declared = read_challenge(TOML / "brain-lesions.toml")
    own = Own(**{name: getattr(declared, name) for name in type(declared).model_fields})
    text = in_toml(own)
    assert "which TOML cannot express: measure." in text
    assert "not expressed either: strict." in text
    assert parse_challenge(text) == declared

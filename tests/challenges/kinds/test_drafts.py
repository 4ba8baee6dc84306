"""A first challenge.toml: valid at once, and with any of its comments made use of."""

import re

import pytest

from podium.challenges.kinds.drafts import DRAFTED, draft_challenge, plain_name
from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.toml_files import parse_challenge
from podium.model import InputError

COMMENTED = re.compile(r"^# (?=\[+\w+\]|\w+ = )", re.M)


def test_every_kind_has_a_draft():
    assert set(DRAFTED) == set(KINDS)


@pytest.mark.parametrize("kind", DRAFTED)
def test_a_draft_is_valid_with_and_without_what_is_commented_out(kind):
    text = draft_challenge("my-own", title='My "own"', kind=kind).text
    challenge = parse_challenge(text)
    assert (challenge.name, challenge.title, challenge.kind) == ("my-own", 'My "own"', kind)
    assert challenge.quantities
    assert len(text.splitlines()) <= 60
    full, count = COMMENTED.subn("", text)
    assert count >= 5
    assert parse_challenge(full).words.page == "https://example.org"


def test_labels_are_those_given():
    challenge = parse_challenge(draft_challenge("a", labels={"tumor": 4, "left kidney": 2}).text)
    assert challenge.labels == {"tumor": 4, "left kidney": 2}
    assert challenge.terms[:2] == ("dice_tumor", "dice_left kidney")


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match=r"there is no kind 'segmentatoin'. Did you mean 'segmentation'"):
        draft_challenge("a", kind="segmentatoin")
    with pytest.raises(InputError, match="a name has small letters"):
        draft_challenge("Not a name")
    assert draft_challenge(plain_name("Not a name")).text


@pytest.mark.parametrize(
    ("text", "name"), [("Über 2!", "uber-2"), ("脳", "my-challenge"), ("", "my-challenge"), ("a_b-c", "a_b-c")]
)
def test_names_are_made_plain(text, name):
    assert plain_name(text) == name

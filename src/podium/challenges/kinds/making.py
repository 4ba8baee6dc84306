"""From a declaration to the challenge of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.detection import DetectionChallenge
from podium.challenges.kinds.points import LandmarkChallenge, TrackingChallenge
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.challenges.kinds.tables import ClassificationChallenge, RegressionChallenge
from podium.model import InputError
from podium.model.errors import nearest

__all__ = ["KINDS", "challenge_of"]

_ALL: tuple[type[DeclaredChallenge], ...] = (
    SegmentationChallenge,
    DetectionChallenge,
    LandmarkChallenge,
    ClassificationChallenge,
    RegressionChallenge,
    TrackingChallenge,
)
KINDS: Mapping[str, type[DeclaredChallenge]] = {kind.kind: kind for kind in _ALL}
"""Every kind of challenge that can be declared, by name."""


def challenge_of(options: Mapping[str, Any]) -> DeclaredChallenge:
    """Return the challenge whose `options` these are, with its declaration among them."""
    kind = str(options["declaration"].get("kind"))
    if kind not in KINDS:
        raise InputError(f"there is no kind of challenge called {kind!r}", advice=nearest(kind, KINDS))
    return KINDS[kind].made(**options)

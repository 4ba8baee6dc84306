"""Challenges that are declared, in Python or in a challenge.toml: one class for each kind of prediction."""

from podium.challenges.kinds.declarations import (
    Eligibility,
    Files,
    Images,
    PairedTest,
    Quantity,
    RankingRules,
    Timing,
    Words,
)
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.patterns import Pattern
from podium.challenges.kinds.segmentation import SegmentationChallenge

__all__ = [
    "DeclaredChallenge",
    "Eligibility",
    "Files",
    "Images",
    "PairedTest",
    "Pattern",
    "Quantity",
    "RankingRules",
    "SegmentationChallenge",
    "Timing",
    "Words",
]

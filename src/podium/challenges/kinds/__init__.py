"""Challenges that are declared, in Python or in a challenge.toml: one class for each kind of prediction."""

from podium.challenges.kinds.declarations import (
    Eligibility,
    Images,
    PairedTest,
    Quantity,
    RankingRules,
    Timing,
    Words,
)
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.detection import Candidates, DetectionChallenge
from podium.challenges.kinds.file_names import FileNames
from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.patterns import Pattern
from podium.challenges.kinds.points import LandmarkChallenge, Points, TrackingChallenge, Tracks
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.challenges.kinds.tables import (
    Classes,
    ClassificationChallenge,
    Numbers,
    RegressionChallenge,
    TableFiles,
)
from podium.challenges.kinds.toml_files import parse_challenge, read_challenge

__all__ = [
    "KINDS",
    "Candidates",
    "Classes",
    "ClassificationChallenge",
    "DeclaredChallenge",
    "DetectionChallenge",
    "Eligibility",
    "FileNames",
    "Images",
    "LandmarkChallenge",
    "Numbers",
    "PairedTest",
    "Pattern",
    "Points",
    "Quantity",
    "RankingRules",
    "RegressionChallenge",
    "SegmentationChallenge",
    "TableFiles",
    "Timing",
    "TrackingChallenge",
    "Tracks",
    "Words",
    "parse_challenge",
    "read_challenge",
]

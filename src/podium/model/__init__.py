"""Frozen types that every part of Podium shares. No input, no output."""

from podium.model.challenge import Case, Challenge, Expected, Quantity, Role, Status, Value
from podium.model.cube import Column, Cube, Floats, Scores
from podium.model.errors import InputError
from podium.model.labelmap import LARGEST_LABEL, LONGEST_MM, SHORTEST_MM, Box, LabelMap, as_labels
from podium.model.leaderboard import Entry, Heading, Leaderboard
from podium.model.metric import UNDEFINED, Direction, Metric

__all__ = [
    "LARGEST_LABEL",
    "LONGEST_MM",
    "SHORTEST_MM",
    "UNDEFINED",
    "Box",
    "Case",
    "Challenge",
    "Column",
    "Cube",
    "Direction",
    "Entry",
    "Expected",
    "Floats",
    "Heading",
    "InputError",
    "LabelMap",
    "Leaderboard",
    "Metric",
    "Quantity",
    "Role",
    "Scores",
    "Status",
    "Value",
    "as_labels",
]

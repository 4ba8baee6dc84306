"""Frozen types that every part of Podium shares. No input, no output."""

from podium.model.challenge import TOLERANCE_SCALES, Case, Challenge, Expected, Quantity, Role, Status, Value
from podium.model.cube import Column, Cube, Floats, Scores
from podium.model.errors import InputError
from podium.model.labelmap import LARGEST_LABEL, LONGEST_MM, SHORTEST_MM, Box, LabelMap, as_labels
from podium.model.leaderboard import Entry, Heading, Leaderboard
from podium.model.metric import UNDEFINED, Direction, Metric
from podium.model.views import Agreement, Curves, Line, Panel, Paths, Slices, View

__all__ = [
    "LARGEST_LABEL",
    "LONGEST_MM",
    "SHORTEST_MM",
    "TOLERANCE_SCALES",
    "UNDEFINED",
    "Agreement",
    "Box",
    "Case",
    "Challenge",
    "Column",
    "Cube",
    "Curves",
    "Direction",
    "Entry",
    "Expected",
    "Floats",
    "Heading",
    "InputError",
    "LabelMap",
    "Leaderboard",
    "Line",
    "Metric",
    "Panel",
    "Paths",
    "Quantity",
    "Role",
    "Scores",
    "Slices",
    "Status",
    "Value",
    "View",
    "as_labels",
]

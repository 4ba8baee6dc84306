"""Frozen types that every part of Podium shares. No input, no output."""

from podium.model.challenge import TOLERANCE_SCALES, Case, Challenge, OrganisersKeys, Role, Status, Value
from podium.model.cube import Column, Cube, Floats, Scores
from podium.model.errors import InputError
from podium.model.handed import Handed
from podium.model.interfaces import Interface, Question
from podium.model.labelmap import LARGEST_LABEL, LONGEST_MM, SHORTEST_MM, Box, LabelMap, as_labels, as_spacing
from podium.model.leaderboard import Entry, Leaderboard
from podium.model.measure import LOADING, NOT_RANKED, SECONDS, Measure, Price, Purpose, shown_level, shown_number
from podium.model.metric import UNDEFINED, Direction, Metric
from podium.model.placement import Placement, measured_on, placement_now
from podium.model.scenes import Course, Film, Scene, Sweep, Volume
from podium.model.views import Agreement, Curves, Line, Panel, Paths, Slices, View

__all__ = [
    "LARGEST_LABEL",
    "LOADING",
    "LONGEST_MM",
    "NOT_RANKED",
    "SECONDS",
    "SHORTEST_MM",
    "TOLERANCE_SCALES",
    "UNDEFINED",
    "Agreement",
    "Box",
    "Case",
    "Challenge",
    "Column",
    "Course",
    "Cube",
    "Curves",
    "Direction",
    "Entry",
    "Film",
    "Floats",
    "Handed",
    "InputError",
    "Interface",
    "LabelMap",
    "Leaderboard",
    "Line",
    "Measure",
    "Metric",
    "OrganisersKeys",
    "Panel",
    "Paths",
    "Placement",
    "Price",
    "Purpose",
    "Question",
    "Role",
    "Scene",
    "Scores",
    "Slices",
    "Status",
    "Sweep",
    "Value",
    "View",
    "Volume",
    "as_labels",
    "as_spacing",
    "measured_on",
    "placement_now",
    "shown_level",
    "shown_number",
]

"""Frozen types that every part of Podium shares. No input, no output."""

from podium.model.errors import InputError
from podium.model.labelmap import Box, LabelMap
from podium.model.metric import UNDEFINED, Direction, Metric

__all__ = ["UNDEFINED", "Box", "Direction", "InputError", "LabelMap", "Metric"]

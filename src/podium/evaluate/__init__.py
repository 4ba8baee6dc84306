"""The run: find submissions, pair them with cases, measure, record."""

from podium.evaluate.checking import Problem, check_submission
from podium.evaluate.engine import Measured, evaluate
from podium.evaluate.parts import Parts, sole_writer
from podium.evaluate.pools import dask_pool
from podium.evaluate.record import load_run, write_leaderboard, write_run
from podium.evaluate.submissions import Limits, Submission, find_submissions

__all__ = [
    "Limits",
    "Measured",
    "Parts",
    "Problem",
    "Submission",
    "check_submission",
    "dask_pool",
    "evaluate",
    "find_submissions",
    "load_run",
    "sole_writer",
    "write_leaderboard",
    "write_run",
]

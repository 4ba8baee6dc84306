"""The run: find submissions, pair them with cases, measure, enforce the contract, record, verify."""

from podium.run.checking import Problem, check_submission
from podium.run.contract import Breach, Contract
from podium.run.enclosure import read_enclosed
from podium.run.engine import Evaluation, found_cases, made_by, measure_all
from podium.run.evaluating import evaluate_into
from podium.run.folder import RunFolder
from podium.run.gathering import gather_runs
from podium.run.grand_challenge import evaluate_on_grand_challenge
from podium.run.growing import GrowingRun, growing_run
from podium.run.parts import Part, Parts, digests, sole_writer
from podium.run.pools import Threads, dask_pool
from podium.run.record import Input, RunRecord, read_record
from podium.run.results import (
    leaderboard_document,
    leaderboard_files,
    ranking_document_of,
    ranking_files,
    write_ranking,
)
from podium.run.runs import Run
from podium.run.submissions import Limits, Submission, find_submissions, opened
from podium.run.verifying import Verification, verify_run

__all__ = [
    "Breach",
    "Contract",
    "Evaluation",
    "GrowingRun",
    "Input",
    "Limits",
    "Part",
    "Parts",
    "Problem",
    "Run",
    "RunFolder",
    "RunRecord",
    "Submission",
    "Threads",
    "Verification",
    "check_submission",
    "dask_pool",
    "digests",
    "evaluate_into",
    "evaluate_on_grand_challenge",
    "find_submissions",
    "found_cases",
    "gather_runs",
    "growing_run",
    "leaderboard_document",
    "leaderboard_files",
    "made_by",
    "measure_all",
    "opened",
    "ranking_document_of",
    "ranking_files",
    "read_enclosed",
    "read_record",
    "sole_writer",
    "verify_run",
    "write_ranking",
]

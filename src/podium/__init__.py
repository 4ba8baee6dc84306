"""Podium: exact evaluation and honest ranking of biomedical imaging challenges.

    import podium

    run = podium.evaluate("kits21", truth="truth", submissions="teams", out="run")  # or podium.load("run")
    run.leaderboard
    ranking = run.rank(bootstrap=1000)
    ranking.plot("places")
    run.report()
    podium.rank("table.csv", better="higher").report("out")
    podium.measure("labelsTs", "predictions").summary

Whatever a command does is one call here. Everything is loaded when it is first used, so that importing takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium._front import (
        agreement,
        check,
        compare,
        compare_runs,
        demo,
        evaluate,
        gather,
        grand_challenge,
        list_challenges,
        load,
        rank,
    )
    from podium._front_run import run_algorithm
    from podium.challenges.kinds.any_two import measure
    from podium.challenges.kinds.drafts import draft_challenge
    from podium.model import InputError
    from podium.ranking import Ranking
    from podium.run import Run

__version__ = "0.2.0"

__all__ = [
    "InputError",
    "Ranking",
    "Run",
    "__version__",
    "agreement",
    "check",
    "compare",
    "compare_runs",
    "demo",
    "draft_challenge",
    "evaluate",
    "gather",
    "grand_challenge",
    "list_challenges",
    "load",
    "measure",
    "rank",
    "run_algorithm",
]

_ELSEWHERE = {
    "InputError": "podium.model",
    "Ranking": "podium.ranking",
    "Run": "podium.run",
    "draft_challenge": "podium.challenges.kinds.drafts",
    "measure": "podium.challenges.kinds.any_two",
    "run_algorithm": "podium._front_run",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'podium' has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "podium._front")), name)


def __dir__() -> list[str]:
    return __all__

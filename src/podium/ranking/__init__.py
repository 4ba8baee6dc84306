"""From measurements to places: a cube and weights in, positions out."""

from podium.ranking.leaderboards import cube_of, leaderboard_of, ranked_submissions, scores_alone
from podium.ranking.parts import (
    competition_ranks,
    loading_line,
    min_max_score,
    reported_seconds,
    rounded,
    tie_broken_ranks,
    weighted_mean,
    weighted_sum,
)
from podium.ranking.significance import holm, significance_ranks, significantly_better, wilcoxon_signed_rank

__all__ = [
    "competition_ranks",
    "cube_of",
    "holm",
    "leaderboard_of",
    "loading_line",
    "min_max_score",
    "ranked_submissions",
    "reported_seconds",
    "rounded",
    "scores_alone",
    "significance_ranks",
    "significantly_better",
    "tie_broken_ranks",
    "weighted_mean",
    "weighted_sum",
    "wilcoxon_signed_rank",
]

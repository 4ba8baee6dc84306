"""From measurements to places, and how sure they are: a cube and weights in, positions out."""

from podium.ranking.arithmetic import (
    AVERAGE_RANK,
    average_of_ranks,
    behind_fewer_failures,
    column_ranks,
    competition_ranks,
    counted_seconds,
    exceeds,
    levelled,
    loading_line,
    mean_column,
    mean_rank,
    mean_scales,
    min_max_score,
    several_lengths,
    tie_broken_ranks,
    weighted_mean,
    weighted_sum,
    with_ranks,
)
from podium.ranking.criteria import CriterionPlaces, criterion_distances, rank_by_criterion
from podium.ranking.inference.intervals import COVERAGE, mean_intervals
from podium.ranking.inference.quantiles import weighted_quantile
from podium.ranking.inference.resampling import units_of
from podium.ranking.leaderboards import (
    challenge_rule,
    cube_of,
    leaderboard_of,
    ranked_submissions,
    scores_alone,
)
from podium.ranking.rankings import Ranking
from podium.ranking.rule import Rule
from podium.ranking.schemes import (
    AggregateThenRank,
    RankThenAggregate,
    Scheme,
    TestThenRank,
    scheme_named,
    scheme_rule,
)
from podium.ranking.score_table import ScoreTable, TaskValues, table_of_challenge, table_of_scores

__all__ = [
    "AVERAGE_RANK",
    "COVERAGE",
    "AggregateThenRank",
    "CriterionPlaces",
    "RankThenAggregate",
    "Ranking",
    "Rule",
    "Scheme",
    "ScoreTable",
    "TaskValues",
    "TestThenRank",
    "average_of_ranks",
    "behind_fewer_failures",
    "challenge_rule",
    "column_ranks",
    "competition_ranks",
    "counted_seconds",
    "criterion_distances",
    "cube_of",
    "exceeds",
    "leaderboard_of",
    "levelled",
    "loading_line",
    "mean_column",
    "mean_intervals",
    "mean_rank",
    "mean_scales",
    "min_max_score",
    "rank_by_criterion",
    "ranked_submissions",
    "scheme_named",
    "scheme_rule",
    "scores_alone",
    "several_lengths",
    "table_of_challenge",
    "table_of_scores",
    "tie_broken_ranks",
    "units_of",
    "weighted_mean",
    "weighted_quantile",
    "weighted_sum",
    "with_ranks",
]

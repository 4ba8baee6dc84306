"""From measurements to places, and how sure they are: a cube and weights in, positions out."""

from podium.ranking.assessment import Assessment, assess
from podium.ranking.comparisons import Pairs, RankInterval, rank_intervals
from podium.ranking.confidence import Confidence, confidence
from podium.ranking.contest import Contest
from podium.ranking.intervals import COVERAGE, Intervals, mean_intervals
from podium.ranking.leaderboards import challenge_contest, cube_of, leaderboard_of, ranked_submissions, scores_alone
from podium.ranking.parts import (
    competition_ranks,
    loading_line,
    mean_rank,
    min_max_score,
    reported_seconds,
    rounded,
    tie_broken_ranks,
    weighted_mean,
    weighted_sum,
)
from podium.ranking.quantiles import weighted_quantile
from podium.ranking.resampling import Units, units_of
from podium.ranking.schemes import (
    AggregateThenRank,
    RankThenAggregate,
    Scheme,
    TestThenRank,
    scheme_contest,
    scheme_named,
)
from podium.ranking.score_table import ScoreTable, Task, table_of_challenge, table_of_scores
from podium.ranking.sensitivity import Alternative, Sensitivity, challenge_alternatives, sensitivity, table_alternatives
from podium.ranking.significance import (
    PairedTests,
    adjusted_p,
    holm,
    significance_ranks,
    significantly_better,
    wilcoxon_signed_rank,
)
from podium.ranking.stability import LeftOut, Stability, jackknife, kendall_tau, stability
from podium.ranking.tables import assessment_document, assessment_tables

__all__ = [
    "COVERAGE",
    "AggregateThenRank",
    "Alternative",
    "Assessment",
    "Confidence",
    "Contest",
    "Intervals",
    "LeftOut",
    "PairedTests",
    "Pairs",
    "RankInterval",
    "RankThenAggregate",
    "Scheme",
    "ScoreTable",
    "Sensitivity",
    "Stability",
    "Task",
    "TestThenRank",
    "Units",
    "adjusted_p",
    "assess",
    "assessment_document",
    "assessment_tables",
    "challenge_alternatives",
    "challenge_contest",
    "competition_ranks",
    "confidence",
    "cube_of",
    "holm",
    "jackknife",
    "kendall_tau",
    "leaderboard_of",
    "loading_line",
    "mean_intervals",
    "mean_rank",
    "min_max_score",
    "rank_intervals",
    "ranked_submissions",
    "reported_seconds",
    "rounded",
    "scheme_contest",
    "scheme_named",
    "scores_alone",
    "sensitivity",
    "significance_ranks",
    "significantly_better",
    "stability",
    "table_alternatives",
    "table_of_challenge",
    "table_of_scores",
    "tie_broken_ranks",
    "units_of",
    "weighted_mean",
    "weighted_quantile",
    "weighted_sum",
    "wilcoxon_signed_rank",
]

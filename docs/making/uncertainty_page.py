"""The page that explains how sure a ranking is, to organisers: every number on it is computed when the page is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import simulated
import uncertainty_figures
from matplotlib.figure import Figure
from simulated import CASES, COVERAGE_SIZES, HAND, TEAMS, TRUE_DICE, Clustered, NearlyEqual, Repeated, Sized

import podium
from podium.report.figures import as_bytes, blob_plot
from podium.report.style import drawing, looks

PAGE = "uncertainty.md"
FOLDER = "uncertainty"
RESAMPLES_SHOWN = 8


def pages() -> Iterator[tuple[str, str]]:
    """Yield the page, and its figures as SVG."""
    repeated, first = simulated.repeat_challenge(), simulated.first_challenge()
    resampled = simulated.resample(first, RESAMPLES_SHOWN)
    sized, covered = simulated.sized_challenges(), simulated.coverage()
    clustered = simulated.clustered()
    with drawing():
        yield _picture("challenges", uncertainty_figures.of_challenges(repeated))
        yield _picture("resamples", uncertainty_figures.of_resamples(resampled))
        yield _picture("places", _places(first))
        yield _picture("sizes", uncertainty_figures.of_sizes(sized))
        yield _picture("coverage", uncertainty_figures.of_coverage(covered))
        yield _picture("clusters", uncertainty_figures.of_clusters(clustered))
    parts = [
        opening(),
        about_challenges(repeated),
        about_resamples(first, resampled.counts.tolist()),
        about_sizes(sized, simulated.nearly_equal()),
        about_coverage(covered),
        about_schemes(simulated.hand_example()),
        about_clusters(clustered),
        closing(),
    ]
    yield PAGE, "\n".join(parts)


def _picture(name: str, figure: Figure) -> tuple[str, str]:
    return f"{FOLDER}/{name}.svg", as_bytes(figure, "svg").decode("utf-8")


def _places(ranking: podium.Ranking) -> Figure:
    """Draw Podium's own figure of places, each team in its colour of this page."""
    board = [name for name, place in ranking.places.items() if place]
    order = [TEAMS.index(name) for name in board]
    return blob_plot(
        ranking.stability.places[:, order],
        submissions=board,
        intervals=[(ranking.confidence.ranks[index].best, ranking.confidence.ranks[index].worst) for index in order],
        looks=looks(TEAMS, places=ranking.places),
    )


def percent(share: float) -> str:
    """Return a share in words that never say more than is known: what is rounded away is not none."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %" if share else "none"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def opening() -> str:
    """Say what the page is about, and who competes."""
    true = [f"{dice:.3f} ({team})" for team, dice in zip(TEAMS, TRUE_DICE.tolist(), strict=True)]
    return f"""# How sure is a ranking?

A leaderboard is computed from the cases that happened to be in the test set. Other cases of the same kind would have
given other values, and perhaps another winner. Here is how far that goes, in simulated challenges whose truth is known.
All of them are ranked by Podium, and every number was computed when this page was made. The methods are told in
[ranking.md](ranking.md).

There are {len(TEAMS)} teams. Over all cases of the kind, their mean Dice is {listed(true)}: truly different, and by
little. A case may be easier or harder for everybody by up to {simulated.DIFFICULTY:g}, and each team may do better or
worse in it by up to {simulated.OWN:g}.
"""


def about_challenges(repeated: Repeated) -> str:
    """Say who wins when cases are others."""
    count = len(repeated.places)
    winners = Counter(TEAMS[places.index(1)] for places in repeated.places)
    wins = listed([f"{team} wins {winners[team]}" for team in TEAMS if winners[team]])
    best, *rest = (f"{percent(share)}" for share in repeated.wins.tolist())
    others = listed([f"{team} {share}" for team, share in zip(TEAMS[1:], rest, strict=True)])
    return f"""## One board is not the truth

The same teams, in {count} challenges of {CASES} cases each, drawn anew every time:

![Places of five teams in ten challenges, and how often each wins of 1,000]({FOLDER}/challenges.svg)

Of these {count} challenges {wins}. Nothing about the teams has changed in between, only the cases. Of
{simulated.CHALLENGES:,} such challenges {TEAMS[0]}, truly the best, wins {best}, {others}. All {len(TEAMS)} teams
are in their true order in {percent(repeated.in_order)}.
"""


def about_resamples(ranking: podium.Ranking, counts: Sequence[Sequence[float]]) -> str:
    """Say what is drawn, and what follows for places."""
    missing, most = [row.count(0) for row in counts], max(int(max(row)) for row in counts)
    first, best = next(iter(ranking.places)), TEAMS[0]
    shares = dict(zip(ranking.stability.submissions, ranking.stability.first.tolist(), strict=True))
    interval = ranking.confidence.ranks[TEAMS.index(first)]
    lesson = f"Truly, {first} is the best"
    if first != best:
        lesson = (
            f"{best} is first in {percent(shares[best])}. Truly, {first} has place {TEAMS.index(first) + 1}, but "
            "resamples cannot know that: they are drawn from the very cases that favour it"
        )
    return f"""## What a bootstrap does

Nobody can hold a challenge a thousand times. A resample imitates it: of {CASES} cases {CASES} are drawn with
replacement, and the ranking is made again by the same rules. A case may be drawn several times, and another not at all.
Here are {len(counts)} resamples of the first challenge from above:

![How often each case is drawn in eight resamples, and the board that each gives]({FOLDER}/resamples.svg)

In these, {min(missing)} to {max(missing)} of the {CASES} cases are left out, and others count up to {most} times.
Podium does so {ranking.bootstrap:,} times and counts places:

![Places of each team in 1,000 resamples, and the places that it may truly have]({FOLDER}/places.svg)

{first} is first on the board, and in {percent(shares[first])} of the resamples. {lesson}. So this share tells how much
the board hangs on the cases at hand, which is *stability*. It is not the probability that {first} is the best. What can
be said about that are the grey bands: {first} may truly have any place from {interval.best} to {interval.worst}.
"""


def about_sizes(sized: Mapping[int, Sized], equals: NearlyEqual) -> str:
    """Say how the places that teams may have become fewer."""
    widths = listed([f"{own.width:.1f} with {size} cases" for size, own in sized.items()])
    certain = listed([f"{percent(own.winner)} of those with {size} cases" for size, own in sized.items()])
    right = percent(float(np.mean([own.right for own in sized.values()])))
    counted = len(sized) * simulated.ROUNDS
    return f"""## The places a team may truly have

A rank interval says which places a team may have over all cases of the kind. It follows from who is certainly better
than whom: it goes from one more than the number of those who are certainly ahead, to all less those who are certainly
behind. All intervals of a board are right together, with 95 % confidence.

![Places that five teams may truly have, with 10, 30, 100 and 300 cases]({FOLDER}/sizes.svg)

The more cases, the fewer places are left. {simulated.ROUNDS} challenges of each size were drawn besides those in the
figure. Of {len(TEAMS)} places an interval holds, on average, {widths}. It is certain who is first in {certain}. All
intervals of a challenge held the true places in {right} of these {counted} challenges; promised are 95 %.

Places in resamples promise no such thing. Take {simulated.NEARLY_EQUAL_TEAMS} teams that are as good as equal, with
true means {simulated.NEARLY_EQUAL_GAP:.6f} apart, and {CASES} cases: chance makes the board, and resamples gather
around it. In {simulated.NEARLY_EQUAL_ROUNDS} such challenges the middle 95 % of the places in resamples held the true
places of all teams in {percent(equals.by_resamples)}, rank intervals in {percent(equals.by_intervals)}.

How many cases it takes depends on how far teams are apart, and on how much their differences vary from case to case.
`podium rank --plan` tells it for the teams at hand.
"""


def about_coverage(covered: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Say how often intervals keep their promise."""
    plain, default = (covered["skewed"][method] for method in ("percentile", "bootstrap-t"))
    failing = covered["failing"]
    few, many = COVERAGE_SIZES[0], COVERAGE_SIZES[-1]
    worst = int(np.argmin(failing["bootstrap-t"]))
    cases = COVERAGE_SIZES[worst]
    unseen = percent((1 - simulated.FAILURES) ** cases)
    return f"""## Intervals of few cases

A 95 % interval promises to hold the true mean in 95 of 100 challenges. Where the truth is known, it can be counted
whether it does: in {simulated.SAMPLES:,} simulated test sets for every point of the figure.

![How often 95 % intervals hold the true mean, by the number of cases and by method]({FOLDER}/coverage.svg)

On the left are distances with a long tail, as Hausdorff distances have (log-normal). The plain percentile bootstrap,
which takes the middle 95 % of the means in resamples, holds the truth in {percent(plain[0])} with {few} cases and in
{percent(plain[-1])} with {many}. Podium's default, bootstrap-t, holds it in {percent(default[0])} and
{percent(default[-1])}.

On the right are Dice of an algorithm that fails in {percent(simulated.FAILURES)} of all cases. In {unseen} of the test
sets of {cases} cases no failure is seen, and no resample can invent one: bootstrap-t holds the truth in
{percent(failing["bootstrap-t"][worst])} of them all. `--interval guaranteed` allows for failures that were not seen and
holds it in {percent(failing["guaranteed"][worst])}; its intervals are wider. More populations are in
[what it keeps of its promises](ranking.md#what-it-keeps-of-its-promises).
"""


def about_schemes(rankings: Mapping[str, podium.Ranking]) -> str:
    """Show an example that can be computed by hand, in which two schemes name different winners."""
    mean, rank = rankings["aggregate-then-rank"], rankings["rank-then-aggregate"]
    values = np.array(list(HAND.values()))
    ranks = 1 + np.sum(values[None] > values[:, None], axis=1)
    rows = []
    for index, team in enumerate(HAND):
        cells = [f"{value:.2f} ({place})" for value, place in zip(values[index], ranks[index], strict=True)]
        cells += [f"{_decides(mean, team):.2f}", f"{mean.places[team]}"]
        cells += [f"{_decides(rank, team):.1f}", f"{rank.places[team]}"]
        rows.append(f"| {team} | {' | '.join(cells)} |")
    by_mean, by_rank = next(iter(mean.places)), next(iter(rank.places))
    own = list(HAND).index(by_rank)
    heads = " | ".join(f"case {number}" for number in range(1, values.shape[1] + 1))
    table = "\n".join(rows)
    return f"""## Mean first, or rank first?

{values.shape[1]} cases, {len(HAND)} teams, and in brackets the rank of each within the case:

| | {heads} | mean | place | mean rank | place |
|---|{"---|" * (values.shape[1] + 4)}
{table}

By the mean of the values (`aggregate-then-rank`) {by_mean} wins, and {by_rank} has place {mean.places[by_rank]}. By the
mean of the ranks (`rank-then-aggregate`) {by_rank} wins: it is the best in {int(np.sum(ranks[own] == 1))} of
{values.shape[1]} cases, and that it falls to {values[own].min():.2f} in one costs it no more than coming last there.
Neither is wrong. The mean asks how good a team is on average, failures included; ranks ask how often it is better than
others. So the scheme has to be chosen before results are known. A report tells under which other
[sensible rules](ranking.md#sensitivity-what-if-the-rules-had-been-others) the winner stays.
"""


def _decides(ranking: podium.Ranking, team: str) -> float:
    """Return the value by which a team was ranked."""
    (entry,) = (entry for entry in ranking.leaderboard.ranked if entry.submission == team)
    return float(entry.values["value"] or 0)


def about_clusters(clustered: Clustered) -> str:
    """Say why patients are drawn, and not images."""
    patients, images = clustered.differences.shape
    apart, together = (
        f"from {low:+.3f} to {high:+.3f}".replace("-", "−") for low, high in (clustered.apart, clustered.together)
    )
    return f"""## Several images of one patient

Ten images of one patient are not ten patients: whoever is good in one of them is likely to be good in the others. Here
two teams are truly equal, and are compared in {images} images of each of {patients} patients:

![Differences of two equal teams, image by image, and two intervals of their mean]({FOLDER}/clusters.svg)

This is number {clustered.number} of {simulated.SAMPLES:,} challenges, the first in which it matters. With images drawn
one by one, the interval of the mean difference goes {apart} and leaves out zero: a difference where there is none. With
patients drawn whole, it goes {together}. Of all {simulated.SAMPLES:,} challenges, the first way calls the equal teams
different in {percent(clustered.false_apart)}, the second in {percent(clustered.false_together)}; 5 % is what a 95 %
interval allows itself.

The built-in challenges know what belongs together. In a table the column `cluster` says it
(`--column cluster=patient`), in a declared challenge `cluster` in `[files]`.
"""


STABILITY = "stability-what-if-the-cases-had-been-others"
CONFIDENCE = "confidence-what-can-be-said-about-all-cases-of-the-kind"
CLAIMS = (
    ("A won this challenge.", "the leaderboard", "general-schemes", "", "", "leaderboard"),
    (
        "A stays first when cases are drawn anew from these.",
        "in how many resamples it is first",
        STABILITY,
        "`place_shares.csv`",
        "--bootstrap 1000",
        "stability.first",
    ),
    (
        "A is truly the best, or truly among the first three.",
        "its rank interval",
        CONFIDENCE,
        "`best` and `worst` in `places.csv`",
        "--bootstrap 1000",
        "confidence.ranks",
    ),
    (
        "A is better than B.",
        "who is certainly better",
        "who-is-certainly-better",
        "`better` in `pairs.csv`",
        "--bootstrap 1000",
        "comparisons",
    ),
    (
        "A is better than B by more than matters; or, A and B are as good as each other.",
        "margins",
        "margins-by-more-than-matters",
        "`margins.csv`. That no test tells two apart does not make them equal.",
        "--bootstrap 1000 --margin 0.01",
        "margins(0.01)",
    ),
    (
        "A reaches a mean Dice of 0.85.",
        "its interval",
        CONFIDENCE,
        "`intervals.csv`; where failures are rare, the guaranteed one (of a table, with `--range 0:1`)",
        "--bootstrap 1000 --interval guaranteed",
        "intervals",
    ),
    (
        "It does not hang on a single case.",
        "the ranking without each case",
        STABILITY,
        "`left_out.csv`",
        "--bootstrap 1000",
        "left_out",
    ),
    (
        "It does not hang on the rules.",
        "other sensible rules",
        "sensitivity-what-if-the-rules-had-been-others",
        "`sensitivity.csv`",
        "--bootstrap 1000",
        "sensitivity.kept",
    ),
    (
        "It holds in every centre.",
        "subgroups",
        "subgroups",
        "`subgroups.csv`",
        "--bootstrap 1000 --by centre",
        "subgroups(groups)",
    ),
    (
        "So many cases would settle it.",
        "the plan",
        "how-many-cases-would-it-take",
        "`plan.csv`",
        "--bootstrap 1000 --plan",
        "plan()",
    ),
)
"""What somebody wants to say; what to look at, its section in ranking.md, and a file; options of `podium rank`, and
what to ask of a ranking."""


def closing() -> str:
    """Return the table of what to look at."""
    rows = []
    for say, look, section, file, options, call in CLAIMS:
        where = f"[{look}](ranking.md#{section}){f', {file}' if file else ''}"
        rows.append(f"| {say} | {where} | `podium rank TABLE{f' {options}' if options else ''}` | `ranking.{call}` |")
    table = "\n".join(rows)
    return f"""## What you want to say, and what to look at

`TABLE` stands for a run, or for a table with `--better higher` and its like. `ranking` is what `podium.rank(…)` or
`run.rank()` returns, and files are those that `--out DIR` writes.

| You want to say | Look at | Command | In Python |
|---|---|---|---|
{table}
"""

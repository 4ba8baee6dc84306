"""A ranking: the leaderboard, and everything that tells how sure it is, found out when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from podium.model import InputError, Leaderboard
from podium.ranking.criteria import CriterionPlaces, rank_by_criterion
from podium.ranking.inference.confidence import Confidence, assess_confidence
from podium.ranking.inference.intervals import Method
from podium.ranking.inference.margins import Margin, Margins, judge_margins
from podium.ranking.inference.planning import CasePlan, plan_cases
from podium.ranking.inference.questions import Answer, Questions
from podium.ranking.inference.resampling import check_resamples
from podium.ranking.inference.sensitivity import OtherRule, Sensitivity, assess_sensitivity
from podium.ranking.inference.stability import LeftOut, Stability, assess_stability, firsts, jackknife
from podium.ranking.inference.subgroups import Subgroups, rank_subgroups
from podium.ranking.inference.tidy import ranking_document, ranking_tables
from podium.ranking.rule import Rule
from podium.ranking.score_table import ScoreTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Ranking"]


class Ranking:
    """A leaderboard, and how sure it is.

    The board is there at once; stability, intervals and sensitivity are computed when first asked for, and once.

    Parameters
    ----------
    rule
        A challenge's own (`challenge_rule`), or that of a table under a scheme (`scheme_rule`).
    others
        Makes other rules to compare with: `challenge_alternatives` or `table_alternatives`.
    bootstrap, seed
        How many resamples tell about stability, and which; intervals always take 2,000. 0 for none.
    level, interval
        Of confidence intervals, and how those of columns are made.
    jobs
        Threads, which change no number.
    progress
        Is told what is being done, how much of it is done, and of how much.
    made_with
        The options that made it, as a file can hold them.
    run
        The run that it comes from, if it comes from one; pictures of cases need it.
    table
        The values that a general scheme ranked; figures of cases need these, or a run.

    Attributes
    ----------
    folder
        Where it was written, if it was.
    asked
        What is asked besides, and so in its tables and its document: a plan, margins, subgroups.
    """

    def __init__(
        self,
        rule: Rule,
        others: Callable[[], Iterable[OtherRule]] = tuple,
        *,
        bootstrap: int = 1000,
        seed: int = 1,
        level: float = 0.95,
        interval: Method = "bootstrap-t",
        jobs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        made_with: Mapping[str, Any] | None = None,
        run: Any = None,
        table: ScoreTable | None = None,
    ) -> None:
        check_resamples(bootstrap, competitors=len(rule.competitors))
        self.rule = rule
        self.bootstrap, self.seed, self.level, self.interval = bootstrap, seed, level, interval
        self.made_with = dict(made_with or {})
        self.run, self.table = run, table
        self.folder: Path | None = None
        self.asked = Questions()
        self._others, self._jobs, self._progress = others, jobs, progress

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The ranking itself."""
        return self.rule.leaderboard()

    @property
    def places(self) -> dict[str, int | None]:
        """The place of every submission, from the first; None where it is not ranked."""
        return self.leaderboard.places

    @cached_property
    def stability(self) -> Stability:
        """What becomes of the places when cases are drawn anew."""
        self._demand()
        return assess_stability(
            self.rule, replicates=self.bootstrap, seed=self.seed, jobs=self._jobs, progress=self._tell("resamples")
        )

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What becomes of the places without each case in turn."""
        self._demand()
        return tuple(jackknife(self.rule, progress=self._tell("cases left out")))

    @cached_property
    def criteria(self) -> tuple[CriterionPlaces, ...]:
        """The ranking by each criterion, or task, alone, and what becomes of it when cases are drawn anew."""
        replicates = 0 if self.untold else self.bootstrap
        tell = self._tell("resamples by criterion")
        return rank_by_criterion(self.rule, replicates=replicates, seed=self.seed, jobs=self._jobs, progress=tell)

    @cached_property
    def confidence(self) -> Confidence:
        """Intervals of values, of differences and of places."""
        self._demand()
        return assess_confidence(
            self.rule,
            level=self.level,
            method=self.interval,
            seed=self.seed,
            jobs=self._jobs,
            progress=self._tell("resamples for intervals"),
        )

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """What other rules would have made of the same measurements."""
        return assess_sensitivity(self.rule, self._others())

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Everything as tidy tables by name: places, place_shares, leads, intervals, pairs, left_out, sensitivity.

        And what was asked besides: plan, margins, subgroups.
        """
        return ranking_tables(self)

    @property
    def intervals(self) -> pl.DataFrame:
        """The confidence interval of every value on the board."""
        return self.tables["intervals"]

    @property
    def comparisons(self) -> pl.DataFrame:
        """Every two competitors compared by every criterion: difference, interval, test, and who is better."""
        return self.tables["pairs"]

    @property
    def document(self) -> dict[str, Any]:
        """Everything as plain lists and numbers, for JSON."""
        return ranking_document(self)

    @property
    def untold(self) -> str:
        """Why it cannot be told how sure the ranking is; "" where it can."""
        if not self.bootstrap:
            return "No resampling was asked for."
        if not self.rule.competitors:
            return "Nobody is ranked."
        units = self.rule.units
        if len(units.names) <= len(units.strata):
            where = " in each stratum" if len(units.strata) > 1 else ""
            return f"There is only one {self.rule.unit_words[0]}{where}, so nothing can be drawn anew."
        return ""

    def to_frame(self) -> pl.DataFrame:
        """Return the board as a table; where that can be told, with the places that each may truly have."""
        frame = self.leaderboard.to_frame()
        if self.untold:
            return frame
        places = self.tables["places"].select("submission", "best", "worst", "first_share")
        return frame.join(places, on="submission", how="left", maintain_order="left")

    def again(self, run: Any) -> Ranking:
        """Ask the same of another run."""
        other: Ranking = run.rank(
            bootstrap=self.bootstrap,
            seed=self.seed,
            level=self.level,
            interval=self.interval,
            jobs=self._jobs,
            progress=self._progress,
        )
        return other

    def plan(self, *, chance: float = 0.8) -> CasePlan:
        """Tell how many cases would separate the first from the second; see `plan_cases`.

        Parameters
        ----------
        chance
            With what chance a test set of the number told is to separate them.
        """
        progress = self._tell("test sets")
        return plan_cases(self.rule, level=self.level, chance=chance, seed=self.seed, progress=progress)

    def margins(self, margin: Margin) -> Margins:
        """Tell who is better by more than a margin, no worse by it, or equivalent within it; see `judge_margins`."""
        winners = firsts(self.rule.competitors, self.rule.published.places[0, self.rule.ranked])
        return judge_margins(self.confidence, margin, first=winners)

    def subgroups(self, groups: Mapping[str, str], *, by: str = "group") -> Subgroups:
        """Rank in every subgroup of the cases, and test whether these differ; see `rank_subgroups`.

        Parameters
        ----------
        groups
            The group of each case, by its name or by that of its cluster.
        by
            What the groups are, in one word: "centre".
        """
        return rank_subgroups(self.rule, groups, by=by, seed=self.seed)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """What `asked` asks for, answered."""
        return self.asked.answered(self)

    def changed(self, change: Callable[[Rule], Rule], text: Callable[[str], str] = str) -> Ranking:
        """Return the same ranking with other names or words in its rules, never with other numbers.

        Parameters
        ----------
        change
            From a rule to the same rule in other words.
        text
            Does so with sentences about rules that cannot be tried.
        """

        def built(other: OtherRule) -> Rule:
            try:
                return change(other.build())
            except InputError as error:
                raise InputError(text(str(error))) from None

        def others() -> Iterable[OtherRule]:
            return (replace(other, build=partial(built, other)) for other in self._others())

        ranking = copy(self)
        computed = [name for name, member in vars(Ranking).items() if isinstance(member, cached_property)]
        for name in computed:
            vars(ranking).pop(name, None)
        vars(ranking).update(rule=change(self.rule), _others=others)
        return ranking

    def renamed(self, names: Mapping[str, str], text: Callable[[str], str] = str) -> Ranking:
        """Return the same ranking of a table with other names of submissions; `text` renames them within sentences."""

        def other_rule(rule: Rule) -> Rule:
            return replace(
                rule,
                name=text(rule.name),
                submissions=tuple(names.get(name, name) for name in rule.submissions),
                roles={names.get(name, name): role for name, role in rule.roles.items()},
                remarks={names.get(name, name): text(why) for name, why in rule.remarks.items()},
                notes=tuple(map(text, rule.notes)),
            )

        ranking = self.changed(other_rule, text)
        rule, table = ranking.rule, self.table
        if table is not None:
            table = replace(table, submissions=rule.submissions, roles=rule.roles, remarks={}, notes=rule.notes)
        ranking.table = table
        return ranking

    def plot(self, name: str) -> Figure:
        """Draw a figure; `podium.report.figures.FIGURES` lists their names."""
        from podium.report import figure_of

        return figure_of(self, name)

    def report(self, out: str | Path | None = None, **options: Any) -> Path:
        """Write a page about this ranking, and return where it is.

        Parameters
        ----------
        out
            The page, or the folder that it goes to; by default the run folder.
        options
            See `podium.report.write_report`.
        """
        from podium.report import write_report

        return write_report(self, None if out is None else Path(out), **options)

    def _repr_html_(self) -> str:
        return self.leaderboard._repr_html_()

    def __repr__(self) -> str:
        first = ", ".join(entry.submission for entry in self.leaderboard.ranked if entry.place == 1) or "nobody"
        return f"<Ranking of {len(self.rule.competitors)} by {self.rule.name}, {self.rule.edition}: {first} first>"

    def _tell(self, what: str) -> Callable[[int, int], None] | None:
        return partial(self._progress, what) if self._progress else None

    def _demand(self) -> None:
        if not self.bootstrap:
            raise InputError(
                "how sure a ranking is needs resamples", advice="Ask for some: rank(bootstrap=1000), --bootstrap 1000"
            )

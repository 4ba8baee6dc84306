"""A ranking: the board at once, everything else when it is asked for and once, drawn and written as a page."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import podium
from podium import _front_rank, _front_tables
from podium.model import InputError
from podium.ranking import Ranking
from podium.ranking.inference.confidence import assess_confidence
from podium.ranking.inference.sensitivity import OtherRule
from podium.ranking.inference.stability import assess_stability
from podium.ranking.inference.tidy import ranking_tables
from podium.report.figures import FIGURES

VALUES = np.random.default_rng(1).random((3, 12)) + 0.3 * np.arange(3)[:, None]

# Of a rule alone. Those that need no cases are drawn; of the others it is said why they are not.
DRAWN = {"places", "lines_over_schemes", "tau_violin", "significance_map", "forest_plot"}
NOT_DRAWN = {
    "dots_and_boxes": "single cases",
    "podium_plot": "single cases",
    "ranking_heatmap": "single cases",
    "case_heatmap": "single cases",
    "accuracy_runtime": "No submission reported how long it took",
    "people_band": "how far people agree",
    "metric_correlation": "single cases",
    "consensus": "only one task",
    "places_by_criterion": "only one task",
    "places_by_submission": "only one task",
    "criteria_compared": "only one task",
    "dendrogram": "only one task",
}
WITHOUT_RESAMPLES = "how sure a ranking is needs resamples.*rank\\(bootstrap=1000\\), --bootstrap 1000"


def test_it_is_what_its_parts_are(ranking_of, rule_from):
    ranking, rule = ranking_of(VALUES, seed=7), rule_from(VALUES)
    np.testing.assert_array_equal(ranking.stability.places, assess_stability(rule, replicates=300, seed=7).places)
    confidence = assess_confidence(rule, seed=7)  # by 2,000 resamples, however few tell about stability
    assert ranking.confidence.ranks == confidence.ranks
    np.testing.assert_array_equal(ranking.confidence.columns["value"], confidence.columns["value"])
    assert [left_out.name for left_out in ranking.left_out] == list(rule.rows)
    assert ranking.leaderboard == rule.leaderboard()
    assert ranking.places == {"T2": 1, "T1": 2, "T0": 3}
    assert len(ranking.sensitivity.alternatives) == 4
    for name, table in ranking_tables(ranking).items():
        assert table.equals(ranking.tables[name])
    assert ranking.intervals.equals(ranking.tables["intervals"])
    assert ranking.comparisons.equals(ranking.tables["pairs"])


def test_its_options_are_passed_on(ranking_of, rule_from):
    ranking = ranking_of(VALUES, seed=3, level=0.8, interval="percentile", jobs=1)
    expected = assess_confidence(rule_from(VALUES), seed=3, level=0.8, method="percentile")
    assert (ranking.confidence.level, ranking.confidence.method) == (0.8, "percentile")
    np.testing.assert_array_equal(ranking.confidence.columns["value"], expected.columns["value"])
    assert ranking.stability.seed == 3


@pytest.fixture
def counting(rule_from):
    """Return a ranking, and a list of what is done for it: its rule called, and other rules asked for."""
    done = []
    rule = rule_from(VALUES)
    score = rule.score

    def counted(weights):
        done.append("score")
        return score(weights)

    def others():
        done.append("others")
        return ()

    object.__setattr__(rule, "score", counted)
    return Ranking(rule, others, bootstrap=300, progress=lambda what, *_: done.append(what)), done


def test_nothing_is_computed_before_it_is_asked_for(counting):
    ranking, done = counting
    assert done == []
    assert ranking.leaderboard.places["T2"] == 1
    assert ranking._repr_html_()
    assert ranking.untold == ""
    assert done == ["score"]  # the board needs nothing else


def test_everything_is_computed_once(counting):
    ranking, done = counting
    for name in ("stability", "left_out", "confidence", "sensitivity", "leaderboard", "tables"):
        before = getattr(ranking, name)
        so_far = list(done)
        assert getattr(ranking, name) is before
        assert done == so_far
    assert done.count("others") == 1
    so_far = list(done)
    json.dumps(ranking.document, allow_nan=False)
    assert ranking.to_frame().height == ranking.intervals.height == 3
    ranking.plot("places")
    assert done == so_far  # all of it follows from what is known


def test_progress_is_told_in_stages(ranking_of):
    stages = []
    ranking = ranking_of(VALUES, progress=lambda what, done, total: stages.append((what, done, total)))
    assert ranking.tables
    assert [what for what, done, total in stages if done == total] == [
        "resamples",
        "resamples for intervals",
        "cases left out",
    ]


def test_the_board_as_a_table(ranking_of):
    ranking = ranking_of(VALUES)
    frame = ranking.to_frame()
    assert frame["submission"].to_list() == ["T2", "T1", "T0"]
    assert frame["place"].to_list() == [1, 2, 3]
    np.testing.assert_allclose(frame["value"], VALUES.mean(axis=1)[::-1])
    assert frame["best"].to_list() == [rank.best for rank in ranking.confidence.ranks][::-1]
    assert frame["worst"].to_list() == [rank.worst for rank in ranking.confidence.ranks][::-1]
    assert frame["first_share"].to_list() == ranking.stability.first[::-1].tolist()
    plain = ranking_of(VALUES, bootstrap=0).to_frame()
    assert plain.equals(frame.drop("best", "worst", "first_share"))


def test_who_is_not_ranked_is_on_the_board_without_places(run_of):
    frame = Ranking(run_of("kits21").rule, bootstrap=100).to_frame()
    assert frame["submission"][-1] == "zero-baseline"
    assert frame.row(-1, named=True)["best"] is None
    assert frame.filter(pl.col("role") == "competitor")["best"].null_count() == 0


def test_it_shows_itself(ranking_of):
    ranking = ranking_of(VALUES)
    page = ranking._repr_html_()
    assert page.startswith("<table>")
    assert [page.index(name) for name in ("T2", "T1", "T0")] == sorted(page.index(name) for name in ("T2", "T1", "T0"))
    assert f"{VALUES[2].mean():.4f}" in page
    assert repr(ranking) == "<Ranking of 3 by table, mean then rank: T2 first>"
    assert repr(ranking_of(np.full((2, 3), 0.5))).endswith(": T0, T1 first>")


def test_every_figure_of_a_table_is_drawn_or_it_is_said_why_not(ranking_of):
    assert set(FIGURES) == DRAWN | set(NOT_DRAWN)
    ranking = ranking_of(VALUES)
    for name in DRAWN:
        assert ranking.plot(name).axes
    for name, why in NOT_DRAWN.items():
        with pytest.raises(InputError, match=f"there is nothing to draw: .*{why}"):
            ranking.plot(name)
    with pytest.raises(InputError, match="no figure called 'pie'"):
        ranking.plot("pie")


def test_a_page_about_a_table(ranking_of, tmp_path):
    ranking = ranking_of(VALUES)
    page = ranking.report(tmp_path / "about", formats=("svg",))
    assert page == tmp_path / "about" / "report.html"
    text = page.read_text()
    assert all(team in text for team in ("T0", "T1", "T2"))
    assert {path.stem for path in (tmp_path / "about" / "figures").iterdir()} == DRAWN
    assert ranking.report(tmp_path / "page.html", only=["places"], formats=()) == tmp_path / "page.html"
    with pytest.raises(InputError, match="needs a place for its page"):
        ranking.report()


def test_another_name_changes_nothing_else(ranking_of):
    ranking = ranking_of(VALUES)
    assert ranking.stability.submissions == ("T0", "T1", "T2")
    names = {"T0": "C", "T2": "A"}
    other = ranking.renamed(names)
    assert other.places == {"A": 1, "T1": 2, "C": 3}
    assert other.stability.submissions == ("C", "T1", "A")
    np.testing.assert_array_equal(other.stability.places, ranking.stability.places)
    assert other.confidence.ranks == ranking.confidence.ranks
    assert [rule.winners for rule in other.sensitivity.alternatives] == [
        tuple(names.get(name, name) for name in rule.winners) for rule in ranking.sensitivity.alternatives
    ]
    assert ranking.places == {"T2": 1, "T1": 2, "T0": 3}


def test_other_names_stand_in_every_sentence(rule_from):
    rule = replace(rule_from(VALUES), name="T1.csv", notes=("T1 is late.",), remarks={"T0": "as T1"})

    def refused():
        raise InputError("T2 cannot be ranked so")

    ranking = Ranking(rule, lambda: [OtherRule("odd", refused)]).renamed(
        {"T0": "A", "T1": "B", "T2": "C"}, lambda text: text.replace("T1", "B").replace("T2", "C")
    )
    assert (ranking.rule.name, ranking.rule.notes, ranking.rule.remarks) == ("B.csv", ("B is late.",), {"A": "as B"})
    assert ranking.sensitivity.impossible == {"odd": "C cannot be ranked so"}


def test_without_resamples_it_is_said_what_to_ask_for(ranking_of, tmp_path):
    ranking = ranking_of(VALUES, bootstrap=0)
    for name in ("stability", "left_out", "confidence", "tables", "intervals", "comparisons", "document"):
        with pytest.raises(InputError, match=WITHOUT_RESAMPLES):
            getattr(ranking, name)
    assert ranking.untold == "No resampling was asked for."
    assert len(ranking.sensitivity.alternatives) == 4  # other rules draw nothing anew
    with pytest.raises(InputError, match="No resampling was asked for"):
        ranking.plot("places")
    assert "No resampling was asked for" in ranking.report(tmp_path, formats=()).read_text()


def test_why_it_cannot_be_told(ranking_of, run_of):
    assert ranking_of(VALUES).untold == ""
    alone = ranking_of(VALUES[:, :1])
    assert alone.untold == "There is only one case, so nothing can be drawn anew."
    assert alone.to_frame()["place"].to_list() == [1, 2, 3]
    each = ranking_of({"liver": VALUES[:, :1], "spleen": VALUES[:, 1:2]})
    assert each.untold == "There is only one case in each stratum, so nothing can be drawn anew."
    assert sorted(each.to_frame()["submission"]) == ["T0", "T1", "T2"]
    # Nobody is timed, and timing is required.
    run = run_of("trackrad2025")
    nobody = Ranking(run._replace(table=run.table.filter(pl.col("metric") != "seconds")).rule)
    assert nobody.untold == "Nobody is ranked."
    assert set(nobody.to_frame()["place"]) == {None}
    assert repr(nobody).endswith(": nobody first>")


def test_a_table_from_the_front_door(tmp_path):
    rows = [f"T{team},c{case},{value}" for team, own in enumerate(VALUES) for case, value in enumerate(own)]
    (tmp_path / "table.csv").write_text("\n".join(["submission,case,value", *rows]))
    ranking = podium.rank(tmp_path / "table.csv", better="higher", bootstrap=200, out=tmp_path / "out")
    assert ranking.places == {"T2": 1, "T1": 2, "T0": 3}
    assert ranking.made_with == {"scheme": "mean then rank", "better": "higher", "missing": None, "tasks": []}
    assert ranking.folder == tmp_path / "out"
    assert json.loads((tmp_path / "out" / "ranking.json").read_text())["stability"]["resamples"] == 200


def test_a_table_in_memory_is_ranked_like_a_file():
    wide = pl.DataFrame({"case": ["1", "2"], "a": [0.5, 0.6], "b": [0.7, 0.8]})
    ranking = podium.rank(wide, better="higher", bootstrap=0)
    assert ranking.places == {"b": 1, "a": 2}
    assert ranking.leaderboard.notes == ("Teams are columns: a, b.",)
    with pytest.raises(InputError, match="--sheet are for files"):
        podium.rank(wide, better="higher", sheet="1")


def test_options_of_schemes_are_passed_on(monkeypatch):
    """What they mean is the scheme's; where nothing was said, nothing is passed on."""
    given = {}

    def recording(name, module, function):
        def call(*arguments, **options):
            given[name] = {key: options.pop(key) for key in ("consensus", "differences") if key in options}
            return function(*arguments, **options)

        monkeypatch.setattr(module, function.__name__, call)

    recording("rule", _front_tables, _front_tables.scheme_rule)
    recording("scheme", _front_rank, _front_rank.scheme_named)
    table = pl.DataFrame({"case": ["1", "2"], "a": [0.5, 0.6], "b": [0.7, 0.8]})
    podium.rank(table, better="higher", bootstrap=0)
    assert given == {"rule": {}, "scheme": {}}
    ranking = podium.rank(table, better="higher", bootstrap=0, consensus="average", differences="raw")
    assert given == {"rule": {"consensus": "average"}, "scheme": {"differences": "raw"}}
    assert ranking.made_with["consensus"] == "average"


def test_more_resamples_than_fit_are_refused_at_once(ranking_of):
    with pytest.raises(InputError, match="Ask for 1,000,000 at most"):
        ranking_of(VALUES, bootstrap=10**9)
    many = np.random.default_rng(0).random((500, 2))
    with pytest.raises(InputError, match="Ask for 33,000 at most"):
        ranking_of(many, bootstrap=40_000)
    assert ranking_of(many, bootstrap=33_000).bootstrap == 33_000

"""Pages for others: what is in every byte of them, and what is not."""

import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from browsing import PHONE, serious, too_wide, unfold
from leaks import distinctive_run, leaked, secrets_of
from reports import synthetic_scores, write_run_folder

import podium
from podium.challenges import challenges
from podium.model import InputError
from podium.report import audience as audiences
from podium.report import write_report
from podium.report._contents import full_rules
from podium.report.audience import Audience, Secrets
from podium.report.build import build_report
from podium.report.data import ReportData, gather
from podium.report.figures import FIGURES, gallery
from podium.report.page import render

pytestmark = pytest.mark.slow
TEAM = "team 03"
NAMES = sorted(challenges())


def page_of(data, folder):
    """Write a page without figures, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(render(data))
    return folder


@pytest.fixture(scope="module")
def run():
    """Return a run of a challenge with one measure that is full of secrets."""
    return distinctive_run("tusrec")


@pytest.fixture(scope="module")
def ranking(run):
    """Return its ranking."""
    return run.rank(bootstrap=20)


# Laws over all challenges


@pytest.mark.parametrize("name", NAMES)
def test_no_page_for_others_holds_what_is_not_theirs(name, tmp_path):
    run = distinctive_run(name)
    ranking = run.rank(bootstrap=20)
    public = gather(ranking, audience=Audience.PUBLIC)
    assert leaked(page_of(public, tmp_path / "public"), secrets_of(ranking)) == {}
    team = gather(ranking, submission=TEAM, audience=Audience.TEAM)
    assert leaked(page_of(team, tmp_path / "team"), secrets_of(ranking, but=TEAM)) == {}
    text = (tmp_path / "team" / "report.html").read_text()
    assert "quokka05" in text
    assert "is beyond" not in text or TEAM in [submission for submission, *_ in run.failures.rows()]


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_no_file_for_others_holds_what_is_not_theirs(written_demo, few_cases, name, tmp_path):
    inputs = {"truth": few_cases(name), "submissions": written_demo(name) / "submissions"}
    run = podium.evaluate(name, **inputs, out=tmp_path / "run", jobs=1)
    ranking, team = run.rank(bootstrap=20), run.leaderboard.entries[-1].submission
    rules = full_rules(run.challenge).casefold()  # which name files as examples
    of_cases = ["dots_and_boxes", "podium_plot", "case_heatmap"]
    for options, only in (({"public": True}, None), ({"team": team}, of_cases)):
        formats = ["svg", "pdf"] if name == "tusrec" else ["svg"]  # as files, all are made by the same few lines
        page = write_report(ranking, only=only, formats=formats, **options)
        secrets = secrets_of(ranking, but=options.get("team"))
        for kind in ("cases", "files"):  # names such as A are also words
            secrets[kind] = {word for word in secrets[kind] if len(word) > 3 and word.casefold() not in rules}
        del secrets["values"]  # real ones are like means and intervals: for these, values were made that are not
        assert leaked(page.parent, secrets) == {}


# The search is able to fail


def test_the_organisers_page_holds_all_of_it(ranking, tmp_path):
    page = page_of(gather(ranking), tmp_path)
    assert set(leaked(page, secrets_of(ranking))) == set(secrets_of(ranking))


def test_a_figure_that_tells_cases_is_noticed(ranking, tmp_path, monkeypatch):
    data = gather(ranking, audience=Audience.PUBLIC)
    write = partial(build_report, data, figures=tmp_path / "figures", only=["case_heatmap"], formats=["svg"])
    write(tmp_path / "report.html")
    assert leaked(tmp_path, secrets_of(ranking)) == {}
    wrong = replace(FIGURES["case_heatmap"], aggregate=True)
    monkeypatch.setitem(gallery.FIGURES, "case_heatmap", wrong)
    write(tmp_path / "report.html")
    assert "cases" in leaked(tmp_path, secrets_of(ranking))


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        (("_published", lambda data, _: data.info), {"machine"}),
        (("_empty", lambda cube: cube), {"cases"}),
        (("_quiet", lambda table, *_: table), {"paths"}),
        (("_board", lambda board, _: board), {"cases"}),
    ],
    ids=["run.json", "values", "reasons", "remarks"],
)
def test_what_is_forgotten_is_noticed(fault, kinds, tmp_path, monkeypatch):
    run = distinctive_run("lvquan18")
    monkeypatch.setattr(audiences, *fault)
    reads = {"submission": TEAM, "audience": Audience.TEAM} if fault[0] == "_quiet" else {"audience": Audience.PUBLIC}
    ranking = run.rank(bootstrap=0)
    data = gather(ranking, **reads)
    assert kinds <= set(leaked(page_of(data, tmp_path), secrets_of(ranking, but=reads.get("submission"))))


def test_values_that_are_shown_though_nobodys_are_seen_are_noticed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(audiences, "_empty", lambda cube: cube)
    monkeypatch.setattr(ReportData, "seen", property(lambda data: data.submissions))
    ranking = run.rank(bootstrap=0)
    page = page_of(gather(ranking, audience=Audience.PUBLIC), tmp_path)
    assert "values" in leaked(page, secrets_of(ranking))


# What is taken out, and what stays


def test_the_public_sees_the_board_and_how_sure_it_is(run, ranking):
    data = gather(ranking, audience=Audience.PUBLIC)
    assert data.board.columns == run.leaderboard.columns
    assert [entry.values for entry in data.board.entries] == [entry.values for entry in run.leaderboard.entries]
    assert data.assessment.confidence.ranks == ranking.confidence.ranks
    np.testing.assert_array_equal(data.assessment.stability.places, ranking.stability.places)
    assert [without.tau for without in data.assessment.left_out] == [without.tau for without in ranking.left_out]
    assert {without.name for without in data.assessment.left_out} == {""}
    assert data.cases == ()
    assert data.measurements.is_empty()
    assert data.failures.is_empty()
    assert data.assessment.run is None
    text = render(data)
    assert "Public page: it tells of no single case." in text
    assert "9 scans" in text
    assert f"{TEAM}</bdi>: 1 failed case of 9" in text
    assert 'id="cases"' not in text


def test_a_team_sees_its_own_cases_and_nothing_of_others(ranking):
    data = gather(ranking, submission=TEAM, audience=Audience.TEAM)
    assert data.seen == (TEAM,)
    own = [name == TEAM for name in data.submissions]
    for measure in data.measures:
        known = np.isfinite(data.values(measure))
        assert known.any(axis=1).tolist() == own
    assert set(data.measurements["submission"]) == set(data.failures["submission"]) == {TEAM}
    document = json.loads(re.search(r'id="data">(.*?)</script>', render(data))[1])
    assert [bool(values) for values in document["values"][0]] == own
    assert document["submissions"][own.index(True)]["failures"] == [
        ["quokka02", "invalid", "quokka02.wombat: 12.3457 mm is beyond …/quokka02.wombat"]
    ]
    assert [bool(other["failures"]) for other in document["submissions"]] == own


def test_prices_that_follow_from_the_truth_are_not_for_a_team():
    for name, hidden in (("trackrad2025", {"hd95": True, "masd": True, "centre_distance": True}), ("kits21", {})):
        data = gather(distinctive_run(name).rank(bootstrap=0), submission=TEAM, audience=Audience.TEAM)
        for measure in data.measures:
            failed = data.failed(measure, (TEAM,))
            assert failed.sum() == 1
            assert bool(np.isnan(data.values(measure, (TEAM,))[failed])) == hidden.get(measure.key[0], False)


@pytest.mark.parametrize("options", [{"public": True}, {"team": "Bumblebee"}])
def test_pages_of_tables_for_others(options, tmp_path):
    names = ["Aardvark", "Bumblebee", "Capybara"]
    scores = synthetic_scores(cases=6, names=names, tasks=["liver", "spleen"], lacking=0.1)
    scores = scores.with_columns(pl.col("case").str.replace("case ", "quokka0"))
    ranking = podium.rank(scores, better="higher", missing="worst", bootstrap=20)
    team = options.get("team")
    page = ranking.report(tmp_path, only=["dots_and_boxes", "case_heatmap", "ranking_heatmap"], **options)
    others = scores.filter(pl.col("submission") != team)["value"].drop_nulls().to_list() if team else scores["value"]
    text = "".join(path.read_text() for path in [page, *(tmp_path / "figures").iterdir()])
    assert ("quokka0" in text) == (team is not None)
    assert not [value for value in others if value is not None and 0 < value < 1 and f"{value:.5g}" in text]
    worst = [note for note in ranking.leaderboard.notes if "the worst that anybody has" in note]
    assert worst
    assert not any(note in text for note in worst)
    assert "it counts as" not in text
    assert "2 tasks" in text
    assert "6 cases" in text


def test_of_a_sentence_only_what_holds_no_secret_is_kept():
    secrets = Secrets(frozenset({"1", "Scan_7", "/vault/truth"}), np.array([0.05123, 12.0]))
    assert secrets.kept("incomplete: 1 of 12 scans: scan_7") == "incomplete"
    assert secrets.kept("12 of 12 scans; p < 0.05") == "12 of 12 scans; p < 0.05"
    assert secrets.kept("it counts as 0.0512") == ""
    assert secrets.kept("read from /vault/truth/x") == ""
    assert secrets.kept("SCAN_7.nii is damaged") == ""


def test_options_that_name_cases_or_files_stay_with_the_organiser():
    changed = distinctive_run()
    changed.challenge = changed.challenge.varied(left_out=["quokka55"])
    data = gather(changed.rank(bootstrap=0), audience=Audience.PUBLIC)
    assert "left_out" not in data.info["options"]
    assert "reference" in data.info["options"]
    assert "quokka55" in render(data.whole)
    assert "quokka55" not in render(data)


# Where it goes


def test_pages_for_others_have_folders_of_their_own(run, tmp_path):
    folder = write_run_folder(run, tmp_path / "run")
    ranking = podium.load(folder).rank(bootstrap=0)
    chosen = {"only": ["case_heatmap"], "pictures": False}
    page = ranking.report(public=True, **chosen)
    assert page == folder / "public" / "report.html"
    private = ranking.report(team=TEAM, **chosen)
    assert private.parent.parent == folder / "teams"
    assert private.parent.name.startswith("team-03~")
    written = set(json.loads((folder / ".podium.json").read_text())["files"])
    assert {"public/report.html", "public/.podium.json"} <= written
    assert not (folder / "report.html").exists()


def test_nothing_of_the_organisers_is_left_beside_a_public_page(ranking, tmp_path):
    chosen = {"only": ["case_heatmap"], "formats": ["svg"]}
    ranking.report(tmp_path, **chosen)
    assert leaked(tmp_path, secrets_of(ranking))
    ranking.report(tmp_path, public=True, **chosen)
    assert leaked(tmp_path, secrets_of(ranking)) == {}
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"public": True, "team": TEAM}, "Give team or public"),
        ({"submission": TEAM, "team": TEAM}, "Give team or submission"),
        ({"public": True, "images": "."}, "only the organiser's page has them"),
        ({"team": "nobody"}, "there is no submission called 'nobody'"),
    ],
)
def test_what_does_not_go_together_is_refused(ranking, options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        ranking.report(tmp_path, **options)


def test_every_page_says_whose_it_is(ranking):
    head = re.compile(r'id="reader">(.*?)</p>')
    assert "Organiser&#39;s copy" in head.search(render(gather(ranking)))[1]
    private = gather(ranking, submission=TEAM, anonymise=True, audience=Audience.TEAM)
    assert f"Private page of {TEAM}" in head.search(render(private))[1]
    assert set(private.submissions) == {"A", "B", "C", TEAM}


def test_pages_for_others_work_in_a_browser(visit, ranking, tmp_path):
    page = visit(page_of(gather(ranking, audience=Audience.PUBLIC), tmp_path / "public") / "report.html", size=PHONE)
    assert serious(page) == []
    assert not too_wide(page)
    assert unfold(page, "#submission-0").locator("table").count() == 1  # what made its place
    private = gather(ranking, submission=TEAM, audience=Audience.TEAM)
    page = visit(page_of(private, tmp_path / "team") / "report.html")
    assert serious(page) == []
    own = private.submissions.index(TEAM)
    rows = page.locator(f"#submission-{own} [aria-label='Case by case'] tbody tr")
    assert rows.count() == 9
    assert rows.nth(2).inner_text().startswith("quokka02 failed")
    assert page.locator("#submissions [aria-label='Case by case'] a").count() == 0
    unfold(page, f"#submission-{own - 1}")
    assert page.locator("#submissions [aria-label='Case by case']").count() == 1

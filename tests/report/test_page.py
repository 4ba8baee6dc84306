"""The page as text: everything is there, nothing of others acts, and whatever the run was, there is a page."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from reports import (
    DEGENERATE,
    HOSTILE,
    STRANGE_TABLES,
    run_of,
    synthetic_report,
    synthetic_run,
    table_ranking,
    write_run_folder,
)

import podium
from podium.report import build, page
from podium.report._contents import board, failures, full_rules, hashes
from podium.report._document import packed
from podium.report.build import build_report
from podium.report.data import gather
from podium.report.figures import gallery
from podium.report.page import Group, Image, Shown, ShownFigure, render

pytestmark = pytest.mark.slow


class Parsed(HTMLParser):
    """What a browser would see: elements, texts, scripts."""

    VOID = ("meta", "img", "input", "br", "hr", "link", "rect", "path", "use", "image", "circle", "line")

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.texts, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Note an element, and that it is open."""
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        """Note an element that closes itself."""
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        """Close the element that was opened last, and no other."""
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        """Note text where it is read, and scripts."""
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def all(self, tag, **attributes):
        """Return the attributes of all such elements."""
        return [own for name, own in self.tags if name == tag and attributes.items() <= own.items()]


@pytest.fixture(scope="module")
def data():
    return synthetic_report(6, 12, bootstrap=100, baseline=True, failing=0.08)


@pytest.fixture(scope="module")
def parsed(data):
    return Parsed(render(data))


def embedded(parsed):
    return json.loads(parsed.scripts[0])


def test_the_page_is_well_formed_and_in_order(parsed):
    assert parsed.open == []
    sections = [own["id"] for own in parsed.all("section")]
    assert sections == [
        "verdict",
        "leaderboard",
        "certainty",
        "criteria",
        "figures",
        "failures",
        "rules",
        "submissions",
        "cases",
    ]
    anchors = {own["href"][1:] for own in parsed.all("a") if own.get("href", "").startswith("#")}
    identifiers = [own["id"] for _, own in parsed.tags if "id" in own]
    assert len(identifiers) == len(set(identifiers))
    assert anchors <= set(identifiers)


def test_nothing_is_fetched_and_only_the_own_script_may_run(parsed):
    policy = next(own["content"] for own in parsed.all("meta") if own.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(parsed.scripts[1].encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "http" not in policy
    for tag, own in parsed.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in own)
        assert "src" not in own or own["src"].startswith("data:image/")
    outside = {own["href"] for own in parsed.all("a") if "//" in own.get("href", "")}
    assert outside == {"https://kits21.kits-challenge.org"}


def values_in(document):
    """Return the values of each measure, which are kept in units of their last decimal."""
    kept = zip(document["measures"], document["values"], strict=True)
    return [np.array(values, float) / 10 ** measure["digits"] for measure, values in kept]


def test_every_submission_case_and_value_is_in_the_page(data, parsed):
    document = embedded(parsed)
    assert [each["name"] for each in document["submissions"]] == list(data.submissions)
    assert document["cases"] == list(data.cases)
    for measure, values in zip(data.measures, values_in(document), strict=True):
        assert np.allclose(values, data.values(measure), atol=1e-4)
    for index, name in enumerate(data.submissions):
        failed = document["submissions"][index]["failed"]
        lost = data.cube.failed[data.cube.submissions.index(name)]
        assert failed[::2] == np.flatnonzero(lost).tolist()
        for row, reason in zip(failed[::2], failed[1::2], strict=True):
            assert data.cases[row] in document["reasons"][reason]
    assert len(parsed.all("details")) > len(data.cases) + len(data.submissions)


def test_the_leaderboard_has_the_challenges_columns_and_intervals(data):
    table = board(data)
    assert [column.measure for column in table.columns] == list(data.board.columns)
    assert table.columns[0].shown
    assert table.hidden == 6  # the ranks within criteria
    assert [row.submission for row in table.rows] == list(data.submissions)
    interval = data.assessment.confidence.columns["dice_mass"]
    first = table.rows[0]
    column = [column.measure.name for column in table.columns].index("dice_mass")
    index = data.assessment.confidence.submissions.index(first.submission)
    assert first.cells[column].interval == f"{interval.low[index]:.4f} to {interval.high[index]:.4f}"
    assert float(first.cells[column].key) == data.board.entries[0].values["dice_mass"]
    assert table.rows[-1].role == "baseline"
    assert table.rows[-1].best is None


def test_what_failures_cost(data):
    for failure in failures(data):
        place = data.cube.submissions.index(failure.submission)
        lost = data.cube.failed[place]
        assert failure.cases == lost.sum()
        values = data.cube.of("dice", "mass")[place]
        cost = next(each for each in failure.costs if each.title == "Dice mass ↑")
        assert cost.measured == f"{values[~lost].mean():.4f}"
        assert cost.priced == f"{values.mean():.4f}"
        assert len(failure.lines) >= failure.cases
    assert failures(synthetic_report(3, 4, bootstrap=0, failing=0.0)) == []


def test_what_was_not_drawn_is_said_once_for_each_reason(data):
    nobody = [("Places", "Nobody is ranked."), ("Means", "Nobody is ranked."), ("Time", "No time was told.")]
    read = " ".join(" ".join(Parsed(render(data, Shown(absent=nobody))).texts).split())
    assert "Nobody is ranked. Places; Means" in read
    assert read.count("Nobody is ranked.") == 1


def test_an_edition_is_told_only_where_there_are_several(data):
    assert "Rules as documented" in render(data)
    masks = {f"case_{number}": np.eye(9, k=number, dtype=np.uint8) for number in range(3)}
    measured = podium.measure(masks, masks, metrics="dice")
    text = render(gather(run_of(measured.challenge, measured.table).rank(bootstrap=0)))
    body = text.partition("<body>")[2].partition("<script")[0]
    assert "the rules below" in body
    assert "document" not in body


def test_rules_are_told_in_full(data, parsed):
    text = " ".join(" ".join(parsed.texts).split())
    for told in (
        "A failed case costs",
        "1.0330772532390826",  # a tolerance, from the challenge's own description
        "surface elements weighted by area",
        "100 bootstrap resamples (seed 1)",
        "12 cases, drawn with replacement",
        "Holm",
        "Podium 0.1.0",
        "higher is better",
        "what its page says",
    ):
        assert told in text, told
    assert "<h1" not in full_rules(data.challenge)
    digest = hashlib.sha256(b"00\n").hexdigest()
    assert hashes(data)[0].digest == digest
    assert digest in text


def test_a_challenge_without_a_description_has_a_page_all_the_same(data):
    assert full_rules(replace_class(data.challenge)) == ""


def replace_class(challenge):
    """Return a challenge whose class comes from nowhere."""
    made = type("Nowhere", (type(challenge),), {"__module__": "builtins"})
    return made()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "many" else n for n in DEGENERATE])
def test_whatever_the_run_was_there_is_a_page(name):
    data = synthetic_report(**({"bootstrap": 60} | DEGENERATE[name]))
    parsed = Parsed(render(data))
    assert parsed.open == []
    assert len(parsed.all("tr", **{"data-row": "0"})) == 1
    assert len(embedded(parsed)["submissions"]) == len(data.submissions)
    text = " ".join(parsed.texts)
    assert not re.search(r"\bnan\b|\bNone\b", text)
    if data.assessment is None:
        assert data.unassessed in text
        assert "First in resamples" not in text
    if name == "everything failed":
        assert "Nobody is ranked." in text
        assert "every case failed" in text


def test_names_are_text():
    data = synthetic_report(
        cases=4, names=HOSTILE, bootstrap=30, title="</title><script>alert(2)</script>", failing=0.4
    )
    text = render(data)
    parsed = Parsed(text)
    assert len(parsed.scripts) == 2
    assert parsed.open == []
    assert "<script>alert" not in text
    document = embedded(parsed)
    assert {each["name"] for each in document["submissions"]} == set(HOSTILE)
    told = {own["title"] for own in parsed.all("a") if "title" in own}
    assert set(HOSTILE) == told
    assert not any(name.startswith("on") for _, own in parsed.tags for name in own)


def test_a_title_that_is_no_unicode_can_be_written(tmp_path):
    data = synthetic_report(cases=3, bootstrap=0, title="bad\udcff")  # as a command line in another encoding gives
    built = build_report(data, tmp_path / "report.html", figures=tmp_path / "figures", only=["places"])
    assert built.size == (tmp_path / "report.html").stat().st_size
    (tmp_path / "report.html").read_text(encoding="utf-8")


def test_anonymous_pages_hold_no_name():
    names = ["Aardvark Labs", "Bumblebee", "Capybara"]
    data = synthetic_report(cases=6, names=names, bootstrap=30, anonymise=True, failing=0.5)
    text = render(data)
    assert not [name for name in names if name.lower() in text.lower()]
    one = synthetic_report(cases=6, names=names, bootstrap=30, anonymise=True, submission="Bumblebee", failing=0.5)
    text = render(one)
    assert "Bumblebee" in text
    assert "This report is about" in text
    assert "Capybara" not in text


def test_where_a_gathered_run_comes_from_is_told(data):
    assert "<dt>Gathered</dt>" not in render(data)
    sources = [{"submissions": {name: "team"}, "podium": "0.2.0", "ended": "2026-01-01T00:00:00Z"} for name in "ab"]
    page = render(replace(data, info={**data.info, "gathered": sources}))
    assert "from 2 evaluations: <bdi>a</bdi> by Podium 0.2.0, 2026-01-01T00:00:00Z; <bdi>b</bdi> by Podium" in page
    page = render(replace(data, info={**data.info, "gathered": sources[:1]}))
    assert "from 1 evaluation: <bdi>a</bdi>" in page


def test_the_same_run_gives_the_same_page():
    first, second = (render(synthetic_report(4, 6, bootstrap=40)) for _ in range(2))
    assert first == second


def test_figures_and_pictures_stand_where_they_belong(data):
    address = "data:image/webp;base64,AA"
    tabs = (ShownFigure("a", "alt a", svg="<svg></svg>"), ShownFigure("b", "alt b", image=address, width=2, height=1))
    shown = Shown(
        [
            Group(1, "one", "One & only", "How to read <it>.", (ShownFigure("", "alt", svg="<svg><g></g></svg>"),)),
            Group(2, "two", "Two", "Read.", tabs),
        ],
        [("Three", "There is no reason.")],
        {data.submissions[0]: [Image(7, "worst, x", "x, worst of 3", "what is seen", address, 2, 1, 3.0)]},
        {"": ["A note for all."], data.submissions[1]: ["Its files are gone."]},
    )
    parsed = Parsed(render(data, shown))
    text = " ".join(parsed.texts)
    assert "Figure 1. One & only." in text
    assert "How to read <it>." in text
    assert [own["data-tab"] for own in parsed.all("figure") if "data-tab" in own] == ["a", "b"]
    for told in ("There is no reason.", "A note for all.", "Its files are gone.", "x, worst of 3"):
        assert told in text
    assert parsed.all("figure", id="picture-7")
    assert parsed.all("img")[-1]["alt"] == "what is seen"
    assert embedded(parsed)["submissions"][0]["pictures"] == [[7, "worst, x", ""]]
    assert "pictures" in [own["id"] for own in parsed.all("section")]


@pytest.mark.parametrize("name", STRANGE_TABLES)
def test_whatever_the_table_was_there_is_a_page(name):
    data = gather(table_ranking(**STRANGE_TABLES[name]))
    text = render(data)
    parsed = Parsed(text)
    assert parsed.open == []
    document = embedded(parsed)
    assert [each["name"] for each in document["submissions"]] == list(data.submissions)
    assert document["cases"] == list(data.cases)
    for measure, values, priced in zip(data.measures, values_in(document), document["priced"], strict=True):
        np.testing.assert_allclose(values, data.values(measure), atol=1e-4)
        assert [np.flatnonzero(row).tolist() for row in data.failed(measure)] == priced
    read = " ".join(parsed.texts)
    assert not re.search(r"\bnan\b|\bNone\b|[Cc]hallenge", read)
    sections = [own["id"] for own in parsed.all("section")]
    assert ("criteria" in sections) == (name not in ("one task", "one submission"))
    identifiers = [own["id"] for _, own in parsed.tags if "id" in own]
    assert len(identifiers) == len(set(identifiers))
    assert {own["href"][1:] for own in parsed.all("a")} <= set(identifiers)
    assert "criteri" not in str([each["why"] for each in document["submissions"]])
    if data.assessment is None:
        assert data.unassessed in read


def test_names_of_tasks_are_text():
    text = render(gather(table_ranking(**STRANGE_TABLES["hostile names"])))
    parsed = Parsed(text)
    assert len(parsed.scripts) == 2
    assert "<script>alert" not in text
    assert {each["label"].removesuffix(" ↑") for each in embedded(parsed)["measures"]} == set(HOSTILE[:4])


def test_what_is_missing_in_a_table_is_told_with_its_cost():
    data = gather(table_ranking(3, 6, lacking=0.1, missing=-1.0))
    parsed = Parsed(render(data))
    text = " ".join(" ".join(parsed.texts).split())
    count = len(data.failures)
    assert f"{count} of 54 values are missing" in text
    assert "What is missing, and what it cost" in text
    assert "count as -1" in text  # a note
    for failure in failures(data):
        for cost in failure.costs:
            measure = next(each for each in data.measures if each.label == cost.title)
            own, lost = (table(measure, (failure.submission,))[0] for table in (data.values, data.failed))
            assert (cost.measured, cost.priced) == (f"{own[~lost].mean():.4f}", f"{own.mean():.4f}")
    assert "Every submission has a value" in " ".join(Parsed(render(gather(table_ranking(3, 4)))).texts)


def test_anonymous_pages_of_tables_hold_no_name():
    names = ["Aardvark Labs", "Bumblebee", "Capybara"]
    ranking = table_ranking(cases=6, names=names, lacking=0.1, missing="drop")
    text = render(gather(ranking, anonymise=True))
    assert not [name for name in names if name.lower() in text.lower()]
    text = render(gather(ranking, anonymise=True, submission="Bumblebee"))
    assert "This report is about" in text
    assert "Bumblebee" in text
    assert "Capybara" not in text


@pytest.mark.slow
def test_forty_submissions_and_three_hundred_cases_fit_into_a_mail():
    data = synthetic_report(40, 300, bootstrap=50, failing=0.02, baseline=True)
    size = len(render(data).encode())
    assert size + build.MOST_SVG + build.FEWEST_PICTURES + build.FEWEST_SCENES < 5_000_000


@pytest.mark.parametrize(
    ("files", "said"),
    [((Path("a.svg"),), "To keep this page small, these are only in figures/."), ((), "There was no room for these")],
)
def test_figures_that_no_page_has_room_for_are_named(files, said):
    kinds = [gallery.FIGURES[name] for name in ("ranking_heatmap", "places")]
    sizes = [(kinds[0], "first", 500_000), (kinds[0], "second", 300_000), (kinds[0], "third", 300_000)]
    drawn = [
        gallery.Drawing(kind, name, name, files=files, inline=f'<svg width="9pt">{"x" * size}</svg>')
        for kind, name, size in [*sizes, (kinds[1], "fourth", 200_000)]
    ]
    groups, absent = build._groups(drawn, "figures", 1_100_000)
    assert [[own.label for own in group.drawings] for group in groups] == [["first", "second"], ["fourth"]]
    ((title, reason),) = absent
    assert title == "Places within cases: third"
    assert reason.startswith(said)
    groups, absent = build._groups(drawn, "figures", 0)
    assert [[own.label for own in group.drawings] for group in groups] == [["first"], ["fourth"]]
    assert len(absent) == 2


@pytest.mark.parametrize(
    ("wide", "high", "letters", "printed"),
    [
        (518, 300, 7.5, ""),
        (518, 400, 7.5, ""),  # a little smaller on half a sheet, and still legible
        (518, 400, 6.3, "tall"),
        (518, 560, 7.5, "tall"),
        (700, 300, 6.3, "tall"),
        (700, 300, 8.5, ""),
        (518, 3000, 6.3, "tall huge"),  # three hundred rows
    ],
)
def test_figures_that_cannot_be_read_on_half_a_sheet_have_one_of_their_own(wide, high, letters, printed):
    text = f'<text style="font-size:{letters}px">a</text>'
    svg = f'<svg viewBox="0 0 1 1" width="{wide}pt" height="{high}pt">{text}</svg>'
    group = Group(1, "places", "Places", "", (ShownFigure("", "", svg=svg),))
    text = render(synthetic_report(1, 2, bootstrap=0), Shown([group]))
    assert (f'<figure class="{printed}">' if printed else "<figure>") in text


def test_pictures_of_a_case_begin_a_row(data):
    about = [("a", 1), ("b", 2), ("b", 3), ("c", 4)]
    images = [Image(number, case, case, "", "data:image/png;base64,", 9, 9, 4.0, case=case) for case, number in about]
    text = render(data, Shown(pictures={data.submissions[0]: images}))
    rows = [re.findall(r'id="picture-(\d)"', row) for row in text.split('<div class="break"></div>')]
    assert [own for own in rows if own] == [["1"], ["2", "3", "4"]]  # single ones share rows


@pytest.mark.parametrize("least", [-7.25, 0.0, 3.0])
def test_packed_numbers_are_exact(least):
    values = least + np.random.default_rng(1).uniform(0, 900, (3, 50))
    values[0, :3] = np.nan, np.inf, -np.inf
    rows, how = packed(values, 2)
    code = np.array([[ord(sign) - 63 for sign in row] for row in rows]).reshape(3, 50, how["width"])
    codes = code @ 64 ** np.arange(how["width"])[::-1]
    assert codes[0, :3].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(codes.ravel()[3:] - 3 + how["low"], np.rint(values.ravel()[3:] * 100))
    assert not set("".join(rows)) & set("<>&\"'")


def test_many_failures_are_shown_on_demand():
    data = synthetic_report(2, 60, bootstrap=0, everything_failed=True)
    parsed = Parsed(render(data))
    assert len(parsed.all("button", **{"data-all-failures": "0"})) == 1
    assert len(embedded(parsed)["submissions"][0]["failures"]) == 60
    assert " ".join(parsed.texts).count("the gzip data ends too early") == 2 * page._MOST_LINES


@pytest.mark.slow
def test_heavy_figures_become_pictures(tmp_path, monkeypatch, data):
    arguments = {"figures": tmp_path / "figures", "only": ["places", "tau_violin"]}
    light = build_report(data, tmp_path / "light.html", **arguments)
    assert light.figures == 2
    assert Parsed((tmp_path / "light.html").read_text()).all("img") == []
    monkeypatch.setattr(build, "MOST_SVG", 12_000)
    build_report(data, tmp_path / "heavy.html", **arguments)
    images = Parsed((tmp_path / "heavy.html").read_text()).all("img")
    assert [own["class"] for own in images] == ["chart"] * len(images)
    assert 1 <= len(images) <= 2
    monkeypatch.setattr(build, "MOST_IMAGES", 0)
    monkeypatch.setattr(build, "MOST_SVG", 0)
    monkeypatch.setattr(gallery, "LARGE", 0)
    few = build_report(data, tmp_path / "few.html", figures=tmp_path / "figures", only=["dots_and_boxes", "places"])
    assert few.figures == 2  # the first of every kind
    said = " ".join(Parsed((tmp_path / "few.html").read_text()).texts)
    assert "To keep this page small, these are only in figures/." in said
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".pdf", ".png"}


def test_where_inputs_are_gone_the_page_says_so(tmp_path):
    run = synthetic_run(6, 12, baseline=True, failing=0.08)
    told = []
    build_report(
        gather(run.rank(bootstrap=0)),
        tmp_path / "report.html",
        figures=tmp_path / "figures",
        only=["dots_and_boxes"],
        run=run,
        progress=lambda what, done, total: told.append((what, done, total)),
    )
    text = " ".join(Parsed((tmp_path / "report.html").read_text()).texts)
    assert "No cases are drawn: the truth is no longer at /data/truth." in text
    assert told[:2] == [("figures", 0, 1), ("figures", 1, 1)]
    assert {what for what, _, _ in told} == {"figures", "pictures of cases"}


def test_runs_of_the_first_schema_have_a_page(tmp_path):
    """Its run.json kept all hashes in one place, the truth's under a name that no team could have."""
    folder = write_run_folder(synthetic_run(3, 4), tmp_path / "run")
    document = json.loads((folder / "run.json").read_text())
    inputs = {"truth": document["truth"], **document["submissions"]}
    document |= {
        "schema": 1,
        "truth": document["truth"]["path"],
        "submissions": {name: place["path"] for name, place in document["submissions"].items()},
        "sha256": {name: place["sha256"] for name, place in inputs.items()},
    }
    del document["faults"]
    (folder / "run.json").write_text(json.dumps(document))
    data = gather(podium.load(folder).rank(bootstrap=0))
    parsed = Parsed(render(data))
    assert parsed.open == []
    assert [line.owner for line in hashes(data)] == ["the truth", *data.submissions]
    assert hashes(data)[0].digest in " ".join(parsed.texts)


def test_a_team_called_truth_has_its_own_hashes():
    for anonymise in (False, True):
        data = synthetic_report(names=["truth", "other"], cases=3, bootstrap=0, anonymise=anonymise)
        shown = {real: name for name, real in data.names.items()}
        lines = {line.owner: line for line in hashes(data)}
        assert list(lines) == ["the truth", *data.submissions]
        assert lines["the truth"].digest == hashlib.sha256(b"00\n").hexdigest()
        assert lines[shown["truth"]].digest == hashlib.sha256(b"11\n").hexdigest()
        text = render(data)
        assert ("<bdi>truth</bdi>" in text) != anonymise
        assert "<bdi>the truth</bdi>" in text


@pytest.mark.parametrize("names", [["path", "sha256", "relative"], ["competitor", "roles"]])
def test_teams_called_like_parts_of_the_record_have_a_page(names):
    data = synthetic_report(names=names, cases=3, bootstrap=0, anonymise=True)
    assert {line.files for line in hashes(data)} == {1}
    assert Parsed(render(data)).open == []


def test_options_are_those_that_ranked():
    run = synthetic_run(3, 4, challenge="csv2026", baseline_seconds=1.0, failing=0.0)
    ranking = run.rank(bootstrap=0, options={"baseline_seconds": 2.5})
    text = " ".join(Parsed(render(gather(ranking))).texts)
    assert "baseline_seconds = 2.5" in text
    assert "baseline_seconds = 1.0" not in text


def test_a_challenge_without_page_and_summary_says_nothing_of_them(data):
    bare = type("Bare", (type(data.challenge),), {"page": "", "summary": "", "__module__": "builtins"})()
    parsed = Parsed(render(replace(data, challenge=bare)))
    assert parsed.open == []
    assert all(own["href"] for own in parsed.all("a") if "href" in own)
    assert "Page" not in parsed.texts

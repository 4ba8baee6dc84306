"""What a paper needs: figures at column width, a leaderboard, a methods section that can be pasted, references."""

import re
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from latex_checks import mistakes
from matplotlib.figure import Figure
from reports import HOSTILE, STRANGE_TABLES, synthetic_report, synthetic_run, table_ranking

from podium.model import InputError
from podium.report import write_report
from podium.report.data import gather
from podium.report.paper import write_paper
from podium.report.paper.assembling import leaderboard_frame
from podium.report.paper.latex import escaped, leaderboard_table
from podium.report.paper.methods import as_latex, as_markdown, as_plain, cited, passages
from podium.report.paper.plates import DOUBLE, SINGLE, _fits, draw_plates
from podium.report.paper.references import REFERENCES, bibliography, references_of
from podium.report.style import laid_out

NASTY = (r"50%_& $x$ \input{}", "a -- b ''quoted''", "Łódź Ångström ﬁ", "~^#|<>\"'`", "深度学习", *HOSTILE)
RUNS = {
    "kits21": {},
    "lvquan18": {"challenge": "lvquan18"},
    "csv2026": {"challenge": "csv2026", "failing": 0.0, "baseline_seconds": 1.5},
    "trackrad2025": {"challenge": "trackrad2025", "failing": 0.0},
    "tusrec": {"challenge": "tusrec", "failing": 0.0},
}


def told(data):
    """Return all sentences of the methods."""
    return " ".join(line.text for part in passages(data) for line in part.sentences)


@pytest.mark.parametrize("name", RUNS)
def test_methods_name_every_measure_and_every_number(name):
    data = synthetic_report(4, 7, bootstrap=20, **RUNS[name])
    text = told(data)
    rule, ranking = data.rule, data.assessment
    for measure in data.challenge.measures:
        if measure.judges and measure.decides:
            unit = f"in {measure.unit}" if measure.unit else "without unit"
            of = " of [^(]*" if any(measure.targets) else ""
            pattern = rf"{re.escape(measure.title)}{of} was measured of every .*?\({unit}; {measure.direction.value}"
            assert re.search(pattern, text), measure.title
            assert measure.price.words in text
    for column in rule.published.criteria:
        assert column.measure.title in text
    assert f"There are 4 submissions and {len(data.cases)} {rule.row_words[1]}" in text
    if name == "lvquan18":  # images of one subject
        assert "How sure the ranking is was not assessed" in text
    else:
        assert f"20 bootstrap resamples (seed {ranking.seed})" in text
        assert "95 % confidence intervals by the method bootstrap-t" in text
        assert f"With only {len(rule.units.names)} {rule.unit_words[1]}" in text  # few are said to be few
        assert {"wilcoxon1945", "holm1979", "mogstad2024"} <= {reference.key for reference in cited(passages(data))}
    assert not re.search(r"\.\.|\s\.|  |None(?! of)|nan|\{|\}", text)
    latex = as_latex(passages(data))
    assert mistakes(latex) == []
    keys = {key for keys in re.findall(r"\\cite\{([^}]*)\}", latex) for key in keys.split(",")}
    assert keys == set(re.findall(r"^@\w+\{(\w+),", bibliography(cited(passages(data))), re.MULTILINE))
    assert mistakes(leaderboard_table(_board(data), caption="All & everybody", made_by="Podium")) == []


def _board(data):
    from podium.report._contents import board

    return board(data)


def test_methods_of_a_table_speak_of_tasks_and_values():
    data = gather(table_ranking(4, 30, lacking=0.1, bootstrap=30))
    text = told(data)
    assert "4 submissions and 30 cases in 3 tasks" in text
    assert "The task liver (without unit; higher is better) has 30 cases." in text
    assert "The rule is mean then rank in each of 3 tasks" in text
    assert re.search(r"\d+ of 360 values are missing", text)
    assert "With only" not in text  # 90 cases are not few


def test_what_was_not_assessed_is_not_claimed():
    data = synthetic_report(3, 6, bootstrap=0)
    text = told(data)
    assert "was not assessed" in text
    assert "confidence" not in text
    assert cited(passages(data))[0].key == "dice1945"
    assert leaderboard_frame(data).equals(data.board.to_frame())


def test_cases_are_not_named():
    data = synthetic_report(3, 6, bootstrap=30, failing=0.0)
    assert not [case for case in data.cases if case in told(data)]
    incomplete = synthetic_report(3, 9, challenge="lvquan18", failing=0.2, bootstrap=0)
    assert "not ranked: incomplete: no valid number for" in told(incomplete)
    assert not [case for case in incomplete.cases if case in told(incomplete)]
    assert "(--" not in told(synthetic_report(3, 6, bootstrap=30, failing=0.3))


def test_each_format_shows_names_and_nothing_else_happens():
    data = synthetic_report(len(NASTY), 5, names=NASTY, bootstrap=20)
    section = passages(data)
    assert mistakes(as_latex(section)) == []
    table = leaderboard_table(_board(data), caption="x", made_by="Podium")
    assert mistakes(table) == []
    assert r"50\%\_\& \$x\$ \textbackslash{}input\{\}" in table
    assert "XeLaTeX" in table.splitlines()[1]  # 深度学习
    assert "\\<script\\>" in as_markdown(section)
    assert as_plain(section).count("\nReferences\n") == 1
    assert "@wilcoxon1945" in as_markdown(section)
    assert "(Wilcoxon 1945; Holm 1979)" in as_plain(section)


def test_signs_are_escaped_one_by_one():
    assert escaped("a--b ''") == "a-{}-b '{}'"
    assert escaped("Łódź") == r"\L{}\'{o}d\'{z}"
    assert escaped("5 % of mm²") == r"5~\% of mm\textsuperscript{2}"
    assert escaped("two\nlines\x07\u202e") == "two lines"
    assert escaped("naïve ç") == r"na\"{\i}ve \c{c}"
    assert mistakes(escaped("".join(map(chr, range(32, 1000))))) == []
    assert mistakes("a_b") == ["_ is not escaped"]  # the reader can fail
    assert mistakes(r"\input{x}") == ["unknown command 'input'"]
    assert mistakes("{") == ["braces are not balanced"]


def test_a_metric_that_names_its_sources_is_cited_by_them():
    from podium.metrics import metrics

    described = [metric for metric in metrics() if "\nReferences" in (metric.__doc__ or "").replace("    ", "")]
    assert len(described) > 15
    assert [metric.name for metric in described if not references_of(metric)] == []
    for reference in (*REFERENCES.values(), *(own for metric in described for own in references_of(metric))):
        assert re.fullmatch(r"[a-z]+\d{4}", reference.key)
        assert reference.bibtex.count("{") == reference.bibtex.count("}")
        assert reference.plain.endswith((".", reference.fields.get("doi", ".")))


def test_the_folder_has_everything_and_every_digit(tmp_path):
    run = synthetic_run(5, 12, baseline=True)
    ranking = run.rank(bootstrap=30)
    said = []
    folder = ranking.report(paper=tmp_path / "paper", only=["places", "tau_violin"], say=said.append)
    assert folder == tmp_path / "paper"
    assert "What a paper needs is in" in said[0]
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} - {".podium.json"}
    texts = {"methods.md", "methods.tex", "methods.txt", "captions.md", "captions.tex"}
    assert texts | {"leaderboard.csv", "leaderboard.tex", "references.bib", "figures/places.pdf"} <= names
    frame = pl.read_csv(folder / "leaderboard.csv", infer_schema_length=None)
    board = ranking.leaderboard
    for entry, row in zip(board.entries, frame.iter_rows(named=True), strict=True):
        assert (row["submission"], row["place"]) == (entry.submission, entry.place)
        assert {name: row[name] for name in entry.values} == dict(entry.values)
    intervals = ranking.confidence.columns["dice_tumor"]
    order = [ranking.confidence.submissions.index(entry.submission) for entry in board.ranked]
    assert frame["dice_tumor_low"].drop_nulls().to_list() == intervals.low[order].tolist()
    captions = (folder / "captions.tex").read_text()
    assert mistakes(captions) == []
    assert captions.count(r"\includegraphics") == 2
    before = {name: (folder / name).read_bytes() for name in names}
    ranking.report(paper=folder, only=["places"])
    after = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}
    assert "figures/tau_violin.pdf" not in after  # of the earlier one
    assert after["figures/places.pdf"] == before["figures/places.pdf"]
    assert after["figures/places.svg"] == before["figures/places.svg"]
    assert after["methods.tex"] == before["methods.tex"]
    pdf, svg = before["figures/places.pdf"], before["figures/places.svg"]
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"<text" in svg


def test_what_is_not_podiums_is_left_alone(tmp_path):
    data = synthetic_report(2, 3, bootstrap=0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "methods.tex").write_text("My own words.")
    with pytest.raises(InputError, match="in the way"):
        write_paper(data, tmp_path / "mine", only=[])
    assert (tmp_path / "mine" / "methods.tex").read_text() == "My own words."
    assert len(list((tmp_path / "mine").iterdir())) == 1
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="holds a run"):
        write_paper(data, tmp_path / "run", only=[])
    with pytest.raises(InputError, match="not a folder"):
        write_paper(data, tmp_path / "run" / "run.json", only=[])
    with pytest.raises(InputError, match="no figure called 'cake'"):
        write_report(synthetic_run(2, 3).rank(bootstrap=0), paper=tmp_path / "new", only=["cake"])
    assert not (tmp_path / "new").exists()


def sizes(pdf):
    """Return the width of a PDF in inches."""
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
    return float(box[1]) / 72


def check(plate):
    """Assert that a figure is as wide as a column or two, legible, and that its font is in it."""
    pdf, svg = plate.files["pdf"], plate.files["svg"].decode()
    assert sizes(pdf) <= (DOUBLE if plate.wide else SINGLE) + 0.01
    assert sizes(pdf) == pytest.approx(plate.inches, abs=0.01)
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf
    letters = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
    assert letters
    assert min(letters) >= 5.99, plate.name


def test_figures_are_as_wide_as_a_column_and_legible():
    data = synthetic_report(6, 10, bootstrap=40)
    chosen = ["places", "tau_violin", "lines_over_schemes", "metric_correlation"]
    drawn = {plate.name: plate for plate in draw_plates(data, only=chosen)}
    for plate in drawn.values():
        check(plate)
    assert drawn["places"].inches == SINGLE
    assert drawn["lines_over_schemes"].wide


def test_what_would_be_cut_or_covered_gets_two_columns():
    def narrow(draw):
        figure = Figure(figsize=(SINGLE, 2), layout="constrained")
        draw(figure.subplots())
        return _fits(laid_out(figure))

    assert narrow(lambda axes: axes.set_xlabel("short"))
    assert not narrow(lambda axes: axes.set_xlabel("a label that is far longer than one column of a paper is wide"))
    assert not narrow(lambda axes: axes.set_ylabel("x\n" * 14))
    assert not narrow(lambda axes: [axes.text(0.5, 0.5, name) for name in ("one", "another")])


@pytest.mark.heavy
def test_all_figures_are_legible():
    for plate in draw_plates(synthetic_report(8, 6, bootstrap=40, people=True, baseline=True)):
        check(plate)
    many = synthetic_report(40, 60, bootstrap=40)
    for plate in draw_plates(many, only=["places", "consensus", "lines_over_schemes", "significance_map"]):
        check(plate)


@pytest.mark.heavy
@pytest.mark.parametrize("name", STRANGE_TABLES)
def test_any_table_has_a_paper(tmp_path, name):
    ranking = table_ranking(**STRANGE_TABLES[name])
    names = write_paper(gather(ranking), tmp_path, only=["dots_and_boxes"] if name == "one task" else [])
    for file in names:
        if file.endswith(".tex"):
            assert mistakes((tmp_path / file).read_text(encoding="utf-8")) == []
    frame = pl.read_csv(BytesIO((tmp_path / "leaderboard.csv").read_bytes()), infer_schema_length=None)
    assert frame.height == len(ranking.leaderboard.entries)
    places = [np.nan if entry.place is None else entry.place for entry in ranking.leaderboard.entries]
    assert np.array_equal(frame["place"].cast(pl.Float64).fill_null(np.nan).to_numpy(), places, equal_nan=True)

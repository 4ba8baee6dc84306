"""The pages of metrics: everything declared is told, every number was computed, and a picture is drawn from data."""

import doctest
import importlib
import json
import math
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from shared_data import PROJECT

from podium.metrics import metrics
from podium.metrics.registry import declare
from podium.model import Direction

FOLDER = PROJECT / "docs" / "making"
MODULES = (
    "metric_docstrings",
    "metric_examples",
    "metric_pages",
    "metric_peers",
    "metric_pictures",
    "peer_inputs",
    "pictures_canvas",
    "record_peers",
)
PEERS = ("medpy", "monai", "pingouin", "pycocotools", "SimpleITK", "skimage", "sklearn", "surface_distance", "torch")
METRICS = metrics()
ONE_OF_EACH_FAMILY = list({metric.family: metric for metric in METRICS}.values())


@pytest.fixture(scope="module")
def makers():
    """Import the modules that make these pages, for this file alone."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


@pytest.fixture(scope="module")
def texts(makers):
    """Make the page of every metric, without drawing its picture."""
    return {metric.name: makers.metric_pages.metric_page(metric, METRICS, "what is seen") for metric in METRICS}


@pytest.fixture(scope="module")
def recorded():
    return json.loads((PROJECT / "docs" / "data" / "peers.json").read_text())


def number(value):
    return "undefined" if math.isnan(value) else f"{value:g}".replace("inf", "∞").replace("-", "−")


def declared(metric):
    """Return what a page must hold, as it is written there, by what it is about."""
    names = {"both": "both empty", "reference": "reference empty", "prediction": "prediction empty"}
    perfect = "depends on the reference" if metric.perfect is None else number(metric.perfect)
    facts = {
        "title": f"# {metric.title}\n",
        "name": f"`{metric.name}`",
        "formula": f"```text\n{metric.formula}\n```",
        "unit": f"| unit | {metric.unit or 'none'} |",
        "range": f"| range | {number(metric.minimum)} to {number(metric.maximum)} |",
        "direction": f"| direction | {metric.direction.value} |",
        "perfect": f"| perfect | {perfect} |",
        "symmetric": f"| symmetric | {'yes' if metric.symmetric else 'no'} |",
        "signature": f"```python\n{metric.__module__}.{metric.name}(",
        "picture": f"](pictures/{metric.name}.svg)",
        "example": "\nfrom podium.metrics import ",
    }
    for case, value in metric.empty.items():
        facts[case] = f"| {names.get(case, case)} | {number(value)} |"
    for peer, call in metric.same_as.items():
        facts[peer] = f"- {peer}: {call}"
    if metric.also_called:
        facts["also called"] = f"| also called | {', '.join(metric.also_called)} |"
    paragraphs = (metric.__doc__ or "nothing is said").partition("\n    References\n")[0].split("\n\n")
    facts["summary"] = re.sub("^Return ", "", paragraphs[0].strip())[1:]
    for place, paragraph in enumerate(paragraphs[1:]):
        text = " ".join(paragraph.split())
        if "---" not in text and ">>>" not in text:
            facts[f"paragraph {place}"] = text
    return facts


def bare(page):
    """Return a page without what Markdown needs: signs that are escaped, and links around code."""
    text = re.sub(r"\[(`[^`]+`)\]\([a-z0-9_]+\.md\)", r"\1", page)
    for escaped, sign in ((r"\_", "_"), (r"\*", "*"), ("&lt;", "<"), ("&#124;", "|")):
        text = text.replace(escaped, sign)
    return text


def lacking(metric, page):
    """Return what of a metric's declaration is not on its page."""
    text = bare(page)
    return [topic for topic, words in declared(metric).items() if words not in text]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_page_has_all_that_its_metric_declares(texts, metric):
    assert lacking(metric, texts[metric.name]) == []


def undocumented():
    """Return a metric that nobody has described, in a registry of its own."""

    @declare(
        title="Undocumented",
        family="overlap",
        unit="mm",
        minimum=0.0,
        maximum=9.0,
        direction=Direction.LOWER,
        perfect=0.0,
        symmetric=True,
        empty={"both": 0.0},
        formula="a + b",
        same_as={"MedPy": "nothing"},
        also_called=("und",),
        registry={},
    )
    def planted(overlap):
        pass

    return planted


def test_an_omission_would_be_noticed(texts):
    page = texts["dice"]
    metric = next(metric for metric in METRICS if metric.name == "dice")
    for topic, words in declared(metric).items():
        assert topic in lacking(metric, bare(page).replace(words, "")), topic
    assert set(lacking(undocumented(), page)) >= {"title", "name", "formula", "unit", "also called", "MedPy", "summary"}


def without_answers(known, document):
    return [metric.name for metric in known if not document["metrics"].get(metric.name, {}).get("rows")]


def test_peers_were_asked_about_every_metric(recorded):
    assert without_answers(METRICS, recorded) == []
    assert set(recorded["metrics"]) == {metric.name for metric in METRICS}, "what is no metric any more"
    assert without_answers([*METRICS, undocumented()], recorded) == ["planted"]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_declared_peer_has_a_column(recorded, metric):
    assert set(metric.same_as) <= set(recorded["metrics"][metric.name]["columns"])


def unequal(one, two):
    """Return whether two recorded answers differ."""
    if isinstance(one, str) or isinstance(two, str):
        return one != two
    return not math.isclose(one, two, rel_tol=1e-6, abs_tol=1e-9)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_podium_still_says_what_is_recorded(makers, recorded, metric):
    entry = recorded["metrics"][metric.name]
    ours = {column: about["options"] for column, about in entry["columns"].items() if "options" in about}
    given = makers.peer_inputs.inputs_of(metric)
    assert [each.words for each in given] == [row["input"] for row in entry["rows"]]
    for each, row in zip(given, entry["rows"], strict=True):
        for column, options in ours.items():
            assert not unequal(makers.record_peers.own_answer(metric, each, **options), row["answers"][column])


@pytest.mark.heavy
def test_peers_still_say_what_is_recorded(makers, recorded):
    again = makers.record_peers.record()  # which skips where a peer is not installed
    assert again["tools"] == recorded["tools"]
    changed = [
        (name, row["input"], column)
        for name, entry in recorded["metrics"].items()
        for row, other in zip(entry["rows"], again["metrics"][name]["rows"], strict=True)
        for column, answer in row["answers"].items()
        if unequal(answer, other["answers"][column])
    ]
    assert changed == []
    for name, entry in recorded["metrics"].items():
        assert {key: again["metrics"][name][key] for key in ("columns", "without")} == {
            key: entry[key] for key in ("columns", "without")
        }


@pytest.mark.parametrize(
    ("theirs", "ours", "precision", "bold"),
    [
        (0.5, 0.5, "double", False),
        (0.5 + 2e-6, 0.5, "double", True),
        (0.5 + 2e-6, 0.5, "single", False),
        (0.5001, 0.5, "single", True),
        ("NaN", "undefined", "double", False),
        ("an error", "undefined", "double", False),
        ("an error", "refused", "double", False),
        ("an error", 1.0, "double", True),
        ("NaN", 1.0, "double", True),
        (0.0, "undefined", "double", True),
        ("∞", "∞", "double", False),
        ("NaN", "∞", "double", True),
    ],
)
def test_what_differs_is_bold(makers, theirs, ours, precision, bold):
    document = {
        "tools": {"Tool": {"version": "1.2", "precision": precision}},
        "metrics": {
            "x": {
                "columns": {"Podium": {"options": {}}, "Tool": {"tool": "Tool", "call": "f", "beside": "Podium"}},
                "rows": [{"input": "given", "answers": {"Podium": ours, "Tool": theirs}}],
                "without": ["Other"],
            }
        },
    }
    table = makers.metric_peers.tools_table("x", document)
    assert ("**" in table.partition("| given |")[2]) == bold
    assert "Tool 1.2" in table
    assert "No such metric: Other." in table


def test_who_is_right_is_taken_from_the_table_of_all_differences(makers, texts):
    page = (PROJECT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` (\| .*)$", page.partition("## Where peers give another number")[2], re.M)
    assert len(rows) > 30
    for name, row in rows:
        assert name in ("components", "skeleton") or row in texts[name]
    assert "## Who is right" not in texts["centre_distance"]


def test_a_metric_that_no_tool_has_says_so(texts):
    assert "None of the tools that were looked at has this metric" in texts["boundary_iou"]
    assert "None of the tools" not in texts["dice"]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_examples_run_and_every_exception_has_its_reason(makers, texts, metric):
    code, told = re.search(
        r"```python\n([^`]*from podium\.metrics import [^`]*)  # (.*)\n```", texts[metric.name]
    ).groups()
    value = makers.metric_examples.run_example(code)
    assert told == (makers.metric_peers.shown(value) if math.isfinite(value) else number(value))
    assert [case for case in metric.empty if not makers.metric_pages.empty_reason(metric, case)] == []


def test_the_index_lists_all_by_family(makers):
    index = makers.metric_pages.index_page(makers.metric_pages.in_order())
    links = re.findall(r"^\| \[(.*?)\]\((\w+)\.md\)", index, re.M)
    page = (PROJECT / "docs" / "metrics.md").read_text().partition("| family | measures")[2].partition("\n\n")[0]
    families = re.findall(r"^\| (\w[\w ]*) \|", page, re.M)
    ordered = sorted(METRICS, key=lambda metric: families.index(metric.family))
    assert links == [(metric.title, metric.name) for metric in ordered]
    assert re.findall("^## (.*)$", index, re.M) == [family.capitalize() for family in families]
    assert f"There are {len(METRICS)}." in index


def test_links_lead_somewhere(makers, texts):
    anchors = {re.sub(" ", "-", metric.family) for metric in METRICS}
    for page in (makers.metric_pages.index_page(METRICS), *texts.values()):
        for target in re.findall(r"\]\(([^)]+)\)", page):
            name, _, anchor = target.partition("#")
            assert not anchor or anchor in anchors
            place = PROJECT / "docs" / "metrics" / name
            generated = name.removesuffix(".md") in {*texts, "index"} or name.startswith("pictures/")
            assert generated or place.resolve().exists(), target


@pytest.mark.parametrize("metric", ONE_OF_EACH_FAMILY, ids=lambda metric: metric.family)
def test_a_picture_is_drawn_from_what_the_metric_says(makers, metric):
    svg, caption = makers.metric_pictures.picture(metric)
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "<text" not in svg, "which would need a font"
    assert "<dc:date>" not in svg
    assert re.search(r"\d", caption)
    assert caption.endswith(".")


def test_every_family_has_its_drawing(makers):
    assert set(makers.metric_pictures.FAMILIES) == {metric.family for metric in METRICS}


def test_pages_are_the_same_twice(makers, texts):
    for metric in METRICS:
        assert makers.metric_pages.metric_page(metric, METRICS, "what is seen") == texts[metric.name]
    first = METRICS[0]
    assert makers.metric_pictures.picture(first) == makers.metric_pictures.picture(first)


@pytest.mark.heavy
def test_pages_are_the_same_in_every_process_and_need_no_peers():
    program = (
        "import hashlib, json, sys; import metric_pages; pages = dict(metric_pages.pages());"
        "hashes = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in pages.items()};"
        f"print(json.dumps([hashes, sorted(set({PEERS!r}) & set(sys.modules))]))"
    )
    answers = []
    for seed in ("1", "2"):
        surroundings = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(FOLDER)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=surroundings, capture_output=True, text=True, check=True
        )
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    hashes, peers = answers[0]
    assert peers == []
    pictures = {path for path in hashes if path.endswith(".svg")}
    assert pictures == {f"metrics/pictures/{metric.name}.svg" for metric in METRICS}
    assert set(hashes) - pictures == {"metrics/index.md", *(f"metrics/{metric.name}.md" for metric in METRICS)}


def test_examples_in_docstrings_are_true(makers):
    for module in (makers.metric_docstrings, makers.metric_peers, makers.pictures_canvas):
        tried = doctest.testmod(module)
        assert tried.attempted
        assert not tried.failed

"""Several runs side by side: who moved, whether that is more than noise, which cases changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browsing import DESKTOP, PHONE, serious, too_wide
from printing import sheets_of
from reports import run_of, synthetic_run, tidy, write_run_folder

import podium
from podium.challenges import get_challenge
from podium.model import InputError, Role
from podium.report.audience import Audience
from podium.report.comparison_page import render_comparison
from podium.report.data import gather
from podium.report.several_runs import compared_runs, run_labels

pytestmark = pytest.mark.slow
CASES = [f"quokka{number:02d}" for number in range(12)]


def made(strength, *, cases=CASES, truth=None, seed=1, spread=0.01, roles=None):
    """Return a run of given means, with little noise, as the digests of its truth say."""
    rules, generator = get_challenge("tusrec"), np.random.default_rng(seed)
    rows = [
        (name, case, "", target, measure.name, float(np.clip(mean + generator.normal(0, spread), 0, 1)), "ok", "")
        for name, mean in strength.items()
        for case in cases
        for measure in rules.measures
        for target in measure.targets
    ]
    run = run_of(rules, tidy(rows), roles=roles)
    files = {f"{case}.h5": "00" for case in cases} | {"calibration.csv": "00"} | (truth or {})
    run.record = run.record.model_copy(update={"truth": run.record.truth.model_copy(update={"sha256": files})})
    return run


def fewer(board):
    """Return a board without its columns of the last measure."""
    return replace(board, columns=tuple(own for own in board.columns if not own.label.startswith("Surface Dice tumor")))


def compared(*runs, bootstrap=20, audience=Audience.ORGANISER):
    """Compare runs that are called by years."""
    years = [str(2024 + number) for number in range(len(runs))]
    return compared_runs([gather(run.rank(bootstrap=bootstrap), audience=audience) for run in runs], years)


@pytest.fixture(scope="module")
def years():
    """Return two runs: beta and gamma change places, delta is new, alpha gone; a case new, one gone, one changed."""
    before = made({"alpha": 0.9, "beta": 0.8, "gamma": 0.7, "plain": 0.1}, roles={"plain": Role.BASELINE})
    values = {"delta": 0.95, "gamma": 0.85, "beta": 0.6, "plain": 0.1}
    changed = {"quokka03.h5": "11", "calibration.csv": "11"}
    after = made(values, cases=[*CASES[1:], "quokka77"], truth=changed, roles={"plain": Role.BASELINE})
    return before, after


def test_who_moved_beyond_noise_came_and_went(years):
    result = compared(*years)
    courses = {course.submission: course for course in result.courses}
    assert list(courses) == ["delta", "gamma", "beta", "plain", "alpha"]
    assert {name: (own.move, own.certain, own.remark) for name, own in courses.items()} == {
        "delta": (None, None, "new"),
        "gamma": (1, True, "moved"),
        "beta": (-1, True, "moved"),
        "plain": (None, None, "not ranked"),
        "alpha": (None, None, "gone"),
    }
    assert [standing and standing.place for standing in courses["gamma"].standings] == [3, 2]
    assert courses["gamma"].standings[1].true == "2"
    (step,) = result.steps
    assert (step.common, step.tau, step.new, step.gone) == (2, -1.0, ("delta",), ("alpha",))
    assert result.headline == "delta is first in 2025, after alpha in 2024."
    assert result.sentences[0] == (
        "Of 2 competitors in both, gamma and beta certainly moved: at 95 % confidence the places that each may truly "
        "have do not overlap."
    )


def test_which_cases_are_new_gone_or_changed(years):
    cases = compared(*years).cases
    assert (cases.common, cases.new, cases.gone, cases.changed, cases.files) == (11, 1, 1, 1, 1)
    assert cases.names == {"new": ("quokka77",), "gone": ("quokka00",), "changed": ("quokka03",)}
    assert cases.values == cases.moved == 3 * 11
    assert {change.submission for change in cases.most[:8]} == {"beta"}
    assert not cases.most[0].better


def test_a_move_within_noise_is_called_so():
    noisy = {"spread": 0.2, "cases": CASES[:6]}
    one, other = made({"a": 0.6, "b": 0.5}, **noisy), made({"a": 0.5, "b": 0.6}, **noisy)
    result = compared(one, other)
    assert [course.remark for course in result.courses] == ["within noise", "within noise"]
    assert result.sentences[0].startswith("Both moves are within noise: at 95 % confidence, each of the 2 competitors")
    same = compared(one, one, one)
    assert same.headline == "a is first in 2024 and 2026."
    assert same.sentences[0] == "The 2 competitors in 2024 and in 2026 stand in the same order."
    assert (same.cases.moved, len(same.steps), same.steps[0].tau) == (0, 2, 1.0)
    assert "how sure that is cannot be told" in compared(one, other, bootstrap=0).sentences[0]


def test_runs_that_measured_something_else_are_refused(years):
    with pytest.raises(InputError, match="2024 is of challenge tusrec, 2025 of challenge kits21"):
        compared(years[0], synthetic_run(3, 4), bootstrap=0)
    document, code = (synthetic_run(3, 4, edition=edition) for edition in ("document", "code"))
    with pytest.raises(InputError, match="2024 is of edition document, 2025 of edition code"):
        compared(document, code, bootstrap=0)
    data = gather(synthetic_run(3, 4).rank(bootstrap=0))
    with pytest.raises(InputError, match=r"of a and b do not agree: .*Surface Dice tumor ↑ \(only in a\)"):
        compared_runs([data, replace(data, measures=data.measures[:-1], board=fewer(data.board))], ["a", "b"])
    inches = replace(data.measures[0], unit="in")
    with pytest.raises(InputError, match=r"do not agree: Dice kidney and mass, in ↑ \(only in b\)"):
        compared_runs([data, replace(data, measures=(*data.measures, inches))], ["a", "b"])
    half = synthetic_run(3, 4, tolerance_scale=0.5)
    cautions = compared(synthetic_run(3, 4), half, bootstrap=0).cautions
    assert cautions == ("The options of 2024 and 2025 differ (tolerance_scale), which may move places by itself.",)


def test_runs_are_called_by_what_tells_their_folders_apart():
    assert run_labels([Path("x/2024/run"), Path("x/2025/run")]) == ("2024", "2025")
    assert run_labels([Path("a/one"), Path("b/two")]) == ("one", "two")


def test_a_public_page_names_no_case(years, tmp_path):
    folders = [write_run_folder(run, tmp_path / year / "run") for run, year in zip(years, ("24", "25"), strict=True)]
    page = podium.compare_runs(folders, out=tmp_path / "out", public=True, anonymise=True, bootstrap=20)
    files = [path.read_text() for path in page.parent.rglob("*") if path.is_file()]
    assert len(files) == 3
    secret = ("quokka", "alpha", "gamma", "/data", "case_00000")
    assert not [word for text in files for word in secret if word in text]
    text = page.read_text()
    assert "The truth of 1 of those in both has changed." in text
    assert "A is first in 25, after" in text
    full, again = (podium.compare_runs(folders, out=tmp_path / name, bootstrap=0) for name in ("full", "again"))
    assert all(word in full.read_text() for word in secret[:3])
    assert full.read_bytes() == again.read_bytes()


def test_what_cannot_be_compared_is_said(years, tmp_path):
    with pytest.raises(InputError, match="one run cannot be compared"):
        podium.compare_runs(years[:1], out=tmp_path)
    with pytest.raises(InputError, match="there are 2 runs and 1 names"):
        podium.compare_runs(years, names=["one"], out=tmp_path)


def test_the_page_is_for_desks_phones_and_everybody(visit, years, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_comparison(compared(*years, years[0])))
    page = visit(path, size=DESKTOP)
    assert serious(page) == []
    assert page.locator(".compared tbody tr").count() == 5
    phone = visit(path, size=PHONE, scheme="dark")
    assert not too_wide(phone)
    assert serious(phone) == []


@pytest.mark.heavy
def test_which_cases_changed_is_printed_too(visit, years, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_comparison(compared(*years)))
    printed = " ".join(sheet.text for sheet in sheets_of(visit(path)))
    assert "What changed most" in printed
    assert "quokka77" in printed

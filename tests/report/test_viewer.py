"""Cases to look at: which they are, that only what was measured is shown, and that the page shows what was stored."""

import json
import re
import shutil

import numpy as np
import pytest
from browsing import PHONE, serious, too_wide
from reports import synthetic_report, table_ranking

import podium
from podium.io import write_label_map
from podium.model import Course, Film, InputError, LabelMap, Sweep, Volume
from podium.report import build
from podium.report.data import gather
from podium.report.packing import packed_case, stored
from podium.report.page import Shown, render
from podium.report.viewer import ShownCases, check_cases, look_at, worth_a_look

NAMES = [f"case_0000{number}" for number in range(4)]


def kidney(missing=0):
    array = np.zeros((20, 20, 4), np.uint8)
    array[4 + missing : 12, 4:12, 1:3] = 1
    array[9:11, 9:11, 1] = 2
    return array


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(array, spacing=(1, 1, 3)))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Return the folder of a run: `steady` is worst in case 2, `loose` differs from it most in case 1."""
    root = tmp_path_factory.mktemp("looked")
    for number, name in enumerate(NAMES):
        save(root / "truth" / f"{name}.nii.gz", kidney())
        save(root / "teams" / "steady" / f"{name}.nii.gz", kidney((0, 0, 2, 1)[number]))
        save(root / "teams" / "loose" / f"{name}.nii.gz", kidney((1, 6, 3, 2)[number]))
    (root / "teams" / "loose" / "case_00003.nii.gz").unlink()
    podium.evaluate("kits21", truth=root / "truth", submissions=root / "teams", out=root / "run", jobs=1)
    return root


@pytest.fixture
def root(original, tmp_path):
    """Return a copy of it, to be changed at will."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    record = tmp_path / "run" / "run.json"
    record.write_text(record.read_text().replace(str(original), str(tmp_path)))
    return tmp_path


def looked(root, *, submissions=None, gathering=None, **options):
    run = podium.load(root / "run")
    data = gather(run.rank(bootstrap=0), **(gathering or {}))
    return data, look_at(data, run, submissions=submissions or data.submissions, **options)


def names(data, look):
    return {data.cases[case["row"]]: case["why"] for case in look.cases}


def plain(text):
    return re.sub("[\u2066-\u2069]", "", text)


# Which cases


def test_the_worst_of_the_winner_the_most_disputed_and_those_asked_for(original):
    data, look = looked(original, cases=["case_00003", "case_00001"])
    assert {name: plain(why) for name, why in names(data, look).items()} == {
        "case_00003": "asked for",
        "case_00001": "asked for; disputed most, Dice kidney and mass from 0.4198 to 1",
        "case_00002": "the worst case of steady",
    }
    assert look.notes == []
    (scene,) = look.cases[1]["scenes"]
    assert scene["kind"] == "volume"
    assert sorted(scene["layers"]) == [0, 1]
    assert scene["labels"] == ["kidney", "tumor", "cyst"]
    # A failed case is no dispute, and says why there is nothing of it.
    assert [plain(line) for line in look.cases[0]["remarks"]] == ["loose in case_00003: there is no prediction."]


def test_a_report_about_somebody_shows_their_worst(original):
    data, look = looked(original, submissions=["loose"], gathering={"submission": "loose"})
    assert plain(names(data, look)["case_00001"]).startswith("the worst case of loose; disputed most")
    assert list(look.cases[0]["scenes"][0]["layers"]) == [data.submissions.index("loose")]


def test_one_team_and_ties_are_no_dispute():
    data = synthetic_report(1, 5, bootstrap=0, failing=0.0)
    assert list(worth_a_look(data).values()) == [[f"the worst case of {data.submissions[0]}"]]
    data = synthetic_report(4, 5, bootstrap=0, failing=0.0, all_equal=True)
    assert not any("disputed" in reason for reasons in worth_a_look(data).values() for reason in reasons)
    data = synthetic_report(3, 5, bootstrap=0, everything_failed=True)
    assert worth_a_look(data) == {}


def test_names_of_cases_are_checked(original):
    data = gather(podium.load(original / "run").rank(bootstrap=0))
    with pytest.raises(InputError, match="there is no case called 'case_0001'") as caught:
        check_cases(data, ["case_00000", "case_0001"])
    assert "case_00001" in str(caught.value.advice)
    lines = synthetic_report(2, 3, bootstrap=0, challenge="lvquan18")
    with pytest.raises(InputError, match="shows no case to look at"):
        check_cases(lines, [lines.cases[0]])
    table = gather(table_ranking(3, 4, bootstrap=0))
    with pytest.raises(InputError, match="shows no case to look at"):
        check_cases(table, [table.cases[0]])


# From the files that were measured


def test_what_changed_or_is_gone_is_not_shown(root):
    save(root / "teams" / "loose" / "case_00001.nii.gz", kidney(3))
    save(root / "truth" / "case_00002.nii.gz", kidney(3))
    data, look = looked(root)
    assert list(names(data, look)) == ["case_00001"]
    assert list(look.cases[0]["scenes"][0]["layers"]) == [0]
    assert [plain(line) for line in look.cases[0]["remarks"]] == [
        "loose in case_00001: case_00001.nii.gz has changed since the run was made."
    ]
    assert look.notes == [
        "case_00002 cannot be looked at: case_00002.nii.gz has changed since the run was made.",
    ]
    shutil.rmtree(root / "teams" / "loose")
    _, look = looked(root)
    assert look.notes[0] == "loose is no longer where it was when it was measured."
    _, look = looked(root, gathering={"anonymise": True})
    assert "loose" not in json.dumps([look.cases, look.notes])
    shutil.rmtree(root / "truth")
    assert looked(root)[1] is None  # which the pictures tell


def test_cases_that_do_not_fit_are_named(original):
    data, look = looked(original, cases=["case_00000"], room=1000)
    assert len(look.cases) < 3
    (note,) = look.notes
    left_out = [name for name in NAMES if name in note]
    assert sorted([*left_out, *names(data, look)]) == sorted(["case_00000", "case_00001", "case_00002"])
    assert note.startswith("To keep this page small, case_0000")
    assert len(json.dumps(look.cases, separators=(",", ":"))) <= 1000


def test_a_page_that_is_full_shows_less_of_cases(original, tmp_path, monkeypatch):
    run = podium.load(original / "run")
    data = gather(run.rank(bootstrap=0))
    monkeypatch.setattr(build, "FEWEST_SCENES", 100)
    monkeypatch.setattr(build, "FEWEST_PICTURES", 0)
    said = "To keep this page small, case_0000", "are only in figures/cases."
    for most in (build.MOST_OF_PAGE, 0):
        monkeypatch.setattr(build, "MOST_OF_PAGE", most)
        page = tmp_path / "report.html"
        built = build.build_report(data, page, figures=tmp_path / "figures", only=[], run=run, formats=())
        shown = plain(page.read_text())
        assert [words in shown for words in said] == [not most] * 2
        assert bool(built.pictures) == bool(most)


def test_the_page_holds_them_twice_the_same_and_not_without_pictures(root, monkeypatch):
    monkeypatch.setattr("podium.report.pictures.draw_pictures", lambda *_, **__: iter(()))
    ranking = podium.load(root / "run").rank(bootstrap=0)
    few = {"only": ["places"], "cases": ["case_00003"]}
    page = ranking.report(root / "one.html", **few)
    assert '<section id="look"' in page.read_text()
    assert "case_00003" in page.read_text()
    assert ranking.report(root / "two.html", **few).read_bytes() == page.read_bytes()
    bare = ranking.report(root / "three.html", only=["places"], pictures=False).read_text()
    assert '<section id="look"' not in bare
    assert 'id="scenes"' not in bare
    with pytest.raises(InputError, match="without pictures"):
        ranking.report(root / "four.html", pictures=False, cases=["case_00003"])
    with pytest.raises(InputError, match="no case called"):
        ranking.report(root / "four.html", cases=["case"])


# In a browser


def blobs(seed):
    generator = np.random.default_rng(seed)
    array = np.zeros((16, 22, 30), np.uint8)
    array[4:12, 5:18, 6:24] = generator.integers(0, 3, (8, 13, 18))
    return array


TRUTH, GUESSES = blobs(0), [blobs(1), blobs(2), blobs(0)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a page with a volume in case 0, a film in case 1 and a sweep in case 2, of three submissions."""
    data = synthetic_report(3, 4, bootstrap=0, names=["A & <b>", "فريق", "third"])
    labels = {1: "kidney", 2: "tumour"}

    def case(row, scenes, why):
        store = stored(scenes[0])
        for number, scene in enumerate(scenes):
            store.add(number, scene)
        return {"row": row, "why": why, "remarks": ["A remark."], "scenes": packed_case([store], 10**6)}

    maps = [LabelMap.from_array(array, spacing=(1, 1, 2)) for array in (TRUTH, *GUESSES)]
    volumes = [Volume("", maps[0], guess, labels) for guess in maps[1:]]
    grey = (TRUTH * 100 + 20).astype(np.uint8)
    courses = [Course("Dice", np.linspace(1, 0.2 * number, 16)) for number in range(3)]
    films = [
        Film("", TRUTH, guess, labels, rate=8.0, course=course, image=grey)
        for guess, course in zip(GUESSES, courses, strict=True)
    ]
    way = np.random.default_rng(3).normal(0, 4, (25, 4, 3)).cumsum(axis=0)
    sweeps = [Sweep("Corners", way, way + number, course=Course("error", np.arange(25.0), "mm")) for number in range(3)]
    cases = [case(0, volumes, "asked for"), case(1, films, "disputed most"), case(2, sweeps, "the worst case")]
    path = tmp_path_factory.mktemp("viewer") / "page.html"
    path.write_bytes(render(data, Shown(look=ShownCases(cases, ["A note."]))).encode())
    return path, data


def where(page):
    return page.locator("#viewer output.where").inner_text()


def leaves(page, text):
    """Wait until the page is somewhere else."""
    for _ in range(3000):
        if text not in where(page):
            return
        page.wait_for_timeout(20)
    raise AssertionError(text)


def number_of(text, pattern):
    return int(re.search(pattern, text)[1].replace(",", ""))


def slices(array, plane):
    """Return the slices of a volume as the page counts them; its axes go to the left, to the back and to the head."""
    return np.moveaxis(array, 2 - plane, 0)


def test_a_volume_is_scrolled_in_three_planes_by_every_means(visit, written):
    path, data = written
    page = visit(path, anchor="#look")
    canvas = page.locator("#viewer canvas.scene")
    canvas.first.wait_for()
    assert canvas.count() == 2
    slider = page.locator("#viewer input[type=range]")
    wrong = GUESSES[0] != TRUTH
    for plane, name in enumerate(("axial", "coronal", "sagittal")):
        page.get_by_role("button", name=name, exact=True).click()
        truth, guess, differ = (slices(array, plane) for array in (TRUTH, GUESSES[0], wrong))
        # It is opened where the first is most wrong.
        assert where(page).startswith(f"{name} slice {differ.sum(axis=(1, 2)).argmax() + 1} of {len(truth)}: ")
        slider.focus()
        page.keyboard.press("Home")
        first, last = number_of(where(page), r"slice (\d+) of"), int(slider.get_attribute("max"))
        for index in range(first - 1, first + (last if plane == 0 else 5)):
            label = canvas.first.get_attribute("aria-label")
            assert number_of(where(page), r"slice (\d+) of") == index + 1
            assert number_of(label, r"reference ([\d,]+) voxel") == np.count_nonzero(truth[index])
            assert number_of(label, r"predicted ([\d,]+) voxel") == np.count_nonzero(guess[index])
            assert number_of(label, r"([\d,]+) differ") == np.count_nonzero(differ[index])
            page.keyboard.press("ArrowRight")
    # The picture itself takes keys and the wheel, and all pictures go together.
    canvas.nth(1).click()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("PageUp")
    page.keyboard.press("PageDown")
    at = number_of(where(page), r"slice (\d+) of")
    page.mouse.wheel(0, 100)
    page.locator("#viewer output.where", has_text=f"slice {at + 1} of").wait_for()
    assert slider.get_attribute("aria-valuetext").startswith(f"sagittal slice {at + 1} of")
    labels = canvas.evaluate_all("(all) => all.map((own) => own.getAttribute('aria-label'))")
    assert [label.partition(",")[0] for label in labels] == list(data.submissions[:2])
    assert all(f"sagittal slice {at + 1} of" in label for label in labels)
    page.keyboard.press("End")
    assert slider.input_value() == slider.get_attribute("max")
    # Others beside it, never nobody; values stand below.
    page.locator("#viewer [aria-label=Submissions] button").nth(2).click()
    canvas.nth(2).wait_for()
    assert canvas.last.get_attribute("aria-label").endswith("0 differ")
    assert page.locator("#viewer tbody tr").count() == 3
    value = page.locator("#viewer tbody tr").first.locator("td").first.inner_text()
    assert float(value) == pytest.approx(data.values(data.measures[0])[0, 0], abs=1e-4)
    for index in (2, 1, 0):
        page.locator("#viewer [aria-label=Submissions] button").nth(index).click()
    assert canvas.count() == 1
    page.get_by_role("button", name="difference").click()
    assert page.locator("#viewer .key li").all_inner_texts() == ["in both", "missed", "too much", "another label"]
    assert "difference" in canvas.first.get_attribute("aria-label")
    page.get_by_role("button", name="contours").click()
    assert "kidney in the reference" in page.locator("#viewer .key").inner_text()
    assert page.locator("#look").get_by_text("A note.").is_visible()
    assert page.locator("#look").get_by_text("A remark.").is_visible()
    assert serious(page) == []


@pytest.mark.heavy
def test_what_is_stored_is_what_the_page_unpacks(visit, written):
    """Colours of the difference in the picture are counted: each voxel is one of four, as in the arrays."""
    page = visit(written[0], anchor="#look", size={"width": 1200, "height": 1600})
    page.locator("#viewer canvas.scene").first.wait_for()
    page.get_by_role("button", name="difference").click()
    index = number_of(where(page), r"slice (\d+) of") - 1
    shares = page.locator("#viewer canvas.scene").first.evaluate(
        """(canvas) => {
          const style = getComputedStyle(canvas), context = canvas.getContext("2d"), counts = {};
          const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
          const probe = (name) => {
            const own = new OffscreenCanvas(1, 1).getContext("2d");
            own.fillStyle = style.getPropertyValue(`--scene-${name}`).trim();
            own.fillRect(0, 0, 1, 1);
            return own.getImageData(0, 0, 1, 1).data.join();
          };
          const names = {};
          for (const name of ["both", "reference", "prediction", "other"]) names[probe(name)] = name;
          for (let at = 0; at < pixels.length; at += 4) {
            const name = names[pixels.slice(at, at + 4).join()] || "ground";
            counts[name] = (counts[name] || 0) + 1;
          }
          return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, 4 * count / pixels.length]));
        }"""
    )
    truth, guess = TRUTH[:, :, index], GUESSES[0][:, :, index]
    size = 14 * 19  # as stored: what is labelled, and three voxels around
    expected = {
        "both": (truth == guess) & (truth > 0),
        "reference": (truth > 0) & (guess == 0),
        "prediction": (truth == 0) & (guess > 0),
        "other": (truth != guess) & (truth > 0) & (guess > 0),
    }
    for name, mask in expected.items():
        assert shares[name] == pytest.approx(mask.sum() / size, abs=0.02)


@pytest.mark.heavy
def test_films_play_and_sweeps_turn(visit, written):
    page = visit(written[0], anchor="#look", size=PHONE, scheme="dark")
    canvas = page.locator("#viewer canvas.scene")
    canvas.first.wait_for()
    assert canvas.count() == 1  # on a phone
    page.locator("#viewer select").first.select_option(index=1)
    page.locator("#viewer canvas.film.on-image").wait_for()
    assert where(page).startswith("frame 1 of 16: reference ")
    assert number_of(where(page), r"reference ([\d,]+) pixel") == np.count_nonzero(TRUTH[0])
    page.locator("#viewer input[type=range]").fill("9")
    assert "frame 10 of 16" in canvas.get_attribute("aria-label")
    assert canvas.get_attribute("aria-label").endswith("; Dice: 0.4")
    assert number_of(canvas.get_attribute("aria-label"), r"predicted ([\d,]+) pixel") == np.count_nonzero(GUESSES[0][9])
    play = page.get_by_role("button", name="Play")
    play.click()
    leaves(page, "frame 10 of 16")
    assert page.locator("#viewer output.where").get_attribute("aria-live") == "off"
    page.get_by_role("button", name="Pause").click()
    assert page.locator("#viewer output.where").get_attribute("aria-live") == "polite"
    stopped = where(page)
    page.wait_for_timeout(300)
    assert where(page) == stopped
    assert not too_wide(page)
    assert serious(page) == []
    page.locator("#viewer select").first.select_option(index=2)
    page.locator("#viewer canvas.sweep").wait_for()
    assert page.get_by_role("button", name="difference").is_hidden()
    drawn = canvas.evaluate("(own) => own.toDataURL()")
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    turned = canvas.evaluate("(own) => own.toDataURL()")
    assert turned != drawn
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 60)
    page.mouse.up()
    assert canvas.evaluate("(own) => own.toDataURL()") != turned
    page.keyboard.press("End")
    assert where(page) == "frame 25 of 25."
    assert canvas.get_attribute("aria-label").endswith("corners 0.00 mm apart on average; error: 24 mm")
    page.keyboard.press(" ")
    leaves(page, "frame 25 of 25")
    page.keyboard.press(" ")
    assert not too_wide(page)


def test_without_what_it_needs_a_sentence_stands_there(visit, written):
    page = visit(written[0], java_script_enabled=False)
    assert "These cases are shown by a script" in page.content()
    assert page.get_by_text("A note.").is_visible()
    page = visit(written[0])
    page.add_init_script("delete window.DecompressionStream")
    page.reload()
    page.locator("#look").scroll_into_view_if_needed()
    page.get_by_text("This browser is too old").wait_for()

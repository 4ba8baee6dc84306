"""TrackRAD 2025: the organisers' numbers, the page's rules the slow way, files and failures."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from boards import board_of, measurements, recorded
from scipy import ndimage

import podium
from podium.challenges import get_challenge
from podium.challenges.trackrad2025.demo import write
from podium.challenges.trackrad2025.dose import plan_dose, relative_d98
from podium.io import read_label_map, write_label_map
from podium.metrics import dose_at_volume
from podium.model import InputError, LabelMap, Role, Status
from podium.run import Contract, Problem

pytestmark = pytest.mark.slow

METRICS = ("dice", "hd95", "masd", "centre_distance")
OFFICIAL = {
    "dice": ("dsc", "dice_similarity_coefficient"),
    "hd95": ("hd95", "hausdorff_distance_95"),
    "masd": ("asd", "surface_distance_average"),
    "centre_distance": ("cd", "center_distance"),
}


@pytest.fixture(scope="module")
def golden(shared):
    return json.loads((shared / "golden" / "trackrad.json").read_text())


@pytest.fixture(scope="module")
def golden_values(shared, golden):
    """Return everything that edition `code` measures: team → case → values; no tracking by Podium itself."""
    challenge = get_challenge("trackrad2025", edition="code")
    folder = shared / "golden" / "trackrad"
    result = {team: {} for team in (*golden["teams"], "no-tracking")}
    for case in challenge.cases(folder / "ground_truth"):
        truth = challenge.load(case)
        for team in golden["teams"]:
            path = folder / "plain" / team / case.expected[0]
            result[team][case.name] = recorded(challenge, case, truth, path)
        result["no-tracking"][case.name] = challenge.measure_built_in("no-tracking", case, truth)
    return result


def by_unit(values):
    return {(value.metric, value.unit): value for value in values}


def disk(shape, row, column, radius):
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return ((rows - row) ** 2 + (columns - column) ** 2 <= radius**2).astype(np.uint8)


@pytest.fixture
def scene(tmp_path):
    """Return a function that measures a prediction against a truth, both arrays (frames, rows, columns)."""

    def write(path, frames, spacing):
        path.parent.mkdir(parents=True, exist_ok=True)
        header = np.asarray(frames).transpose(0, 2, 1)
        write_label_map(path, LabelMap.from_array(header, spacing=(5.0, spacing[1], spacing[0])))
        return path

    def measure(truth, prediction, *, edition="document", region="abdomen", spacing=(1, 1), own_spacing=None):
        folder = tmp_path / "truth"
        write(folder / "A_001" / "targets" / "A_001_labels.mha", truth, spacing)
        (folder / "A_001" / "scanned-region.json").write_text(json.dumps(region))
        challenge = get_challenge("trackrad2025", edition=edition)
        (case,) = challenge.cases(folder)
        loaded = challenge.load(case)
        path = write(tmp_path / "A_001.mha", prediction, own_spacing or spacing)
        values = by_unit(recorded(challenge, case, loaded, path))
        return SimpleNamespace(challenge=challenge, case=case, truth=loaded, path=path, folder=folder, values=values)

    return measure


# The organisers' numbers


def test_every_frame_and_case_of_the_organisers(golden, golden_values):
    for team, cases in golden["teams"].items():
        for name, expected in cases["cases"].items():
            found = by_unit(golden_values[team][name])
            official = expected["official"]
            assert found["relative_d98", ""].value == official["relative_d98_dose"]  # exactly
            assert found["frames", ""].value == official["frame_count"]
            for metric, (short, long) in OFFICIAL.items():
                tolerance = 1e-5 if metric in ("hd95", "masd") else 1e-12
                per_frame = [
                    getattr(found.get((metric, f"frame {number:04d}")), "value", None)
                    for number in range(1, official["frame_count"] + 1)
                ]
                known = [index for index, value in enumerate(expected["per_frame"][short]) if value is not None]
                assert [index for index, value in enumerate(per_frame) if value is not None] == known
                np.testing.assert_allclose(
                    [per_frame[k] for k in known],
                    [float(expected["per_frame"][short][k]) for k in known],
                    rtol=0,
                    atol=tolerance,
                )
                assert found[metric, ""].value == pytest.approx(official[long], abs=tolerance)
                for kind in ("std", "min", "max"):
                    value = found[f"{metric}_{kind}", ""].value
                    assert value == pytest.approx(official[f"{kind}_{long}"], abs=tolerance)


def test_no_tracking_follows_from_the_truth(golden_values):
    assert golden_values["no-tracking"] == golden_values["no_tracking"]


def table_of(values, seconds):
    """Return measurements of teams, with the seconds of their cases."""
    return measurements(
        {
            team: {
                case: {(v.metric, ""): v.value for v in found if not v.unit}
                | ({("seconds", ""): seconds[team][case]} if team in seconds else {})
                for case, found in cases.items()
            }
            for team, cases in values.items()
        }
    )


def test_aggregates_and_runtimes_of_the_organisers(shared, golden, golden_values):
    seconds = json.loads((shared / "golden" / "trackrad" / "runtimes.json").read_text())
    table = table_of(golden_values, seconds)
    board = board_of("trackrad2025", table, edition="code", roles={"no-tracking": Role.BASELINE})
    entries = {entry.submission: entry for entry in board.entries}
    for team, cases in golden["teams"].items():
        expected = cases["aggregates"]
        names = {metric: long for metric, (_, long) in OFFICIAL.items()} | {"relative_d98": "relative_d98_dose"}
        names |= {name: name for name in ("runtime", "loading_time", "time_per_frame", "total_time")}
        for own, official in names.items():
            tolerance = 1e-5 if own in ("hd95", "masd") else 1e-9
            assert entries[team].values[own] == pytest.approx(expected[official], abs=tolerance), (team, own)
    # Ranks by hand from the aggregates: DSC good shifted noisy; HD95, MASD, CD the same; D98 good noisy shifted;
    # runtime shifted good noisy. The submitted copy of no tracking is not better than itself.
    assert [(e.submission, e.place, e.values["average_rank"]) for e in board.entries[:3]] == [
        ("good", 1, pytest.approx(7 / 6)),
        ("shifted", 2, pytest.approx(12 / 6)),
        ("noisy", 3, pytest.approx(17 / 6)),
    ]
    assert "does not outperform no tracking" in entries["no_tracking"].remark
    assert entries["no-tracking"].remark == "baseline"


BEHAVIOURS = {
    "clip_bug_fully_outside": ((80, 112), (40, 100, 6), (40, 100, 6)),
    "clip_bug_partial": ((80, 112), (40, 78, 8), (40, 81, 8)),
    "same_masks_transposed": ((112, 80), (78, 40, 8), (81, 40, 8)),
    "concentric_r10_vs_r20": ((96, 96), (48, 48, 20), (48, 48, 10)),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_behaviours_of_the_organisers_code(name, golden, scene):
    shape, *disks = BEHAVIOURS[name]
    truth, prediction = (np.stack([disk(shape, *d)] * 2) for d in disks)
    found = scene(truth, prediction, edition="code").values
    for metric, (short, _) in OFFICIAL.items():
        expected = float(golden["behaviours"][name]["result"]["official"][short])
        assert found[metric, ""].value == pytest.approx(expected, abs=1e-5)


def test_masd_of_the_code_goes_one_way(golden, scene):
    circle = disk((96, 96), 48, 48, 20)
    arc = circle & ~ndimage.binary_erosion(circle)
    arc[36:] = 0
    behaviour = golden["behaviours"]["one_directional_asd"]
    assert arc.sum() == behaviour["n_pred_pixels"]
    larger, smaller = circle, disk((96, 96), 48, 48, 10)
    swapped = golden["behaviours"]["concentric_r10_vs_r20"]["swapped"]
    for truth, prediction, expected in ((circle, arc, behaviour["result"]), (smaller, larger, swapped)):
        found = scene(np.stack([truth] * 2), np.stack([prediction] * 2), edition="code").values
        for metric, (short, _) in OFFICIAL.items():
            assert found[metric, ""].value == pytest.approx(expected["official"][short], abs=1e-5)


def test_raw_values_in_dice(golden, scene):
    target = np.stack([disk((60, 60), 30, 30, 9)] * 3)
    expected = golden["behaviours"]["prediction_stored_as_255"]["result"]["official"]
    run = scene(target, 255 * target, edition="code")
    assert [run.values[metric, ""].value for metric in METRICS] == [expected[s] for s, _ in OFFICIAL.values()]
    assert "a pixel is 255" in run.challenge.doubts(run.case, run.truth, run.path)[0]
    document = scene(target, 255 * target)
    assert document.values["dice", ""].value == 1
    assert document.challenge.check(document.case, document.path) == []
    assert document.challenge.doubts(document.case, document.truth, document.path) == []


@pytest.mark.parametrize("frames", [20, 40, 41, 60])
def test_dose_steps_of_the_organisers_histogram(frames, golden):
    """A perfect prediction but for some empty frames; NumPy 2 loses the highest bin for some counts."""
    plan = plan_dose(disk((80, 80), 40, 40, 9) > 0, region="abdomen", spacing_mm=(1, 1), edition="code")
    new = next(entry for entry in golden["dose_histogram_numpy_versions"] if entry["numpy"].startswith("2"))
    rows = [(row["n_empty"], row["relative_d98"]) for row in new["rows"] if row["frames"] == frames]
    if frames == 41:
        steps = golden["behaviours"]["dose_step_with_empty_predictions"]["rows"]
        rows = [(row["n_empty_of_41"], row["relative_d98"]) for row in steps]
    assert rows
    for empty, expected in rows:
        assert relative_d98(plan, np.zeros((frames - empty, 2)), frames=frames, edition="code") == expected


def test_dose_of_a_constant_shift(golden):
    target = disk((80, 80), 40, 40, 9) > 0
    pixels = golden["behaviours"]["dose_mask_is_binary"]
    assert target.sum() == pixels["pixels_target"]
    for region, key in (("abdomen", "sigma4"), ("thorax", "sigma4"), ("lung", "sigma6")):
        plan = plan_dose(target, region=region, spacing_mm=(1, 1), edition="code")
        assert plan.dose.sum() == pixels[f"pixels_{key}"]
        assert plan.dose.dtype == np.uint8
        for row in golden["behaviours"]["dose_vs_constant_row_shift"]["rows"]:
            shifts = np.tile([float(row["constant_shift_px"]), 0.0], (10, 1))
            assert relative_d98(plan, shifts, frames=10, edition="code") == row[key]


# The same the slow way


def slow_code_dose(target, shifts, frames, sigma):
    """Return relative D98 as the organisers' code defines it, every frame shifted as a whole image."""
    grown = ndimage.binary_dilation(target, iterations=3).astype(np.float32)
    mask = (ndimage.gaussian_filter(grown, sigma) > 0.25).astype(np.uint8)
    delivered = np.zeros(mask.shape, np.float32)
    for shift in shifts:
        delivered += ndimage.shift(mask, shift, order=3, mode="nearest")
    delivered /= frames

    def d98(dose):
        edges = np.arange(-0.05, dose.max() + 0.1, 0.1)
        counts, _ = np.histogram(dose[target], bins=edges)
        values = np.cumsum(counts[::-1])[::-1]
        values = values / values.max() if values.any() else values
        centres = np.round((edges[1:] + edges[:-1]) / 2, 10)
        return 0 if values[0] == values.sum() else np.interp(0.98, values[::-1], centres[::-1])

    return d98(delivered) / d98(mask)


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 counts the bins of the slow way in float64")
@pytest.mark.parametrize("seed", range(8))
def test_code_dose_is_exact_in_its_window(seed):
    """Shifts of whole and half pixels, where rounding decides, targets at the border, and shifts out of the image."""
    generator = np.random.default_rng(seed)
    shape = tuple(generator.integers(60, 130, 2))
    centre = generator.uniform(0, 1, 2) * shape
    target = disk(shape, *centre, generator.uniform(4, 14)) > 0
    shifts = generator.normal(0, 3, (30, 2))
    shifts[::3] = np.round(shifts[::3] * 2) / 2
    if seed % 2:
        shifts[1] *= 20
    region = "lung" if seed % 3 else "pelvis"
    plan = plan_dose(target, region=region, spacing_mm=(1, 1), edition="code")
    found = relative_d98(plan, shifts, frames=33, edition="code")
    assert found == slow_code_dose(target, shifts, 33, 6 if region == "lung" else 4)


def slow_frame(truth, prediction, spacing):
    """Return the four metrics of the page for one frame, from distance transforms of whole images."""
    edges = [mask & ~ndimage.binary_erosion(mask) for mask in (truth, prediction)]
    far = [ndimage.distance_transform_edt(~edge, sampling=spacing) for edge in edges]
    directed = far[0][edges[1]], far[1][edges[0]]
    centres = [np.array(ndimage.center_of_mass(mask)) for mask in (truth, prediction)]
    return {
        "dice": 2 * (truth & prediction).sum() / (truth.sum() + prediction.sum()),
        "hd95": max(np.percentile(d, 95) for d in directed),
        "masd": np.mean([d.mean() for d in directed]),
        "centre_distance": np.linalg.norm((centres[1] - centres[0]) * spacing),
    }, centres[1] - centres[0]


@pytest.mark.parametrize(("seed", "spacing"), [(0, (1, 1)), (1, (1.5, 0.8)), (2, (1, 1)), (3, (2.0, 2.0))])
def test_the_page_the_slow_way(seed, spacing, scene):
    generator = np.random.default_rng(seed)
    shape = (70, 90) if seed % 2 else (90, 64)
    masks = []
    for spread in (3, 9):
        centres = np.array(shape) * ((0.5, 0.5) if seed < 2 else (0.1, 0.95)) + generator.normal(0, spread, (19, 2))
        masks.append(np.stack([disk(shape, *centre, generator.uniform(6, 11)) for centre in centres]) > 0)
    truth, prediction = masks
    prediction &= generator.random(prediction.shape) < 0.97  # holes
    truth[[0, 7]] = prediction[[4, 7]] = False
    region, sigma = ("thorax", 6) if seed % 2 else ("pelvis", 4)
    found = scene(truth, prediction, region=region, spacing=spacing).values

    expected, shifts = {metric: [] for metric in METRICS}, []
    for number, pair in enumerate(zip(truth, prediction, strict=True), start=1):
        if not pair[0].any():
            assert ("dice", f"frame {number:04d}") not in found
            continue
        penalty = max(np.multiply(shape, spacing))
        values = {metric: 0 if metric == "dice" else penalty for metric in METRICS}
        if pair[1].any():
            values, shift = slow_frame(*pair, spacing)
            values |= {metric: min(values[metric], penalty) for metric in METRICS if metric != "dice"}
            shifts.append(shift)
        for metric in METRICS:
            assert found[metric, f"frame {number:04d}"].value == pytest.approx(values[metric], abs=1e-9)
            expected[metric].append(values[metric])
    for metric in METRICS:
        assert found[metric, ""].value == pytest.approx(np.mean(expected[metric]), abs=1e-9)

    target = truth[1]
    grown = ndimage.distance_transform_edt(~target, sampling=spacing) <= 3
    dose = ndimage.gaussian_filter(grown.astype(float), np.divide(sigma, spacing))
    delivered = sum(ndimage.shift(dose, shift, order=3, mode="nearest") for shift in shifts) / len(expected["dice"])
    relative = dose_at_volume(delivered[target], share=0.98) / dose_at_volume(dose[target], share=0.98)
    assert found["relative_d98", ""].value == pytest.approx(relative, abs=1e-9)


# Files and failures


def test_perfect_empty_and_failed(scene):
    target = np.stack([disk((50, 64), 20 + k, 30, 8) for k in range(5)])
    perfect = scene(target, target, spacing=(2, 1)).values
    assert [perfect[m, ""].value for m in (*METRICS, "relative_d98", "frames")] == [1, 0, 0, 0, pytest.approx(1), 5]
    nothing = scene(target, 0 * target, spacing=(2, 1))
    price = [0, 100, 100, 100, 0, 5]  # the longer side is that of 50 rows, 2 mm each
    assert [nothing.values[m, ""].value for m in (*METRICS, "relative_d98", "frames")] == price
    contract, rows = Contract(nothing.challenge), nothing.challenge.rows(nothing.case, nothing.truth)
    failed = contract.failed(rows, nothing.truth, Status.MISSING, "there is none")
    assert [value.value for value in failed] == price
    assert {value.status for value in failed} == {Status.MISSING}
    assert nothing.challenge.check(None, nothing.path) == []
    assert nothing.challenge.doubts(None, None, nothing.path) == ["no frame has a target: every pixel is 0"]
    code = get_challenge("trackrad2025", edition="code")
    assert code.check(None, nothing.path) == ["no frame has a target: every pixel is 0"]
    with pytest.raises(InputError, match="no frame has a target"):
        scene(target, 0 * target, edition="code")


def test_a_frame_costs_no_more_than_an_empty_one(scene):
    """Opposite corners of 50 × 64 mm are 79.8 mm apart, and an empty frame costs 64 mm; both numbers are kept."""
    target, corner = disk((50, 64), 0, 0, 0), disk((50, 64), 49, 63, 0)
    truth = np.stack([target] * 4)
    far = float(np.hypot(49, 63))
    values = scene(truth, np.stack([target, corner, target, target])).values
    for metric in ("hd95", "masd", "centre_distance"):
        second = values[metric, "frame 0002"]
        assert (second.value, second.measured) == (64, pytest.approx(far))
        assert (values[metric, "frame 0001"].value, values[metric, "frame 0001"].measured) == (0, None)
        # The cap is on the frame: the mean as measured is far below 64, and counts less all the same.
        assert (values[metric, ""].value, values[metric, ""].measured) == (16, pytest.approx(far / 4))
    assert (values["dice", ""].value, values["dice", ""].measured) == (0.75, None)
    empty = scene(truth, np.stack([target, 0 * target, target, target])).values
    for metric in METRICS:
        assert empty[metric, ""].value == values[metric, ""].value
        assert empty[metric, ""].measured is None
    code = scene(truth, np.stack([target, corner, target, target]), edition="code").values
    # The code knows no cap: frames 2 to 4 are averaged. The corner lies beyond column 50, which its crop loses.
    assert (code["centre_distance", ""].value, code["centre_distance", ""].measured) == (pytest.approx(far / 3), None)
    assert [code[metric, ""].value for metric in ("hd95", "masd")] == [np.inf, np.inf]


def test_what_a_mean_over_observers_costs_is_capped_for_each(tmp_path):
    """One observer is 79.8 mm off, which counts 64 mm, the other sees the very same: 32 mm, and 39.9 mm as measured."""
    targets = disk((50, 64), 0, 0, 0), disk((50, 64), 49, 63, 0)
    folder = tmp_path / "truth" / "A_001"
    (folder / "targets").mkdir(parents=True)
    for name, target in zip(("", "2"), targets, strict=True):
        labels = LabelMap.from_array(np.stack([target] * 2).transpose(0, 2, 1))
        write_label_map(folder / "targets" / f"A_001_labels{name}.mha", labels)
    (folder / "scanned-region.json").write_text('"abdomen"')
    challenge = get_challenge("trackrad2025", references="observers")
    (case,) = challenge.cases(tmp_path / "truth")
    values = by_unit(recorded(challenge, case, challenge.load(case), case.files[0]))
    for unit in ("", "frame 0001", "frame 0002"):
        distance = values["centre_distance", unit]
        assert (distance.value, distance.measured) == (32, pytest.approx(np.hypot(49, 63) / 2))


def test_frames_averaged_by_the_code(scene):
    """The empty first frame goes to the end of the list, and the second is left out; the price is 64."""
    target = np.stack([disk((50, 64), 25, 30, 8)] * 4)
    prediction = np.stack([0 * target[0], np.roll(target[0], 2, axis=0), target[0], target[0]])
    assert scene(target, prediction, edition="code").values["centre_distance", ""].value == 64 / 3
    assert scene(target, prediction).values["centre_distance", ""].value == 66 / 4
    single = scene(target[:1], target[:1], edition="code").values["dice", ""]
    assert (single.value, single.status) == (None, Status.UNDEFINED)


def test_a_dose_that_misses_its_target_is_undefined(scene):
    speck = np.stack([disk((40, 40), 20, 20, 0)] * 3)
    value = scene(speck, speck, edition="code").values["relative_d98", ""]
    assert (value.value, value.status, value.reason) == (
        None,
        Status.UNDEFINED,
        "no dose is planned where the target is",
    )
    assert scene(speck, speck).values["relative_d98", ""].value == pytest.approx(1)


def test_shapes_and_geometry(scene):
    target = np.stack([disk((50, 64), 25, 30, 8)] * 4)
    with pytest.raises(InputError, match="wrong frame count: 3 frames of 50 × 64, the reference has 4 frames"):
        scene(target, target[:3])
    with pytest.raises(InputError, match=r"wrong shape: 4 frames of 64 × 50.*time comes first"):
        scene(target, target.transpose(0, 2, 1))
    other = scene(target, target, own_spacing=(1, 2)).values["hd95", ""]
    assert (other.value, other.status) == (0, Status.OK)
    assert other.reason == "accepted although pixels are 1 × 2 mm, the reference's 1 × 1 mm"
    run = scene(target, target)
    assert run.values["hd95", ""].reason == ""


def test_mirrored_frames_are_doubted(scene):
    target = np.stack([disk((50, 64), 12, 20 + k, 7) for k in range(4)])
    assert doubts_of(scene(target, target)) == []
    assert doubts_of(scene(target, target[:, ::-1]))[0].startswith("looks flipped top–bottom: Dice with the truth is 0")
    assert doubts_of(scene(target, target[:, :, ::-1]))[0].startswith("looks flipped left–right:")


def doubts_of(run):
    return run.challenge.doubts(run.case, run.truth, run.path)


def test_the_default_origin_is_accepted_by_check_as_by_evaluate(scene, tmp_path):
    """The organisers' baseline writes its answer without the input's origin: other geometry is a warning."""
    run = scene(np.stack([disk((50, 64), 25, 30, 8)] * 4), np.stack([disk((50, 64), 25, 30, 7)] * 4))
    labels = tmp_path / "truth" / "A_001" / "targets" / "A_001_labels.mha"
    placed = replace(read_label_map(labels), origin=(0.0, -120.5, 33.0))
    write_label_map(labels, placed)
    team = tmp_path / "teams" / "baseline"
    team.mkdir(parents=True)
    run.path.rename(team / "A_001.mha")
    given = {"truth": tmp_path / "truth", "submissions": tmp_path / "teams"}
    failures = podium.evaluate("trackrad2025", **given, out=tmp_path / "run").failures
    assert set(failures["status"]) == {"warning"}
    said = "accepted although in-plane origin or direction is not the reference's"
    assert failures["reason"].to_list() == [said]
    assert podium.check("trackrad2025", team, truth=tmp_path / "truth") == [Problem("A_001.mha", said, warning=True)]
    assert podium.check("trackrad2025", team) == []


def test_the_truth_and_its_observers(scene):
    target = np.stack([disk((50, 64), 25, 30, 8)] * 4)
    run = scene(target, target)
    targets = run.case.files[0].parent
    for name in ("A_001_first_label.mha", "A_001_labelsB.mha", "A_001_labels_2.mha"):
        (targets / name).write_bytes(run.case.files[0].read_bytes())
    (run.folder / "notes").mkdir()
    assert run.challenge.cases(run.folder) == [run.case]
    region = run.case.files[1]
    for content, message in (("not json", "not JSON"), ("[1]", r"the scanned region is \[1\]"), (None, "no such file")):
        region.write_text(content) if content else region.unlink()
        with pytest.raises(InputError, match=message):
            run.challenge.load(run.case)
    with pytest.raises(InputError, match="no frame of the reference"):
        scene(0 * target, target)


@pytest.mark.slow
def test_the_demo_is_the_same_every_time(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)
    challenge = get_challenge("trackrad2025")
    cases = challenge.cases(tmp_path / "one" / "truth")
    assert len(cases) == 5
    failures = 0
    for case in cases:
        truth = challenge.load(case)
        baseline = by_unit(challenge.measure_built_in("no-tracking", case, truth))
        for team in ("swift", "ponderous", "unlucky"):
            path = tmp_path / "one" / "submissions" / team / f"{case.name}.mha"
            try:
                assert by_unit(challenge.measure(case, truth, path))["dice", ""].value > baseline["dice", ""].value
            except (InputError, FileNotFoundError):
                assert team == "unlucky"
                failures += 1
    assert failures == 4

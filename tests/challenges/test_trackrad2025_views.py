"""What is shown of a sequence of TrackRAD 2025."""

import json

import numpy as np
import pytest
from scipy import ndimage

from podium.challenges import get_challenge
from podium.challenges.trackrad2025.dose import delivered_dose
from podium.challenges.trackrad2025.frames import measure_frames
from podium.challenges.trackrad2025.sequences import read_sequence
from podium.io import write_label_map
from podium.metrics import dose_at_volume
from podium.model import Curves, InputError, LabelMap, Slices

SHAPE = (40, 50)


def squares(*corners, side=6, value=1):
    """Return frames with a square whose upper left corner is given; None for an empty frame."""
    frames = np.zeros((len(corners), *SHAPE), np.uint8)
    for frame, corner in zip(frames, corners, strict=True):
        if corner:
            frame[corner[0] : corner[0] + side, corner[1] : corner[1] + side] = value
    return frames


def save(path, frames, spacing=(1.0, 1.0)):
    path.parent.mkdir(parents=True, exist_ok=True)
    header = np.asarray(frames).transpose(0, 2, 1)
    write_label_map(path, LabelMap.from_array(header, spacing=(5.0, spacing[1], spacing[0])))
    return path


TRUTH = squares((10, 20), (12, 20), None, (14, 20), (12, 20))
GUESS = squares((10, 20), (13, 21), (1, 1), None, (20, 30))


@pytest.fixture
def show(tmp_path):
    def show(truth=TRUTH, guess=GUESS, *, rate=None, images=None, spacing=(1.0, 1.0), others=(), **options):
        folder = tmp_path / "truth" / "A_001"
        save(folder / "targets" / "A_001_labels.mha", truth, spacing)
        for number, other in enumerate(others, start=2):
            save(folder / "targets" / f"A_001_labels{number}.mha", other, spacing)
        (folder / "scanned-region.json").write_text('"abdomen"')
        if rate is not None:
            (folder / "frame-rate.json").write_text(json.dumps(rate))
        challenge = get_challenge("trackrad2025", **options)
        (case,) = challenge.cases(tmp_path / "truth")
        path = save(tmp_path / "A_001.mha", guess, spacing)
        loaded = challenge.load(case)
        show.values = {v.metric: v.value for v in challenge.measure(case, loaded, path) if not v.unit}
        show.truth, show.guess = loaded, read_sequence(path)
        return challenge.views(case, loaded, path, images=images)

    return show


def test_the_centre_over_time(show):
    rows, columns, *_ = show()
    assert [view.title for view in (rows, columns)] == [
        "Centre of the target along the rows",
        "Centre of the target along the columns",
    ]
    assert (rows.horizontal, rows.vertical) == ("frame", "mm")
    assert [(line.name, line.kind) for line in rows.lines] == [("reference", "reference"), ("predicted", "prediction")]
    nan = np.nan
    times = np.arange(1, 6)
    # A square of six pixels from 10 has its centre at 12.5. The third frame has no reference, the fourth no prediction.
    for view, true, guess in (
        (rows, (12.5, 14.5, nan, 16.5, 14.5), (12.5, 15.5, 3.5, nan, 22.5)),
        (columns, (22.5, 22.5, nan, 22.5, 22.5), (22.5, 23.5, 3.5, nan, 32.5)),
    ):
        np.testing.assert_allclose(view.lines[0].points, np.column_stack([times, true]))
        np.testing.assert_allclose(view.lines[1].points, np.column_stack([times, guess]))


def test_time_is_in_seconds_where_the_frame_rate_is_known(show):
    view = show(rate=4.0)[0]
    assert view.horizontal == "time, s"
    np.testing.assert_allclose(view.lines[0].points[:, 0], [0, 0.25, 0.5, 0.75, 1])
    for wrong in ("fast", 0, -1, [4], {"rate": 4}):
        assert show(rate=wrong)[0].horizontal == "frame"


def test_millimetres_follow_the_spacing(show):
    rows, columns, *_ = show(spacing=(2.0, 3.0))
    assert rows.lines[0].points[0, 1] == 25
    assert columns.lines[0].points[0, 1] == 67.5


def test_the_distance_is_what_was_measured(show):
    view = show()[2]
    assert view.title == "Distance between the centres; 1 frame without a prediction costs 50 mm"
    distances = view.lines[0].points[:, 1]
    np.testing.assert_allclose(distances, [0, np.sqrt(2), np.nan, np.nan, np.sqrt(8**2 + 10**2)])
    counted = [0, np.sqrt(2), 50, np.sqrt(164)]
    assert show.values["centre_distance"] == pytest.approx(np.mean(counted))


def test_several_missed_frames_are_counted(show):
    title = show(guess=squares((10, 20), None, None, None, (12, 20)))[2].title
    assert title.endswith("; 2 frames without a prediction cost 50 mm each")  # the third frame has no reference
    assert show(guess=TRUTH)[2].title == "Distance between the centres"


@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_histogram_starts_full_and_crosses_at_d98(show, edition):
    view = next(view for view in show(edition=edition) if "histogram" in view.title)
    assert view.title == f"Dose–volume histogram; relative D98 {show.values['relative_d98']:.3f}"
    share, planned, delivered = view.lines
    assert [line.kind for line in view.lines] == ["other", "reference", "prediction"]
    np.testing.assert_array_equal(share.points[:, 1], 98)
    for line in (planned, delivered):
        assert line.points[0].tolist() == [0, 100]
        assert line.points[-1, 1] == 0
        assert (np.diff(line.points[:, 1]) <= 0).all()
    if edition == "document":  # the reference's 98 % are reached up to 1, the prediction's up to the relative D98
        for line, dose in ((planned, 1.0), (delivered, show.values["relative_d98"])):
            levels, shares = line.points.T
            assert (shares[levels <= dose - 1e-9] >= 98 - 3).all()  # 36 pixels: one of them is 2.8 %
            assert (shares[levels > dose] < 98).all()


def test_the_delivered_dose_is_the_one_that_d98_is_read_off(show):
    show()
    frames = measure_frames(show.truth.sequence, show.guess, edition="document")
    dose = delivered_dose(show.truth.plan, frames.shifts, frames=frames.listed.size, edition="document")
    assert dose.size == 36
    found = dose_at_volume(dose, share=0.98) / show.truth.plan.d98
    assert found == pytest.approx(show.values["relative_d98"], abs=1e-12)


@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_delivered_dose_the_slow_way(show, edition):
    """The plan, shifted as SciPy does for every frame, added up, and divided by the frames with a reference."""
    show(edition=edition)
    plan = show.truth.plan
    frames = measure_frames(show.truth.sequence, show.guess, edition=edition)
    shifted = [
        ndimage.shift(plan.dose, shift, order=3, mode="nearest").astype(float) for shift in ((0, 0), (1, 1), (8, 10))
    ]
    np.testing.assert_allclose(
        np.sort(delivered_dose(plan, frames.shifts, frames=frames.listed.size, edition=edition)),
        np.sort((sum(shifted) / 4)[plan.target]),
        atol=1e-6 if edition == "code" else 1e-9,
    )


def test_nothing_predicted_delivers_nothing(show):
    views = show(guess=np.zeros_like(TRUTH))
    histogram = next(view for view in views if "histogram" in view.title)
    np.testing.assert_array_equal(histogram.lines[2].points[1:, 1], 0)
    assert np.isnan(views[0].lines[1].points[:, 1]).all()
    assert not views[-1].panels[0].prediction.any()


def test_the_worst_frame_is_shown(show):
    view = show()[-1]
    assert isinstance(view, Slices)
    (panel,) = view.panels
    assert panel.caption == "frame 5 of 5, Dice 0.000"  # not the fourth, which has no prediction
    np.testing.assert_array_equal(panel.reference, TRUTH[4][: 26 + 12, 8:48])  # twelve pixels around rows 12 to 25
    np.testing.assert_array_equal(panel.prediction, GUESS[4][: 26 + 12, 8:48])
    assert view.labels == {1: "target"}
    assert view.remarks == ()


def test_a_frame_has_its_image(show, tmp_path):
    images = TRUTH.astype(np.uint16) * 700 + np.arange(5, dtype=np.uint16)[:, None, None]
    save(tmp_path / "images" / "A_001" / "images" / "A_001_frames.mha", images)
    (panel,) = show(images=tmp_path / "images")[-1].panels
    np.testing.assert_array_equal(panel.image == 1, panel.reference == 1)
    assert panel.image.dtype == np.float32


def test_without_its_image_a_frame_is_shown_all_the_same(show, tmp_path):
    view = show(images=tmp_path)[-1]
    assert view.panels[0].image is None
    assert view.remarks == ("Without the image: A_001_frames.mha: there is no such file",)
    save(tmp_path / "A_001" / "images" / "A_001_frames.mha", TRUTH[:3])
    (remark,) = show(images=tmp_path)[-1].remarks
    assert remark == "Without the image: A_001_frames.mha: the images have another shape than their labels"


def test_all_observers_are_drawn(show):
    other = squares((11, 20), (12, 21), (1, 1), (14, 20), (12, 20))
    rows, *_ = show(others=[other], references="observers")
    assert [(line.name, line.kind) for line in rows.lines] == [
        ("labels", "reference"),
        ("labels2", "other"),
        ("predicted", "prediction"),
    ]
    assert rows.lines[1].points[0, 1] == 13.5


def test_every_view_is_of_a_known_kind(show):
    assert [type(view) for view in show()] == [Curves, Curves, Curves, Curves, Slices]


def test_what_could_not_be_measured_is_not_shown(show, tmp_path):
    show()
    challenge = get_challenge("trackrad2025")
    (case,) = challenge.cases(tmp_path / "truth")
    with pytest.raises(InputError, match="wrong frame count"):
        challenge.views(case, challenge.load(case), save(tmp_path / "A_001.mha", GUESS[:3]))

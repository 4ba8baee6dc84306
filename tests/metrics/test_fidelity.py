"""Likeness of images: by hand, window by window, and beside scikit-image."""

import numpy as np
import peers
import pytest

from podium.metrics import peak_signal_to_noise_ratio, structural_similarity, structural_similarity_map
from podium.model import InputError


@pytest.fixture(params=[(20, 23), (12, 13, 15)], ids=["2-D", "3-D"])
def images(request):
    one, noise = np.random.default_rng(0).random((2, *request.param))
    return 200 * one, 150 * one + 40 * noise


def test_noise_by_hand():
    assert peak_signal_to_noise_ratio([[0, 0]], [[3, 4]], data_range=10) == pytest.approx(10 * np.log10(100 / 12.5))
    assert peak_signal_to_noise_ratio([[0, 9]], [[1, 0]], data_range=10, mask=[[1, 0]]) == pytest.approx(20)
    assert peak_signal_to_noise_ratio([1, 2], [1, 2], data_range=1) == np.inf
    assert peak_signal_to_noise_ratio([0.0], [1e200], data_range=1e200) == 0


def test_similarity_window_by_window(images):
    one, two = images
    reach = 5
    offsets = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * one.ndim, indexing="ij"))
    window = np.exp(-0.5 * (offsets**2).sum(axis=0) / 1.5**2)
    window /= window.sum()
    values = []
    for corner in np.ndindex(*(n - 2 * reach for n in one.shape)):
        box = tuple(slice(c, c + 2 * reach + 1) for c in corner)
        x, y = one[box], two[box]
        mx, my = (window * x).sum(), (window * y).sum()
        vx, vy, cov = ((window * a * b).sum() for a, b in ((x - mx, x - mx), (y - my, y - my), (x - mx, y - my)))
        c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
        values.append((2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2)))
    assert structural_similarity(one, two, data_range=255) == pytest.approx(np.mean(values), rel=1e-9)


def test_like_scikit_image(images):
    peer = peers.scikit_image()
    one, two = images
    options = {"data_range": 255, "gaussian_weights": True, "use_sample_covariance": False}
    for sigma in (1.0, 1.5):
        expected = peer.structural_similarity(one, two, sigma=sigma, **options)
        assert structural_similarity(one, two, data_range=255, sigma=sigma) == pytest.approx(expected, rel=1e-9)
    _, full = peer.structural_similarity(one, two, full=True, **options)
    np.testing.assert_allclose(structural_similarity_map(one, two, data_range=255), full, rtol=1e-9, atol=1e-12)
    expected = peer.peak_signal_noise_ratio(one, two, data_range=255)
    assert peak_signal_to_noise_ratio(one, two, data_range=255) == pytest.approx(expected)


def test_far_from_zero_no_digit_is_lost():
    """Only the means know of an offset; scikit-image's variances lose their digits to it."""
    one, noise = np.random.default_rng(2).random((2, 24, 24))
    two = (one + noise) / 2
    near, far = (structural_similarity(one + offset, two + offset, data_range=1.0) for offset in (1e3, 1e7))
    assert far == pytest.approx(near, rel=1e-6)
    options = {"data_range": 1.0, "gaussian_weights": True, "use_sample_covariance": False}
    theirs = peers.scikit_image().structural_similarity(one + 1e7, two + 1e7, **options)
    assert theirs != pytest.approx(near, rel=1e-2)


def test_like_monai():
    one, noise = np.random.default_rng(3).random((2, 12, 13, 14))
    two = (one + noise) / 2
    assert structural_similarity(one, two, data_range=1.0) == pytest.approx(peers.monai_ssim(one, two), rel=1e-4)


def test_where_other_tools_differ():
    """TorchMetrics also counts windows that reach over the border."""
    one, noise = np.random.default_rng(1).random((2, 20, 20))
    two = (one + noise) / 2
    peer = peers.torchmetrics()
    theirs = peer.structural_similarity_index_measure(two[None, None], one[None, None], data_range=1.0)
    padded = [np.pad(image, 5, mode="reflect") for image in (one, two)]
    assert structural_similarity(*padded, data_range=1.0) == pytest.approx(theirs, rel=1e-6)
    assert structural_similarity(one, two, data_range=1.0) != pytest.approx(theirs, rel=1e-3)


def test_a_mask_chooses_windows(images):
    one, two = images
    mask = np.zeros(one.shape)
    place = (6,) * one.ndim
    mask[place] = 1
    single = structural_similarity_map(one, two, data_range=255)[place]
    assert structural_similarity(one, two, data_range=255, mask=mask) == pytest.approx(single)
    border = np.zeros(one.shape)
    border[0] = 1
    assert np.isnan(structural_similarity(one, two, data_range=255, mask=border))
    assert np.isnan(peak_signal_to_noise_ratio(one, two, data_range=255, mask=np.zeros(one.shape)))


def test_constants_are_alike_by_their_light():
    """Two constants 0 and 1: only the first factor is below 1."""
    value = structural_similarity(np.zeros((11, 11)), np.ones((11, 11)), data_range=1)
    assert value == pytest.approx(0.0001 / 1.0001)


def test_bad_images():
    small, image = np.zeros((10, 30)), np.zeros((12, 12))
    for arguments, options, message in (
        ((small, small), {"data_range": 1}, "no room for a window of 11"),
        ((image, image[:11]), {"data_range": 1}, "one shape"),
        ((image, image), {"data_range": 0}, "data_range"),
        ((image, np.full((12, 12), np.nan)), {"data_range": 1}, "finite"),
        ((image, image), {"data_range": 1, "sigma": 0}, "sigma"),
        ((image, image), {"data_range": 1, "mask": np.ones(3)}, "one shape"),
    ):
        with pytest.raises(InputError, match=message):
            structural_similarity(*arguments, **options)

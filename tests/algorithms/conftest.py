"""Where algorithms of these tests are run."""

import pytest
from asked_landmarks import write_images
from ran_algorithms import POINTS


@pytest.fixture
def places(tmp_path):
    """Return where images and truth lie, and where results go."""
    truth = tmp_path / "truth"
    truth.mkdir()
    for name in POINTS:
        (truth / f"{name}.txt").write_text("0 0 0")
    return {"out": tmp_path / "out", "inputs": write_images(tmp_path, POINTS), "truth": truth}

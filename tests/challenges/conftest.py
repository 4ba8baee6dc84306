"""What tests of several challenges share."""

import pytest
from other_truths import KINDS

from podium.challenges import get_challenge


@pytest.fixture(scope="session")
def few_cases(tmp_path_factory):
    """Return the folder with the truth and the images of a few cases of a demo, not to be changed."""
    made = {}

    def of(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            get_challenge(name).write_demo(folder)
            KINDS[name].trim(folder / "truth")
            made[name] = folder / "truth"
        return made[name]

    return of

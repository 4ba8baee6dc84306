"""What the tests of a challenge need, built in or not: laws that every challenge keeps, and data to try them on.

from podium.testing import Material, assert_failing_never_pays, write_phantoms

write_phantoms(challenge, folder)
material = Material.of(challenge, truth=folder / "truth", submissions=folder / "submissions")
assert_failing_never_pays(material, seed=1)
"""

from podium.challenges.kinds.phantoms import write_phantoms
from podium.testing.checks import assert_check_agrees
from podium.testing.hiding import assert_truth_is_hidden
from podium.testing.laws import (
    assert_failing_never_pays,
    assert_order_does_not_matter,
    assert_outsiders_change_nothing,
    assert_zero_weights_leave_out,
    ranked_score,
)
from podium.testing.material import Material

__all__ = [
    "Material",
    "assert_check_agrees",
    "assert_failing_never_pays",
    "assert_order_does_not_matter",
    "assert_outsiders_change_nothing",
    "assert_truth_is_hidden",
    "assert_zero_weights_leave_out",
    "ranked_score",
    "write_phantoms",
]

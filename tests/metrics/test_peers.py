"""Every peer that a metric declares to give the same number does, where it is installed."""

import peers_of_masks
import peers_of_samples
import pytest

from podium.metrics import metrics


def test_every_declared_peer_is_checked():
    declared = {(metric.name, peer) for metric in metrics() for peer in metric.same_as}
    assert declared == {*peers_of_masks.CHECKS, *peers_of_samples.CHECKS}


CHECKS = [(module, *check) for module in (peers_of_masks, peers_of_samples) for check in module.CHECKS]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name", "peer"), CHECKS, ids=lambda word: word if isinstance(word, str) else "")
def test_a_peer_gives_the_same_number(module, name, peer):
    pairs = list(module.compared(name, peer))
    assert pairs
    for ours, theirs in pairs:
        assert float(ours) == pytest.approx(float(theirs), rel=1e-6, abs=1e-6)

"""Areas under curves of scores, and their bootstraps, beside scikit-learn's functions and a loop over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from harness import Row, best_of

from podium.metrics import area_under_precision_recall, area_under_roc


def rows() -> list[Row]:
    """Measure a bootstrap over cases, drawing included, and one area of very many scores."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    metrics = {"AUROC": (area_under_roc, roc_auc_score), "AP": (area_under_precision_recall, average_precision_score)}
    result = []
    for name, (own, peer) in metrics.items():
        result += [_bootstrap(name, own, peer, 1000, 1000), _bootstrap(name, own, peer, 20_000, 50)]
        result.append(_many(name, own, peer))
    return result


def _scores(samples: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    truth = (random.random(samples) < 0.3).astype(int)
    return truth, random.normal(size=samples) + truth


def _bootstrap(name: str, own: Callable[..., np.ndarray], peer: Callable[..., float], samples: int, sets: int) -> Row:
    truth, scores = _scores(samples)

    def draws() -> np.ndarray:
        return np.random.default_rng(1).integers(0, samples, (sets, samples))

    def podium() -> np.ndarray:
        cells = draws() + samples * np.arange(sets)[:, None]
        weights = np.bincount(cells.reshape(-1), minlength=sets * samples).reshape(sets, samples)
        return own(truth, scores, weights=weights)

    def loop() -> list[float]:
        return [peer(truth[draw], scores[draw]) for draw in draws()]

    np.testing.assert_allclose(podium(), loop(), rtol=1e-12)
    times = best_of({"podium": podium, "scikit-learn, loop": loop}, rounds=5, seconds=6.0)
    what = f"bootstrap of {name}, {samples:,} scores × {sets:,}"
    targets = {"scikit-learn, loop": ("≥", 50.0)} if samples == 1000 else {}  # of many, drawing is half the work
    return Row(what, times.pop("podium"), times, targets=targets)


def _many(name: str, own: Callable[..., np.ndarray], peer: Callable[..., float]) -> Row:
    truth, scores = _scores(1_000_000)
    np.testing.assert_allclose(own(truth, scores), peer(truth, scores), rtol=1e-12)
    contenders = {"podium": lambda: own(truth, scores), "scikit-learn": lambda: peer(truth, scores)}
    times = best_of(contenders, rounds=5, seconds=6.0)
    return Row(f"{name} of 1,000,000 scores", times.pop("podium"), times)

"""Random small challenges through real files, beside a second implementation from the words of docs/declaring.md."""

import json
import math

import numpy as np
import pytest
from declared_challenges import write_labels, write_text
from plain_rules import (
    average_precision,
    classification_values,
    column_and_ranks,
    competition_ranks,
    froc_score,
    mask_values,
)

import podium
from podium.challenges.kinds import (
    ClassificationChallenge,
    DetectionChallenge,
    LandmarkChallenge,
    SegmentationChallenge,
)

FEW, MANY = range(4), range(4, 60)


def evaluated(challenge, folder):
    return podium.evaluate(challenge, truth=folder / "truth", submissions=folder / "teams", out=folder / "run")


def same(value, expected):
    """Return whether a number is what it should be, or neither is one."""
    if value is None or math.isnan(value) or math.isnan(expected):
        return (value is None or math.isnan(value)) and math.isnan(expected)
    return value == pytest.approx(expected, abs=1e-9)


# Ranking rules, by landmarks along a line: whole numbers make ties.

SCHEMES = ("mean rank", "rank then mean", "test then rank", "weighted mean")
ADJUSTMENTS = ("none", "holm", "bonferroni", "benjamini-hochberg")


def drawn_rules(generator):
    scheme = str(generator.choice(SCHEMES))
    adjustment = str(generator.choice(ADJUSTMENTS))
    test = {"alpha": 0.3, "adjustment": adjustment} if scheme != "weighted mean" and generator.random() < 0.5 else None
    return {
        "ranking": {"scheme": scheme, "ties": ["e_b"] if generator.random() < 0.3 else [], "test": test},
        "eligibility": {"at_most": {"e_a": 3.0}} if generator.random() < 0.3 else {"better_than": "t0"},
        "timing": {"weight": 1.0 if scheme != "weighted mean" and generator.random() < 0.4 else 0.0},
    }


def write_points(folder, generator, teams, cases, price):
    """Write truth, predictions and times; return errors that count, who failed, and seconds, by team and case."""
    errors, seconds = np.full((2, len(teams), len(cases), 2), np.nan)
    whole = generator.random() < 0.5
    for place, case in enumerate(cases):
        write_text(folder / "truth" / f"{case}.csv", ["point,x", "a,10", "b,20"])
        for team, name in enumerate(teams):
            error = generator.integers(0, 5, 2) if whole else generator.normal(0, 2, 2).round(6)
            there = [10 + float(error[0]), 20 + float(error[1])]
            lines = ["point,x", f"a,{there[0]!r}", f"b,{there[1]!r}"]
            errors[team, place] = np.abs(np.array(there) - [10, 20])
            fate = generator.choice(["right"] * 8 + ["missing", "damaged", "half", "infinite"])
            if fate != "right":
                errors[team, place, 0 if fate in ("half", "infinite") else slice(None)] = np.inf
            half, infinite = [lines[0], lines[2]], [lines[0], "a,inf", lines[2]]
            lines = {"damaged": ["what?"], "half": half, "infinite": infinite}.get(fate, lines)
            if fate != "missing":
                write_text(folder / "teams" / name / f"{case}.csv", lines)
            seconds[team, place] = generator.integers(1, 4)
    for team, name in enumerate(teams):
        rows = [f"{case},{second:g}" for case, second in zip(cases, seconds[team, :, 0], strict=True)]
        write_text(folder / "teams" / name / "timing.csv", ["case,seconds", *rows])
    failed = np.isinf(errors)
    slowest = seconds.max(axis=(1, 2))[:, None]
    counted = np.where(failed.any(axis=2), slowest, seconds[:, :, 0]).mean(axis=1)
    return np.minimum(errors, price), failed.all(axis=(1, 2)), counted


def expected_places(errors, lost, seconds, clusters, weights, rules):
    """Return columns and places as the rules say; who is not ranked has no number."""
    scheme, ties, test = (rules["ranking"][key] for key in ("scheme", "ties", "test"))
    means = errors.mean(axis=1)
    ranked = (means[:, 0] <= 3 + 1e-9) if "at_most" in rules["eligibility"] else (means < means[0] - 1e-11).any(axis=1)
    ranked[0] |= "better_than" in rules["eligibility"]
    ranked &= ~lost
    who = np.flatnonzero(ranked)
    columns, ranks = np.full((2, *means.shape), np.nan)
    for number in range(2) if len(who) else ():
        columns[who, number], ranks[who, number] = column_and_ranks(
            errors[who, :, number], clusters, scheme=scheme, **(test or {})
        )
    columns = means if scheme in ("mean rank", "weighted mean") else columns
    places = np.full(len(errors), np.nan)
    if scheme == "weighted mean":
        places[who] = competition_ranks((means[who] * weights).sum(axis=1))
    elif rules["timing"]["weight"]:
        with_time = np.column_stack([ranks[who], competition_ranks(seconds[who])])
        places[who] = competition_ranks((with_time * [*weights, 1]).sum(axis=1))
    else:
        places[who] = competition_ranks((ranks[who] * weights).sum(axis=1))
    if ties:
        by = competition_ranks(columns[who, 1], higher=scheme == "test then rank")
        parted = [place + sum((places[who] == place) & (by < own)) for place, own in zip(places[who], by, strict=True)]
        places[who] = parted
    return columns, places


def check_ranks(folder, seed):
    generator = np.random.default_rng(seed)
    teams = [f"t{number}" for number in range(generator.integers(1, 6))]
    cases = sorted(f"s{number // 2}_{number % 2}" for number in range(generator.integers(1, 16)))
    clustered, price = generator.random() < 0.5, float(generator.choice([3.0, 10.0]))
    weights, rules = generator.choice([0.5, 1.0, 2.0], 2), drawn_rules(generator)
    files = {"truth": "{s}_{v}.csv", "prediction": "{s}_{v}.csv", **({"cluster": "{s}"} if clustered else {})}
    quantity = {"metric": "landmark_error", "name": "e", "failed": price}
    quantity["weight"] = {"a": float(weights[0]), "b": float(weights[1])}
    points = {"names": ["a", "b"], "axes": ["x"]}
    challenge = LandmarkChallenge.made(name="c", files=files, points=points, quantities=[quantity], **rules)
    errors, lost, seconds = write_points(folder, generator, teams, cases, price)
    clusters = [case.split("_")[0] if clustered else case for case in cases]
    columns, places = expected_places(errors, lost, seconds, clusters, weights, rules)
    board = {entry.submission: entry for entry in evaluated(challenge, folder).leaderboard.entries}
    for team, name in enumerate(teams):
        about = seed, json.dumps(rules), name, board[name].remark
        assert board[name].place == (None if np.isnan(places[team]) else places[team]), about
        assert same(board[name].values["e_a"], columns[team, 0]), about
        assert same(board[name].values["e_b"], columns[team, 1]), about


@pytest.mark.parametrize("seed", range(12))
def test_places_are_those_of_the_rules(tmp_path, seed):
    check_ranks(tmp_path, seed)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(12, 300))
def test_places_are_those_of_the_rules_whatever_is_drawn(tmp_path, seed):
    check_ranks(tmp_path, seed)


# Label maps.

LABELS = {"a": 1, "b": 7}
OPTIONS = {"hausdorff_distance": {"percentile": 95.0}, "surface_dice": {"tolerance_mm": 1.5}}
PRICES = {"hausdorff_distance": "image diagonal", "centre_distance": 4.0, "precision": 0.1}
METRICS = ("dice", "precision", "sensitivity", "panoptic_quality", *OPTIONS, "centre_distance")


def bodies(generator, shape):
    result, grid = np.zeros(shape, np.uint8), np.indices(shape)
    for label in LABELS.values():
        for _ in range(generator.integers(0, 3)):
            centre = generator.uniform(0, shape)
            away = sum((axis - place) ** 2 for axis, place in zip(grid, centre, strict=True))
            result[away < generator.uniform(1, 12)] = label
    return result


def check_label_maps(folder, seed):
    generator = np.random.default_rng(seed)
    axes = int(generator.choice([2, 3]))
    shape, spacing = generator.integers(6, 12, axes), generator.choice([0.5, 1.0, 2.5], axes)
    diagonal = float(np.linalg.norm(shape * spacing))
    measures = [
        {"metric": name, "failed": PRICES.get(name, 0.0), "of": ["a", "all"], **OPTIONS.get(name, {})}
        | ({"boundary": "voxel"} if name in OPTIONS else {})
        | ({"absent": "leave out"} if name == "sensitivity" else {})
        for name in METRICS
    ]
    files, regions = {"truth": "{c}_seg.nii.gz", "prediction": "{c}.nii.gz"}, {"all": ["a", "b"]}
    challenge = SegmentationChallenge(name="c", files=files, labels=LABELS, regions=regions, quantities=measures)
    expected = {}
    for case in range(4):
        truth = bodies(generator, shape)
        guess = np.where(generator.random(shape) < 0.8, truth, 0) if case % 2 else bodies(generator, shape)
        fate = generator.choice(["right"] * 4 + ["missing", "damaged", "other shape", "other spacing", "other label"])
        write_labels(folder / "truth" / f"c{case}_seg.nii.gz", truth, spacing=spacing)
        path = folder / "teams" / "team" / f"c{case}.nii.gz"
        sent = {"other shape": np.pad(guess, 1), "other label": np.where(guess == 7, 9, guess) + 9 * (truth == 0)}
        write_labels(path, sent.get(fate, guess), spacing=spacing * (2 if fate == "other spacing" else 1))
        if fate == "missing":
            path.unlink()
        elif fate == "damaged":
            path.write_bytes(b"what?")
        for target, labels in {"a": [1], "all": [1, 7]}.items():
            masks = np.isin(truth, labels), np.isin(guess, labels)
            values = mask_values(*masks, spacing, percentile=95, tolerance_mm=1.5)
            for name in METRICS:
                price = PRICES.get(name, 0.0) if name != "hausdorff_distance" else diagonal
                worst = min if name.endswith("distance") else max
                value = price if fate != "right" or math.isnan(values[name]) else worst(values[name], price)
                absent = name == "sensitivity" and fate == "right" and not masks[0].any()
                expected[f"c{case}", name, target] = math.nan if absent else float(value)
    rows = evaluated(challenge, folder).measurements.iter_rows(named=True)
    measured = {(row["case"], row["metric"], row["target"]): row["value"] for row in rows}
    assert measured.keys() == expected.keys()
    for key, value in expected.items():
        assert same(measured[key], value), (seed, key, measured[key], value)


@pytest.mark.parametrize("seed", FEW)
def test_values_of_label_maps_are_those_of_plain_code(tmp_path, seed):
    check_label_maps(tmp_path, seed)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", MANY)
def test_values_of_label_maps_are_those_of_plain_code_whatever_is_drawn(tmp_path, seed):
    check_label_maps(tmp_path, seed)


# Detections, and probabilities.


def check_detections(folder, seed):
    generator = np.random.default_rng(seed)
    most, images, cases = int(generator.choice([2, 5, 50])), [], int(generator.integers(2, 6))
    challenge = DetectionChallenge(
        name="c",
        files={"truth": "{c}.csv", "prediction": "{c}.csv"},
        candidates={"axes": ["x", "y"], "radius_mm": 4.0, "most": most},
        quantities=[{"metric": name, "failed": "worst"} for name in ("froc_score", "detection_average_precision")],
    )
    for case in range(cases):
        truth = generator.uniform(0, 20, (case % 3 + (case == 0), 2)).round(1)
        guess = np.vstack([truth + generator.normal(0, 2.5, truth.shape), generator.uniform(0, 20, (3, 2))]).round(1)
        scores = generator.integers(0, 5, len(guess)) / 4
        lines = [f"k{n},{x},{y},{score}" for n, ((x, y), score) in enumerate(zip(guess, scores, strict=True))]
        write_text(
            folder / "truth" / f"c{case}.csv", ["name,x,y", *(f"n{n},{x},{y}" for n, (x, y) in enumerate(truth))]
        )
        failed = case and generator.random() < 0.2
        write_text(folder / "teams" / "team" / f"c{case}.csv", ["name,x,y,score", *lines, *(["k,1"] if failed else [])])
        kept = np.argsort(-scores, kind="stable")[:most]
        near = np.linalg.norm(guess[kept, None] - truth, axis=2) < 4
        hits = [scores[kept][near[:, finding]].max() for finding in range(len(truth)) if near[:, finding].any()]
        alarms = scores[kept][~near.any(axis=1)].tolist()
        images.append(([], [math.inf] * most, len(truth)) if failed else (hits, alarms, len(truth)))
    (entry,) = evaluated(challenge, folder).leaderboard.entries
    assert same(entry.values["froc_score"], froc_score(images)), seed
    assert same(entry.values["detection_average_precision"], average_precision(images)), seed


def check_probabilities(folder, seed):
    generator = np.random.default_rng(seed)
    metrics = {"area_under_roc": {}, "brier_score": {}, "log_loss": {"floor": 1e-6}}
    measures = [{"metric": name, "failed": "wrong", **options} for name, options in metrics.items()]
    measures.append({"metric": "expected_calibration_error", "bins": 10, "decides": False})
    files, classes = {"prediction": "p.csv"}, {"columns": ["yes"]}
    challenge = ClassificationChallenge(name="c", files=files, classes=classes, quantities=measures)
    count = int(generator.integers(4, 30))
    truth, guess = np.arange(count) % 2, generator.integers(0, 11, count) / 10
    lines = [f"r{row},{number}" for row, number in enumerate(guess)]
    lines[0], lines[1] = "r0,1.5", "r1,"
    write_text(folder / "truth" / "truth.csv", ["case,yes", *(f"r{row},{number}" for row, number in enumerate(truth))])
    write_text(folder / "teams" / "team" / "p.csv", ["case,yes", *(lines if seed % 2 else lines[1:])])
    guess[:2] = 1 - truth[:2]
    (entry,) = evaluated(challenge, folder).leaderboard.entries
    for name, value in classification_values(truth, guess, floor=1e-6, bins=10).items():
        assert same(entry.values[f"{name}_yes"], value), (seed, name)


@pytest.mark.parametrize("check", [check_detections, check_probabilities])
@pytest.mark.parametrize("seed", FEW)
def test_values_of_all_cases_together_are_those_of_plain_code(tmp_path, seed, check):
    check(tmp_path, seed)


@pytest.mark.heavy
@pytest.mark.parametrize("check", [check_detections, check_probabilities])
@pytest.mark.parametrize("seed", MANY)
def test_values_of_all_cases_together_are_those_of_plain_code_whatever_is_drawn(tmp_path, seed, check):
    check(tmp_path, seed)

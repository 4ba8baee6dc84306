"""Several evaluations joined into one run: the same as if all teams had been measured together, or refused."""

import json
import shutil

import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.model import InputError, Role, Value
from podium.run import RunFolder

TEXTS = {
    "one": {"001": "2 0 0", "003": ""},
    "two": {"002": "x", "004": "0 0 9"},
    "three": {},
}


class Tracked(Landmarks):
    """Landmarks with a baseline that is built in, one that must be outperformed, and values below a row."""

    penalty: float = 0.0
    """Added to every distance."""

    @property
    def built_in(self):
        """One baseline."""
        return {"nothing": Role.BASELINE}

    def measure_built_in(self, _, case, __):
        """Say that it is 7 mm away."""
        return [Value(case.name, "distance", 7.0)]

    def measure(self, case, truth, prediction):
        """Measure the distance, and that of a part."""
        values = super().measure(case, truth, prediction)
        return [*values, Value(case.name, "distance", values[0].value, unit="part 1")]

    def ineligible(self, cube):
        """Ask for more than the baseline."""
        means = dict(zip(cube.submissions, cube.of("distance").mean(axis=1).tolist(), strict=True))
        return {name: "not better than nothing" for name, mean in means.items() if mean >= means["nothing"]}


@pytest.fixture
def apart(tmp_path):
    """Return the truth, one folder with all teams, and a run of each team by itself."""
    truth, teams = write_landmarks(tmp_path, TEXTS)
    (teams / "three" / "timing.csv").write_text("case,seconds\n" + "".join(f"00{n},{n}\n" for n in range(1, 5)))
    runs = {}
    for name in TEXTS:
        alone = tmp_path / "alone" / name
        alone.mkdir(parents=True)
        (teams / name).rename(alone / name)
        runs[name] = tmp_path / "runs" / name
        podium.evaluate(Tracked(), truth=truth, submissions=alone, out=runs[name])
        (alone / name).rename(teams / name)
        (alone / name).symlink_to(teams / name)
    return truth, teams, runs


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).as_posix().startswith((".", "parts/", "run.json"))
    }


def test_gathered_is_the_same_as_measured_together(apart, tmp_path):
    truth, teams, runs = apart
    together = podium.evaluate(Tracked(), truth=truth, submissions=teams, out=tmp_path / "together")
    run = podium.gather(list(runs.values()), out=tmp_path / "gathered", challenge=Tracked())
    assert files(tmp_path / "gathered") == files(tmp_path / "together")
    assert set(RunFolder(tmp_path / "gathered").written()) == {*files(tmp_path / "gathered"), "run.json"}
    assert run.leaderboard == together.leaderboard
    again = podium.load(tmp_path / "gathered", challenge=Tracked())
    assert again.rank(bootstrap=50).places == together.rank(bootstrap=50).places
    assert again.roles == together.roles
    assert again.verify(sample=4).nothing_differs
    record, expected = again.record, together.record
    assert record.truth.sha256 == expected.truth.sha256
    assert {n: i.sha256 for n, i in record.submissions.items()} == {
        n: i.sha256 for n, i in expected.submissions.items()
    }


def test_where_each_comes_from_is_kept(apart, tmp_path):
    _, _, runs = apart
    podium.gather([runs["one"], ("second", runs["two"])], out=tmp_path / "both", challenge=Tracked())
    podium.gather([tmp_path / "both", runs["three"]], out=tmp_path / "all", challenge=Tracked())
    written = json.loads((tmp_path / "all" / "run.json").read_text())
    assert written["submissions"].keys() == {"one", "second", "three"}
    gathered = written["gathered"]
    assert [entry["submissions"] for entry in gathered] == [{"one": "one"}, {"second": "two"}, {"three": "three"}]
    assert [entry["path"] for entry in gathered] == [str(runs[name]) for name in ("one", "two", "three")]
    own = json.loads((runs["one"] / "run.json").read_text())
    for key in ("podium", "started", "ended", "machine", "packages"):
        assert gathered[0][key] == own[key]
    assert all(len(entry["sha256"]) == 64 for entry in gathered)
    assert "gathered" not in own


def test_order_changes_nothing_but_the_record(apart, tmp_path):
    _, _, runs = apart
    for number, order in enumerate((list(runs.values()), list(runs.values())[::-1])):
        podium.gather(order, out=tmp_path / str(number), challenge=Tracked())
    assert files(tmp_path / "0") == files(tmp_path / "1")


# Metrics files of grand-challenge.org.


@pytest.fixture
def metrics(apart, tmp_path):
    """Return metrics.json of each team as a platform would have them."""
    truth, teams, _ = apart
    made = {}
    for name in TEXTS:
        jobs = []
        for number in range(1, 5):
            path = teams / name / f"00{number}.txt"
            pk = f"{name}-{number}"
            place = tmp_path / "input" / name / pk / "output" / "images" / "point"
            place.mkdir(parents=True)
            if path.exists():
                (place / "any.txt").write_text(path.read_text())
            socket = {"slug": "point", "relative_path": "images/point"}
            jobs.append(
                {
                    "pk": pk,
                    "inputs": [{"image": {"name": f"00{number}.mha"}}],
                    "outputs": [{"image": {"pk": "x"}, "socket": socket}],
                    "exec_duration": f"PT{number}S" if name == "three" else None,
                }
            )
        predictions = tmp_path / "input" / name / "predictions.json"
        predictions.write_text(json.dumps(jobs))
        made[name] = tmp_path / "output" / name / "metrics.json"
        podium.grand_challenge(Tracked(), truth=truth, predictions=predictions, metrics=made[name])
    return made


def test_metrics_files_give_the_same_board(apart, metrics, tmp_path):
    _, _, runs = apart
    expected = podium.gather(list(runs.values()), out=tmp_path / "of-runs", challenge=Tracked())
    run = podium.gather(list(metrics.values()), out=tmp_path / "of-metrics", challenge=Tracked())
    assert run.leaderboard == expected.leaderboard
    rows = expected.measurements.filter(pl.col("unit") == "").drop("reason")
    assert run.measurements.drop("reason").equals(rows)
    assert run.verify(sample=4).to_frame().is_empty()
    mixed = podium.gather([runs["one"], metrics["two"], metrics["three"]], out=tmp_path / "mixed", challenge=Tracked())
    assert mixed.verify(sample=4).to_frame().is_empty()
    (tmp_path / "input" / "three" / "three-1" / "output" / "images" / "point" / "any.txt").write_text("2 0 0")
    assert mixed.verify(sample=4).measurements == (("three", "001", "distance is 2.0, was 1.0"),)
    assert mixed.leaderboard == expected.leaderboard
    assert json.loads(metrics["one"].read_text())["eligibility"] == {
        "eligible": False,
        "reason": "not better than nothing",
    }


def test_names_of_metrics_files(metrics, tmp_path):
    own = tmp_path / "Team Blue.json"
    own.write_bytes(metrics["two"].read_bytes())
    run = podium.gather([metrics["one"], own, ("3", metrics["three"])], out=tmp_path / "run", challenge=Tracked())
    assert run.roles.keys() == {"one", "Team Blue", "3", "nothing"}
    assert [entry.submissions for entry in run.record.gathered] == [
        {"one": "team"},
        {"Team Blue": "team"},
        {"3": "team"},
    ]


def test_metrics_of_one_socket_of_several_are_verified_by_the_same(apart, metrics, tmp_path):
    """Which output counted is told by the files that were read, and so nothing differs later."""
    truth, _, _ = apart
    predictions = tmp_path / "input" / "three" / "predictions.json"
    jobs = json.loads(predictions.read_text())
    for job in jobs:
        place = predictions.parent / job["pk"] / "output" / "images" / "heat"
        place.mkdir()
        (place / "any.txt").write_text("50 0 0")
        job["outputs"].append({"image": {"pk": "y"}, "socket": {"slug": "heat", "relative_path": "images/heat"}})
    predictions.write_text(json.dumps(jobs))
    podium.grand_challenge(Tracked(), truth=truth, predictions=predictions, metrics=metrics["three"], socket="point")
    run = podium.gather([metrics["one"], metrics["three"]], out=tmp_path / "run", challenge=Tracked())
    differing = podium.load(tmp_path / "run", challenge=Tracked()).verify(sample=4)
    assert differing.nothing_differs, differing.document
    assert run.verify(sample=4).cases == ("001", "002", "003", "004")


def test_infinite_and_missing_values_survive(apart, metrics, tmp_path):
    document = json.loads(metrics["one"].read_text())
    columns = document["evaluation"]["columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in document["evaluation"]["rows"]]
    assert {row["status"] for row in rows} == {"ok", "missing"}
    for row in document["evaluation"]["rows"]:
        row[columns.index("measured")] = "inf"
    metrics["one"].write_text(json.dumps(document))
    run = podium.gather([metrics["one"]], out=tmp_path / "run", challenge=Tracked())
    assert set(run.measurements["measured"]) == {float("inf")}


# What is refused.


def refused(sources, tmp_path, match, **options):
    with pytest.raises(InputError, match=match) as error:
        podium.gather(sources, out=tmp_path / "refused", challenge=Tracked(), **options)
    assert not (tmp_path / "refused").exists()
    return str(error.value)


def test_a_clash_of_names_is_refused_with_what_to_do(apart, metrics, tmp_path):
    _, _, runs = apart
    message = refused([runs["one"], runs["two"], metrics["one"]], tmp_path, "a submission is called one, as in ")
    assert "Give another name to the only team of one as NAME=RUN, or leave one out" in message
    refused([runs["one"], runs["one"]], tmp_path, "a submission is called one")
    refused([("nothing", runs["one"])], tmp_path, "called nothing, like the baseline that is built in")
    podium.gather([runs["one"], ("uno", runs["one"])], out=tmp_path / "renamed", challenge=Tracked())
    refused([("x", tmp_path / "renamed")], tmp_path, "x= names one team, and this run has 2")


def test_other_rules_or_another_truth_are_refused(apart, tmp_path):
    truth, teams, runs = apart
    podium.evaluate(Tracked(penalty=2.0), truth=truth, submissions=teams, out=tmp_path / "other-option")
    refused([runs["one"], tmp_path / "other-option"], tmp_path, r"option penalty is 2\.0, and 0\.0 in ")
    (truth / "003.txt").write_text("0 0 1")
    podium.evaluate(Tracked(), truth=truth, submissions=teams, out=tmp_path / "other-truth")
    refused([runs["one"], tmp_path / "other-truth"], tmp_path, r"its truth is not that of .*: 003\.txt")


@pytest.mark.parametrize(("key", "value"), [("version", 9), ("edition", "code"), ("truth", {"path": "x"})])
def test_a_record_that_differs_is_refused(apart, tmp_path, key, value, monkeypatch):
    monkeypatch.setattr(Tracked, "editions", ("document", "code"))
    _, _, runs = apart
    path = runs["two"] / "run.json"
    document = json.loads(path.read_text()) | {key: value}
    if key == "edition":
        document["options"]["edition"] = value
    path.write_text(json.dumps(document))
    words = {"truth": "it does not tell which files its truth was"}
    refused([runs["one"], runs["two"]], tmp_path, words.get(key, f"{key} is {value}, and"))


def test_a_baseline_that_differs_is_refused(apart, tmp_path, monkeypatch):
    truth, teams, runs = apart
    monkeypatch.setattr(Tracked, "measure_built_in", lambda _, name, case, __: [Value(case.name, "distance", 7.1)])
    podium.evaluate(Tracked(), truth=truth, submissions=teams, out=tmp_path / "other")
    refused([runs["one"], tmp_path / "other"], tmp_path, "nothing has other values than in ")


def test_a_withheld_run_is_refused(apart, tmp_path, monkeypatch):
    truth, teams, runs = apart
    monkeypatch.setattr(Tracked, "measure", lambda *_: None)
    podium.evaluate(Tracked(), truth=truth, submissions=teams, out=tmp_path / "faulty")
    refused([runs["one"], tmp_path / "faulty"], tmp_path, "its leaderboard is withheld")


def test_a_place_that_holds_something_is_not_touched(apart, tmp_path):
    _, _, runs = apart
    before = files(runs["two"])
    for out in (runs["two"], runs["one"], runs["one"] / "inside"):
        with pytest.raises(InputError, match=r"the run would lie in one of|a finished run is here"):
            podium.gather([runs["one"]], out=out, challenge=Tracked())
    with pytest.raises(InputError, match="would lie in one of"):
        podium.gather([runs["one"], runs["two"]], out=runs["two"], challenge=Tracked(), restart=True)
    assert files(runs["two"]) == before
    podium.gather([runs["one"]], out=tmp_path / "out", challenge=Tracked())
    run = podium.gather([runs["three"]], out=tmp_path / "out", challenge=Tracked(), restart=True)
    assert run.roles.keys() == {"nothing", "three"}
    with pytest.raises(InputError, match="there is nothing to gather"):
        podium.gather([], out=tmp_path / "none")


def test_metrics_without_provenance_are_refused(apart, tmp_path):
    _, _, runs = apart
    refused([runs["one"] / "metrics" / "one.json"], tmp_path, "does not say which challenge, options and truth")


def damage(document, how):
    inside = document["evaluation"]
    match how:
        case "row twice":
            inside["rows"].append(inside["rows"][0])
        case "impossible value":
            inside["rows"][0][inside["columns"].index("value")] = -1.0
        case "unknown measure":
            inside["rows"][0][inside["columns"].index("metric")] = "beauty"
        case "unknown status":
            inside["rows"][0][inside["columns"].index("status")] = "fine"
        case "short row":
            inside["rows"][0].pop()
        case "no number":
            inside["rows"][0][inside["columns"].index("value")] = [1]
        case "stranger":
            inside["rows"][0][0] = "stranger"
        case "no run":
            del inside["run"]
        case "odd run":
            inside["run"] = 5
        case "odd rows":
            inside["rows"] = {"a": 1}
        case "odd failures":
            inside["failures"] = [[1, 2, 3, 4]]
        case "other columns":
            inside["columns"] = inside["columns"][::-1]
        case "a case less":
            inside["rows"] = [row for row in inside["rows"] if "004" not in row]


@pytest.mark.parametrize(
    "how",
    ["row twice", "impossible value", "unknown measure", "unknown status", "short row", "no number", "stranger",
     "no run", "odd run", "odd rows", "odd failures", "other columns", "a case less"],
)  # fmt: skip
def test_damaged_metrics_are_one_line(metrics, tmp_path, how):
    document = json.loads(metrics["three"].read_text())
    damage(document, how)
    metrics["three"].write_text(json.dumps(document))
    words = {"a case less": "do not have the same cases: 004", "impossible value": "which cannot be"}
    words["unknown measure"] = "which cannot be"
    message = refused([metrics["one"], metrics["three"]], tmp_path, words.get(how, "these metrics are damaged"))
    assert len(message) < 400


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, kind in podium.list_challenges().items() if kind.made().has_demo])
def test_every_challenge_gives_the_same_gathered_or_together(few_cases, written_demo, tmp_path, name):
    """A law over the registry: who was measured with whom changes nothing."""
    truth = written_demo(name) / "truth" if name == "lvquan18" else few_cases(name)  # of which one file holds all
    teams = shutil.copytree(written_demo(name) / "submissions", tmp_path / "submissions")
    together = podium.evaluate(name, truth=truth, submissions=teams, out=tmp_path / "together")
    runs = []
    for team in sorted(teams.iterdir()):
        alone = tmp_path / "alone" / team.name
        alone.mkdir(parents=True)
        team.rename(alone / team.name)
        runs.append(tmp_path / "runs" / team.name)
        podium.evaluate(name, truth=truth, submissions=alone, out=runs[-1])
    run = podium.gather(runs, out=tmp_path / "gathered")
    assert files(tmp_path / "gathered") == files(tmp_path / "together")
    assert run.leaderboard.entries == together.leaderboard.entries


@pytest.mark.parametrize("name", ["o ne", "\uff4fne", "noth ing"])
def test_names_that_nobody_could_tell_apart_are_refused(apart, tmp_path, name):
    _, _, runs = apart
    with pytest.raises(InputError, match="a submission is called"):
        podium.gather([runs["one"], (name, runs["two"])], out=tmp_path / "refused", challenge=Tracked())

"""challenge.toml: read, remembered by runs, and the same as built-in challenges where it can say what they are."""

import pytest
from declared_challenges import SEGMENTATION, TOML, write_lesions

import podium
from podium.challenges import get_challenge
from podium.challenges.kinds import SegmentationChallenge
from podium.challenges.kinds.toml_files import parse_challenge, read_challenge
from podium.model import InputError

pytestmark = pytest.mark.slow


def test_the_example_is_what_python_would_say():
    written = read_challenge(TOML / "brain-lesions.toml")
    spoken = SegmentationChallenge(
        **SEGMENTATION, ranking={"scheme": "mean rank", "test": {"alpha": 0.05, "adjustment": "holm"}}
    )
    assert written == spoken
    assert get_challenge(str(TOML / "brain-lesions.toml")) == spoken


@pytest.mark.parametrize("path", sorted(TOML.glob("*.toml")), ids=lambda path: path.stem)
def test_a_declaration_survives_being_written_down(path):
    challenge = read_challenge(path)
    assert type(challenge).made(**challenge.options) == challenge
    assert challenge.varied(**challenge.options) == challenge
    assert challenge.varied(emphasis={challenge.terms[0]: 2.0}).emphasis


def test_a_run_remembers_its_challenge(tmp_path):
    data = write_lesions(tmp_path)
    path = tmp_path / "challenge.toml"
    path.write_text((TOML / "brain-lesions.toml").read_text())
    given = {"truth": data / "truth", "submissions": data / "submissions", "out": tmp_path / "run"}
    run = podium.evaluate(str(path), **given)
    assert podium.check(str(tmp_path), data / "submissions" / "near", truth=data / "truth") == []
    text = path.read_text()
    path.unlink()
    again = podium.load(tmp_path / "run")
    assert again.challenge == run.challenge
    assert again.leaderboard.entries == run.leaderboard.entries
    assert again.verify().nothing_differs
    assert again.rank(bootstrap=0, options={"rules": {"ranking": {"scheme": "rank then mean"}}}).leaderboard.places
    path.write_text(text.replace("[ranking]", "[time]\nlimit_seconds = 5.0\n\n[ranking]"))
    assert podium.evaluate(str(path), **given, resume=True).kept == 24, "rules change no measurement"
    path.write_text(text.replace("percentile = 95", "percentile = 90"))
    assert podium.evaluate(str(path), **given, resume=True).kept == 0


def boards(tmp_path, name, toml):
    get_challenge(name).write_demo(tmp_path)
    given = {"truth": tmp_path / "truth", "submissions": tmp_path / "submissions", "baselines": ["baseline"]}
    own = podium.evaluate(name, **given, out=tmp_path / "own")
    declared = podium.evaluate(str(TOML / toml), **given, out=tmp_path / "declared")
    return own.leaderboard, declared.leaderboard


def test_kits21_in_toml_gives_the_same_leaderboard(tmp_path):
    own, declared = boards(tmp_path, "kits21", "kits21.toml")
    assert declared.entries == own.entries
    assert declared.columns == own.columns


def test_the_segmentation_of_csv2026_in_toml_gives_the_same_leaderboard(tmp_path):
    own, declared = boards(tmp_path, "csv2026", "csv2026.toml")
    score = {entry.submission: entry.values["segmentation"] for entry in own.entries}
    assert {e.submission: 100 * e.values["score"] for e in declared.entries} == pytest.approx(score, abs=1e-9)
    ranked = [entry.submission for entry in declared.entries if entry.place]
    assert ranked == sorted(ranked, key=lambda name: -score[name])
    for entry in own.entries:
        other = next(e for e in declared.entries if e.submission == entry.submission)
        for metric in ("dice", "nsd"):
            for target in ("long/plaque", "long/vessel", "trans/plaque", "trans/vessel"):
                value = entry.values[f"{metric}_{target.replace('/', '_')}"]
                assert other.values[f"{metric}_{target}"] == pytest.approx(value, abs=1e-12)


def test_a_path_that_is_none_is_told():
    with pytest.raises(InputError, match="no challenge called 'kits22'"):
        get_challenge("kits22")
    with pytest.raises((InputError, FileNotFoundError), match="nowhere"):
        get_challenge("nowhere/challenge.toml")


def test_a_problem_names_file_and_line():
    with pytest.raises(InputError) as error:
        parse_challenge("[challenge]\nname = 'x'\ntitel = 'X'\n", path="some/challenge.toml")
    assert str(error.value) == "some/challenge.toml: line 3: there is no key 'titel' here. Did you mean 'title'?"


def test_real_cases_have_the_organisers_numbers(kits21, golden_kits21):
    challenge = read_challenge(TOML / "kits21.toml")
    cases = challenge.cases(kits21)
    assert [case.name for case in cases] == sorted(golden_kits21["cases"])
    for case in cases:
        truth = challenge.load(case)
        for name, golden in golden_kits21["cases"][case.name]["aggregated_vs_MAJ"].items():
            values = challenge.measure(case, truth, kits21 / case.name / f"aggregated_{name}_seg.nii.gz")
            for value in values:
                key = {"dice": "dice", "surface_dice": "sd"}[value.metric]
                assert value.value == pytest.approx(golden[value.target][key], abs=1e-9)


EDITIONS = """
[editions.lax.images]
geometry = "shape"

[editions.lax.ranking]
scheme = "rank then mean"
test = {}

[[editions.short.measure]]
metric = "dice"
of = ["whole"]
failed = 0
"""


def with_editions(old="test = {}\n", new=""):
    good = (TOML / "brain-lesions.toml").read_text().replace('test = { alpha = 0.05, adjustment = "holm" }\n', "")
    return good + EDITIONS.replace(old, new)


def test_other_editions_change_some_tables_and_leave_the_rest():
    document = parse_challenge(with_editions())
    assert document.editions == ("document", "lax", "short")
    lax, short = (document.varied(edition=edition) for edition in ("lax", "short"))
    assert (lax.images.geometry, lax.ranking.scheme) == ("shape", "rank then mean")
    assert short.terms == ("dice_whole",)
    assert (short.images.geometry, short.ranking.scheme) == ("full", "mean rank")
    assert lax.varied(edition="short") == short
    assert short.varied(edition="document").terms == document.terms
    assert parse_challenge(with_editions(), edition="lax") == lax
    for challenge in (document, lax, short):
        assert challenge.made(**challenge.options) == challenge
    with pytest.raises(InputError, match="has no rules called 'code'"):
        document.varied(edition="code")


def test_a_run_of_an_edition_is_loaded_in_it(tmp_path):
    data = write_lesions(tmp_path, subjects=2)
    (tmp_path / "challenge.toml").write_text(with_editions())
    given = {"truth": data / "truth", "submissions": data / "submissions", "out": tmp_path / "run"}
    run = podium.evaluate(str(tmp_path), rules="short", **given)
    assert run.record.edition == "short"
    again = podium.load(tmp_path / "run")
    assert again.challenge == run.challenge
    assert [column.name for column in again.leaderboard.columns] == ["dice_whole"]


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ('"shape"', '"shapes"', 32, "geometry cannot be 'shapes'. Did you mean 'shape'"),
        ("test = {}\n", "test = {}\nstatistic = 0.5\n", 37, "tests compare means"),
        ('["whole"]', '["hole"]', 39, "nothing called 'hole'"),
        ("lax.images", "lax.image", 31, "no table 'image'. Did you mean 'images'"),
        (
            "[editions.lax.images]",
            "[editions]\nother = 1\n[editions.lax.images]",
            32,
            "what 'other' changes is left open",
        ),
        ("editions.lax", "editions.document", 31, "is the edition that the other tables declare"),
    ],
)
def test_what_is_wrong_with_an_edition_has_its_line(old, new, line, problem):
    text = with_editions(old, new) if "test" in old else with_editions().replace(old, new)
    with pytest.raises(InputError) as error:
        parse_challenge(text)
    assert f"line {line}: " in str(error.value)
    assert problem in str(error.value)


def test_a_file_of_a_thousand_brackets_is_refused():
    with pytest.raises(InputError, match=r"too deeply|not TOML"):
        parse_challenge("x = " + "[" * 5000 + "]" * 5000)

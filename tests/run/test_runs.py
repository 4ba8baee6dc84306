"""A run in memory and from its folder: what follows from it, and what is refused."""

import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.model import InputError, Role
from podium.ranking import AggregateThenRank
from podium.run import Run
from podium.run.runs import failures_frame, read_tables


@pytest.fixture
def run(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"a": {}, "b": {"001": "", "002": "2 0 0"}})
    return podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run")


def test_what_was_evaluated_is_what_is_loaded(run):
    again = podium.load(run.folder, challenge=Landmarks())
    assert again.measurements.equals(run.measurements)
    assert again.failures.equals(run.failures)
    assert again.record == run.record
    assert again.roles == run.roles == {"a": Role.COMPETITOR, "b": Role.COMPETITOR}
    assert again.leaderboard.places == run.leaderboard.places == {"a": 1, "b": 2}
    assert again.to_frame() is again.measurements


def test_a_run_shows_itself(run):
    assert repr(run) == f"<Run of landmarks, document: 2 submissions in {run.folder}>"
    assert "<h3>Landmarks, rules: document</h3>" in run._repr_html_()
    assert ">a<" in run._repr_html_()
    run.record = run.record.model_copy(update={"faults": [("<b>", "001", "it broke"), ("", "002", "it too")]})
    assert run.withheld == "landmarks, 001, <b>: it broke; and 1 more"
    assert "withheld: landmarks, 001, &lt;b&gt;: it broke" in run._repr_html_()
    with pytest.raises(InputError, match=r"the leaderboard is withheld.*Mend it, and evaluate with --resume"):
        run.rank()


def test_a_run_may_exist_in_memory_only(run):
    memory = Run(run.challenge, run.record, run.measurements, run.failures)
    assert memory.folder is None
    assert memory.run_folder is None
    assert memory.leaderboard.places == run.leaderboard.places
    assert repr(memory) == "<Run of landmarks, document: 2 submissions>"
    assert memory.verify().ranking == ("there is no leaderboard.json",)


@pytest.mark.slow
def test_options_of_measuring_cannot_be_changed_when_ranking(demos):
    run = podium.load(demos / "csv2026" / "run")
    with pytest.raises(InputError, match="tolerance_px is part of what was measured"):
        run.rank(options={"tolerance_px": 9})
    with pytest.raises(InputError, match="has no option 'colour'"):
        run.rank(options={"colour": "red"})


@pytest.mark.slow
def test_options_of_scoring_can_and_share_the_measurements(demos):
    run = podium.load(demos / "kits21" / "run")
    ranking = run.rank(options={"tolerance_scale": 2}, bootstrap=0)
    assert ranking.made_with["tolerance_scale"] == 2
    assert ranking.run is not run
    assert ranking.run.challenge.tolerance_scale == 2
    assert ranking.run.cube is run.cube
    assert run.rank(bootstrap=0).run is run


def test_what_general_schemes_need_is_for_them_only(run):
    with pytest.raises(InputError, match="--metric, --missing and --consensus are for general schemes"):
        run.rank(measures=[("distance", "")])
    with pytest.raises(InputError, match="--metric, --missing and --consensus are for general schemes"):
        run.rank(missing="worst")
    ranking = run.rank(scheme=AggregateThenRank("median"), measures=[("distance", "")], bootstrap=0)
    assert ranking.leaderboard.places == {"a": 1, "b": 2}
    assert ranking.made_with["scheme"]


@pytest.mark.parametrize("bit", range(0, 8 * 1500, 611))
def test_a_flipped_bit_in_the_measurements_is_seen_before_they_are_read(run, bit, capfd):
    """Polars may panic over such a table, and then prints pages."""
    path = run.folder / "measurements.parquet"
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged \(measurements.parquet is not what was written\)"):
        podium.load(run.folder, challenge=Landmarks())
    assert capfd.readouterr() == ("", "")


def test_tables_that_are_damaged_are_one_line(run):
    (run.folder / "failures.csv").write_text("who\nknows\n")
    with pytest.raises(InputError, match="this table is damaged"):
        read_tables(run.folder)
    (run.folder / "failures.csv").unlink()
    assert read_tables(run.folder)[1].equals(failures_frame(()))
    (run.folder / "measurements.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError) as caught:
        podium.load(run.folder, challenge=Landmarks())
    assert str(caught.value).startswith(f"{run.folder}: this run folder is damaged (")
    (run.folder / "measurements.parquet").unlink()
    with pytest.raises(InputError, match="this run folder is damaged"):
        read_tables(run.folder)


def test_failures_with_nothing_in_a_cell_are_text(tmp_path, run):
    (run.folder / "failures.csv").write_text("submission,case,status,reason\n007,,warning,1.5\n")
    _, failures = read_tables(run.folder)
    assert failures.rows() == [("007", "", "warning", "1.5")]
    assert set(failures.dtypes) == {pl.String}


def test_a_challenge_that_is_not_installed_is_said(run):
    with pytest.raises(InputError, match="there is no challenge called 'landmarks'"):
        podium.load(run.folder)

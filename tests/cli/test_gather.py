"""`podium gather`: evaluations of several teams, joined into one run."""

from plugin import installed, write_landmarks


def test_two_teams_are_joined_ranked_and_verified(run, tmp_path):
    truth, teams = write_landmarks(tmp_path, {"one": {"001": "2 0 0"}, "two": {}})
    with installed(tmp_path):
        for name in ("one", "two"):
            alone = tmp_path / name
            alone.mkdir()
            (teams / name).rename(alone / "team=A")
            out = tmp_path / f"run={name}"
            assert run("evaluate", "landmarks", "--truth", truth, "--submissions", alone, "--out", out).exit_code == 0
        clash = run("gather", tmp_path / "run=one", tmp_path / "run=two", "--out", tmp_path / "all")
        assert clash.exit_code == 1
        assert "a submission is called team=A" in clash.stderr
        assert "Give another name to the only team of one as NAME=RUN" in clash.stderr
        assert clash.stderr.count("\n") == 1
        result = run("gather", f"A={tmp_path / 'run=one'}", f"B={tmp_path / 'run=two'}", "--out", tmp_path / "all")
        assert result.exit_code == 0, result.output
        assert "Gathered 2 evaluations." in result.stderr
        assert result.stdout.index("B ") < result.stdout.index("A ")
        again = run("gather", f"A={tmp_path / 'run=one'}", "--out", tmp_path / "all")
        assert again.stderr.endswith("a finished run is here. Add --restart to make it anew, or give another --out\n")
        assert run("rank", tmp_path / "all", "--bootstrap", 20).exit_code == 0
        assert run("verify", tmp_path / "all").exit_code == 0


def test_what_is_no_run_is_one_line(run, tmp_path):
    for name in ("empty", "download"):
        (tmp_path / name).mkdir()
    (tmp_path / "download" / "metrics.json").write_text("{}")
    (tmp_path / "text.json").write_text("[" * 100_000)
    reasons = {
        "nowhere": "there is nothing here",
        "empty": "it has no run.json",
        "download": f"this is not a run folder. Give {tmp_path / 'download' / 'metrics.json'}\n",
        "text.json": "",
    }
    for source, reason in reasons.items():
        result = run("gather", tmp_path / source, "--out", tmp_path / "out")
        assert reason in result.stderr
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        assert result.stderr.count("\n") == 1

"""What a command needs around it: its program and its Python environment."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from podium.algorithms.specs import Algorithm, Allowance
from podium.algorithms.surroundings import environment_folders, program_of, variables
from podium.algorithms.walls import process_limit, wall_options
from podium.model import InputError


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_is_looked_for_as_a_shell_does(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    tool, script = program(tmp_path / "bin" / "tool"), program(tmp_path / "home" / "run.sh")
    assert program_of("tool", None) == tool
    assert program_of("./run.sh", tmp_path / "home") == script
    assert program_of(str(script), None) == script
    for word in ("run.sh", "./tool"):
        with pytest.raises(InputError, match=f"no program '{word}'"):
            program_of(word, tmp_path / "home")


@pytest.mark.parametrize("path", ["/usr/bin/env", "/bin/sh"])
def test_a_program_of_the_system_needs_nothing(path, monkeypatch):
    monkeypatch.setattr("podium.algorithms.surroundings._is_environment", lambda _: True)  # of Python in /lib
    assert environment_folders(Path(path)) == []


def test_a_single_program_needs_itself_not_its_neighbours(tmp_path):
    tool = program(tmp_path / "bin" / "tool")
    assert environment_folders(tool) == [tool]


def test_a_virtual_environment_needs_its_base_and_editable_packages(tmp_path):
    base, packages = program(tmp_path / "base" / "bin" / "python3"), tmp_path / "venv" / "lib/python3.11/site-packages"
    (tmp_path / "base" / "lib" / "python3.11").mkdir(parents=True)
    (tmp_path / "base" / "lib" / "python3.11" / "os.py").touch()
    packages.mkdir(parents=True)
    (tmp_path / "source").mkdir()
    (packages / "mine.pth").write_text(f"import this\n{tmp_path}/source\n/no/such/folder\n")
    (tmp_path / "venv" / "bin").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/base/bin\nversion = 3.11\n")
    (tmp_path / "venv" / "bin" / "python").symlink_to(base)
    assert set(environment_folders(tmp_path / "venv" / "bin" / "python")) == {
        tmp_path / name for name in ("venv", "base", "source")
    }


def test_our_own_environment_is_found():
    assert Path(sys.prefix) in environment_folders(Path(sys.executable))


def test_users_but_root_get_a_limit_of_processes(monkeypatch):
    monkeypatch.setattr("podium.algorithms.walls.shutil.which", lambda *_, **__: "/usr/bin/prlimit")
    for user, kernel, words in (
        (1000, "6.1.0-13-amd64", ["/usr/bin/prlimit", "--nproc=84"]),
        (1000, "5.4.0", []),
        (0, "6.1.0", []),
    ):
        monkeypatch.setattr("podium.algorithms.walls.os.geteuid", lambda user=user: user)
        monkeypatch.setattr("podium.algorithms.walls.os.uname", lambda kernel=kernel: SimpleNamespace(release=kernel))
        assert process_limit(Allowance(processes=10)) == words


def test_variables_are_few():
    algorithm = Algorithm("team", environment={"MODEL": "large", "LANG": "de_DE"})
    values = variables(algorithm, Path("/opt/conda/bin/python"), home="/tmp", allowance=Allowance(processors=1.5))
    assert values["PATH"].split(":")[0] == "/opt/conda/bin"
    assert (values["MODEL"], values["LANG"], values["HOME"], values["OMP_NUM_THREADS"]) == (
        "large",
        "de_DE",
        "/tmp",
        "2",
    )
    assert values["CUDA_VISIBLE_DEVICES"] == ""


def test_a_gpu_is_given_on_request(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    allowance = Allowance(gpu=True)
    assert (
        variables(Algorithm("team"), Path("/bin/sh"), home="/tmp", allowance=allowance)["CUDA_VISIBLE_DEVICES"] == "1"
    )
    monkeypatch.setattr("podium.algorithms.walls._gpu_devices", lambda: ["/dev/nvidia0"])
    options = " ".join(wall_options(Algorithm("team"), Path("/bin/sh"), binds=(), allowance=allowance))
    assert "--ro-bind /sys /sys" in options
    assert "--dev-bind /dev/nvidia0 /dev/nvidia0" in options


def test_what_is_hidden_in_a_folder_of_the_system_is_covered():
    options = wall_options(
        Algorithm("team"),
        Path("/bin/sh"),
        binds=(),
        allowance=Allowance(),
        hidden=[Path("/usr/share"), Path("/usr/no")],
    )
    assert options[options.index("/usr/share") - 1] == "--tmpfs"
    assert "/usr/no" not in options

"""Real commands behind walls: what they cannot write, read, reach or become."""

import socket
import stat
from pathlib import Path

from programs import PYTHON, SMALL, behind_walls

from podium.algorithms.specs import Algorithm, Bind, Ending
from podium.algorithms.sweeping import sweep_output


@behind_walls
def test_nothing_else_can_be_written(stage):
    tries = "for place in / /usr /etc /dev /input /run /var /proc /proc/sys/vm /home; do\n"
    tries += "touch $place/x && echo wrote $place; done; mkdir /new && echo wrote new; true"
    assert stage.run("sh", "-c", tries).ending is Ending.ANSWERED
    assert "wrote" not in stage.said()


@behind_walls
def test_the_kernel_keeps_its_settings(stage):
    setting = Path("/proc/sys/vm/swappiness")
    assert stage.run("sh", "-c", f"cat {setting} >{setting}").ending is Ending.CRASHED
    assert "Read-only" in stage.said()


@behind_walls
def test_it_is_nobody_and_cannot_become_anybody(stage):
    code = (
        "id -u; id -g; hostname; grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status;"
        "exec 2>/dev/null;"
        "unshare -Ur true || echo no; mount -t tmpfs none /tmp || echo no; mknod /tmp/d c 1 1 || echo no"
    )
    stage.run("sh", "-c", code)
    assert stage.said().splitlines() == [
        "65534",
        "65534",
        "podium",
        "CapPrm:\t" + 16 * "0",
        "CapEff:\t" + 16 * "0",
        "NoNewPrivs:\t1",
        *3 * ["no"],
    ]


@behind_walls
def test_one_that_tries_the_network(stage):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as hidden:
        hidden.bind("\0podium-" + stage.marker)
        hidden.listen()
        code = """
import socket, sys
for family, address in ((2, ("127.0.0.1", int(sys.argv[1]))), (2, ("192.0.2.1", 80)), (1, "\\0podium-" + sys.argv[2])):
    try:
        socket.socket(family).connect(address)
    except OSError as error:
        print("no", flush=True)
print(sorted(name for _, name in socket.if_nameindex()))
"""
        assert stage.run(*PYTHON, code, str(server.getsockname()[1]), stage.marker).ending is Ending.ANSWERED
    assert stage.said() == "no\nno\nno\n['lo']\n"


@behind_walls
def test_one_that_looks_for_the_truth(stage):
    secret = stage.truth / "secret.txt"
    code = f"""
cat {secret}; ls {stage.truth}; ls {stage.folder}; ls {Path.home()} /root /home /mnt /work
for process in /proc/[0-9]*; do
    cat $process/root{secret} $process/cwd/{secret} $process/cwd/truth/secret.txt
done
cat /proc/self/fd/*/truth/secret.txt
ln -s {secret} /output/link; cat /output/link
ln -s {stage.truth} /output/folder; cat /output/folder/secret.txt
ln {secret} /output/hard; cat /output/hard; cat /output/../truth/secret.txt /input/../truth/secret.txt
find / -name secret.txt -xdev
true
"""
    assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    assert "the truth" not in stage.said()
    assert sweep_output(stage.output) == [f"folder is a link to {stage.truth}", f"link is a link to {secret}"]
    assert not any(stage.output.iterdir())
    assert secret.read_text() == "the truth"


@behind_walls
def test_no_process_and_no_variable_of_ours_is_seen(stage, monkeypatch):
    monkeypatch.setenv("OUR_SECRET", "variable")
    code = "ls -d /proc/[0-9]* | wc -l; env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'\n"
    code += "ls /proc/self/fd | wc -l"
    stage.run("sh", "-c", code)
    assert int(stage.said().split()[0]) < 8
    assert "variable" not in stage.said()
    assert int(stage.said().split()[-1]) == 4  # 0, 1, 2 and the folder that is listed


@behind_walls
def test_one_that_changes_its_inputs(stage):
    code = "echo changed >{input}/case.txt; rm {input}/case.txt; chmod 777 {input}/case.txt; touch {input}/new; true"
    assert stage.run("sh", "-c", code).ending is Ending.ANSWERED
    assert (stage.input / "case.txt").read_text() == "forty-two\n"
    assert stat.S_IMODE((stage.input / "case.txt").stat().st_mode) == 0o644
    assert len(list(stage.input.iterdir())) == 1


@behind_walls
def test_an_output_folder_among_the_inputs(stage):
    (stage.input / "answers").mkdir()
    program = stage.confinement.start(
        Algorithm("team"),
        ["sh", "-c", "echo x >/input/answers/x; echo x >/input/x; ls /input"],
        binds=[Bind(stage.output, "/input/answers", writable=True), Bind(stage.input, "/input")],
        output=stage.output,
        allowance=SMALL,
        log=stage.log,
    )
    assert program.wait(60).ending is Ending.ANSWERED
    assert (stage.output / "x").read_text() == "x\n"
    assert "Read-only" in stage.said()
    assert stage.said().endswith("answers\ncase.txt\n")

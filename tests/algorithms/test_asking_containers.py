"""The protocols with real containers, whose programs are written in the shell: nothing but the protocol is needed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from asked import ALLOWANCE, Trial, content_of
from doubling import INTERFACE, DoublingInside

from podium.algorithms.asking import ask_cases
from podium.algorithms.containers import Containers
from podium.algorithms.specs import Algorithm, Allowance, Ending

pytestmark = pytest.mark.heavy

BUSYBOX, PODMAN = shutil.which("busybox"), shutil.which("podman")
IMAGE = f"localhost/podium-asking-{os.getpid()}:1"

CASE = 'echo -n $((2 * $(cat "$1/number.txt"))) > "$2/answer.txt"; test "$(ls "$1")" = "$(ls /input)"'
MANY = """
echo '{"podium": 1, "ready": true}'
while read -r line; do
    case=$(echo "$line" | sed 's/.*"case": "\\([^"]*\\)".*/\\1/')
    test "$(ls /input)" = "$case" || exit 7
    test "$case" = slow && sleep 1000
    test "$case" = dies && exit 3
    echo -n $((2 * $(cat "/input/$case/number.txt"))) > "/output/$case/answer.txt"
    echo "{\\"done\\": \\"$case\\"}"
done
"""
FRAMES = """
take() { dd bs=1 count="$1" of=/dev/null 2>/dev/null; }
echo '{"podium": 1, "ready": true}'
while read -r line; do
    test -e /input && exit 7
    frames=$(echo "$line" | sed 's/.*"frames": \\([0-9]*\\).*/\\1/')
    take 12
    for k in $(seq 0 $((frames - 1))); do
        read -r line
        take 48
        printf '{"frame": %d, "shape": [3, 4], "type": "|u1"}\\n%012d' "$k" "$k"
    done
done
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    if not (BUSYBOX and PODMAN) or b".interp" in Path(BUSYBOX).read_bytes():
        pytest.skip("needs podman and a static busybox (Debian: podman runc busybox-static)")
    root = tmp_path_factory.mktemp("root")
    (root / "bin").mkdir()
    shutil.copy(BUSYBOX, root / "bin" / "busybox")
    for name in ("sh", "cat", "ls", "sed", "sleep", "dd", "seq", "printf", "test"):
        (root / "bin" / name).symlink_to("busybox")
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packed:
        subprocess.run([PODMAN, "import", "-", IMAGE], stdin=packed.stdout, check=True, capture_output=True)
    yield IMAGE
    subprocess.run([PODMAN, "rmi", "--force", IMAGE], check=True, capture_output=True)


def asked(tmp_path, image, script, numbers, *, protocol, allowance=ALLOWANCE, interface=INTERFACE):
    """Ask a container, and return outcomes and answers; nothing may be left."""
    containers = Containers(PODMAN)
    trial = Trial(tmp_path, containers)
    words = ("sh", "-c", script, "sh", "{input}", "{output}")
    algorithm = Algorithm("team", words, image=image, protocol=protocol)
    containers.prepare(algorithm)
    try:
        results = [
            (outcome, content_of(outcome))
            for outcome in ask_cases(
                algorithm,
                containers,
                interface,
                trial.questions(numbers, frames=protocol == "frames" or allowance.frame_seconds > 0),
                allowance=allowance,
                scratch=trial.scratch,
                logs=trial.logs,
            )
        ]
    finally:
        containers.close()
    trial.assert_nothing_is_left()
    names = subprocess.run(
        [PODMAN, "ps", "--all", "--format", "{{.Image}}"], capture_output=True, text=True, check=True
    )
    assert image not in names.stdout
    return results


@pytest.mark.parametrize("interface", [INTERFACE, DoublingInside()])
def test_one_start_per_case(tmp_path, image, interface):
    results = asked(tmp_path, image, CASE, {"a": 3, "b": 4}, protocol="case", interface=interface)
    assert [(outcome.reason, content) for outcome, content in results] == [("", "6"), ("", "8")]
    assert all(outcome.spans.start > 0 and outcome.spans.run >= 0 for outcome, _ in results)


def test_one_start_many_cases(tmp_path, image):
    numbers = {"a": 300, "dies": 300, "b": 400, "slow": 1, "c": 500}
    allowance = Allowance(case_seconds=0, frame_seconds=0.5, load_seconds=60)
    results = asked(tmp_path, image, MANY, numbers, protocol="many", allowance=allowance)
    assert [content for _, content in results] == ["600", None, "800", None, "1000"]
    assert [outcome.ending for outcome, _ in results if outcome.answer is None] == [Ending.CRASHED, Ending.TOO_SLOW]
    assert [outcome.reason for outcome, _ in results] == ["", "exit code 3", "", "no answer within 0.5 s", ""]
    assert [outcome.spans.load > 0 for outcome, _ in results] == [True, False, True, False, True]


def test_frame_by_frame(tmp_path, image):
    results = asked(tmp_path, image, FRAMES, {"a": 3, "b": 2}, protocol="frames")
    for (outcome, content), count in zip(results, (3, 2), strict=True):
        assert outcome.reason == ""
        assert content[:, 2, 3].tolist() == [ord("0") + index for index in range(count)]
        assert len(outcome.spans.frames) == count

"""What every challenge shows to algorithms: all that they expect, and nothing of the truth."""

import shutil

import h5py
import numpy as np
import pytest
from other_truths import KINDS, three_truths, training_layout

from podium.challenges import challenges, get_challenge
from podium.challenges.csv2026.interface import TwoViewInterface
from podium.challenges.kits21.interface import CTInterface
from podium.challenges.lvquan18.interface import SubjectInterface
from podium.challenges.trackrad2025.interface import CineInterface
from podium.challenges.tusrec.interface import SweepInterface
from podium.io import read_label_map, write_label_map
from podium.model import Interface
from podium.testing import assert_truth_is_hidden

NAMES = sorted(challenges())


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def truths(few_cases, tmp_path_factory):
    """Return the same images with three truths, made once for each challenge."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = three_truths(name, few_cases(name), tmp_path_factory.mktemp("truths"))
        return made[name]

    return of


def test_every_challenge_has_an_interface_and_stands_under_the_law():
    assert all(isinstance(challenges()[name].made().interface, Interface) for name in NAMES)
    assert sorted(KINDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_never_in_reach(truths, name, tmp_path):
    folders, secrets = truths(name)
    assert_truth_is_hidden(get_challenge(name).interface, folders, scratch=tmp_path, secrets=secrets)


def test_poses_in_the_file_of_the_images_stay_there(truths, tmp_path):
    folders, secrets = truths("tusrec")
    copies = [shutil.copytree(folder, tmp_path / folder.name) for folder in folders[:2]]
    for copy in copies:
        training_layout(copy)
    assert_truth_is_hidden(SweepInterface(), copies, scratch=tmp_path / "scratch", secrets=secrets)


@pytest.mark.parametrize("name", NAMES)
def test_every_case_of_the_truth_is_asked_about(truths, name):
    challenge = get_challenge(name)
    (own, _, _), _ = truths(name)
    asked = [question.name for question in challenge.interface.questions(own)]
    if challenge.single_files:  # one file holds all of them
        rows = challenge.rows(challenge.cases(own)[0], challenge.load(challenge.cases(own)[0]))
        assert asked == sorted({challenge.cluster(row) for row in rows})
    else:
        assert asked == [case.name for case in challenge.cases(own)]


# The law can fail, in each way that a truth could be given away.


class _WithLabels(CTInterface):
    """Copies a file of the truth."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        label = question.files[0].with_name("aggregated_MAJ_seg.nii.gz")
        if label.exists():
            shutil.copyfile(label, folder / "helpful.nii.gz")


class _WithLabelsUnpacked(CTInterface):
    """Writes the truth in another format."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        label = question.files[0].with_name("aggregated_MAJ_seg.nii.gz")
        if label.exists():
            write_label_map(folder / "helpful.mha", read_label_map(label))


class _WithWholeFile(SweepInterface):
    """Copies the file of training data as it is, with its poses."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        (frames,) = folder.glob("frames/*/*.h5")
        shutil.copyfile(question.files[0], frames)


class _WithOneFrame(CineInterface):
    """Shows the target of the second frame."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        labels = question.files[1].with_name(f"{question.name}_labels.mha")
        if labels.exists():
            with h5py.File(folder / "second.h5", "w") as file:
                file["second"] = read_label_map(labels).array[1]


class _WithCountedClasses(TwoViewInterface):
    """Calls a file after the class."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        labels = question.files[0].parents[1] / "labels" / f"{question.name}_label.h5"
        if labels.exists():
            with h5py.File(labels) as file:
                (folder / f"notes{file['cls'][()]}.txt").touch()


class _WithSize(TwoViewInterface):
    """Makes a file as long as there is plaque."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        labels = question.files[0].parents[1] / "labels" / f"{question.name}_label.h5"
        size = 0
        if labels.exists():
            with h5py.File(labels) as file:
                size = int(np.argmax(file["long_mask"][()] == 128) % 1000)
        (folder / "notes.txt").write_bytes(b"x" * size)


class _WithTimeStamps(CTInterface):
    """Keeps the time stamp of what it copies."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        (path,) = folder.rglob("*.mha")
        shutil.copystat(question.files[0], path)


class _WithLink(CTInterface):
    """Leads to the images' own folder."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        (folder / "source").symlink_to(question.files[0].parent)


class _InOrderOfTruth(SubjectInterface):
    """Asks about those subjects only that have a truth."""

    def questions(self, images):
        questions = super().questions(images)
        return questions if "none" not in str(images) else questions[:-1]


class _WithScale(SubjectInterface):
    """Passes everything of the first subject on."""

    def lay_out(self, question, folder):
        super().lay_out(question, folder)
        shutil.copyfile(question.files[0], folder / "all.mat")


@pytest.mark.parametrize(
    ("name", "faulty", "complaint"),
    [
        ("kits21", _WithLabels, "is a file of the truth"),
        ("kits21", _WithLabelsUnpacked, "has an array of the truth"),
        ("kits21", _WithTimeStamps, "has the time stamp"),
        ("kits21", _WithLink, "is a link"),
        ("trackrad2025", _WithOneFrame, "has bytes of the truth"),
        ("csv2026", _WithCountedClasses, "names of inputs depend on the truth"),
        ("csv2026", _WithSize, "depends on the truth"),
        ("lvquan18", _InOrderOfTruth, "which cases there are depends on the truth"),
        ("lvquan18", _WithScale, "is a file of the truth"),
    ],
)
def test_giving_the_truth_away_is_noticed(truths, name, faulty, complaint, tmp_path):
    folders, secrets = truths(name)
    with pytest.raises(AssertionError, match=complaint):
        assert_truth_is_hidden(faulty(), folders, scratch=tmp_path, secrets=secrets)


def test_giving_poses_away_with_the_images_is_noticed(truths, tmp_path):
    folders, secrets = truths("tusrec")
    copies = [shutil.copytree(folder, tmp_path / folder.name) for folder in folders[:2]]
    for copy in copies:
        training_layout(copy)
    with pytest.raises(AssertionError, match="is a file of the truth"):
        assert_truth_is_hidden(_WithWholeFile(), copies, scratch=tmp_path / "scratch", secrets=secrets)

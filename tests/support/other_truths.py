"""The images of a demo with its own truth, with another, and with none, for the law that algorithms see no truth."""

import shutil
from dataclasses import dataclass

import h5py
import numpy as np
from scipy.io import loadmat, savemat

from podium.io import read_label_map, write_label_map
from podium.io.images import read_image
from podium.model import LabelMap


@dataclass(frozen=True)
class TruthKind:
    """How the truth of a challenge is changed or removed in a folder of two cases, and what must not be met with."""

    trim: object
    change: object
    remove: object
    secrets: object


def _unlink(folder, *patterns):
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _kits21(folder):
    for path in folder.glob("case_*/**/*.nii.gz"):
        if path.name != "imaging.nii.gz":
            labels = read_label_map(path)
            write_label_map(path, LabelMap.from_array(labels.array[::-1, ::-1], spacing=labels.spacing))


def _csv2026(folder):
    for path in folder.glob("labels/*.h5"):
        with h5py.File(path, "r+") as file:
            for name in ("long_mask", "trans_mask"):
                file[name][...] = file[name][()][::-1]
            file["cls"][()] = 1 - file["cls"][()]
    (folder / "challenge.toml").write_text("baseline_seconds = 3.5\n")


def _trackrad2025(folder):
    for path in folder.glob("*/targets/*_labels*.mha"):
        labels = read_image(path).array.copy()
        labels[1:] = labels[1:, ::-1]
        write_label_map(path, LabelMap.from_array(labels))


def _frames_but_the_first(folder):
    for path in folder.glob("*/targets/*_labels*.mha"):
        labels = read_image(path).array
        yield labels
        # A breathing target comes back to where it was first, which everybody knows.
        first = read_image(path.with_name(f"{path.parents[1].name}_first_label.mha")).array[0]
        yield from (frame for frame in labels[1:] if not np.array_equal(frame, first))


def _tusrec(folder):
    for path in [*folder.glob("transfs/*/*.h5"), *folder.glob("frames_transfs/*/*.h5")]:
        with h5py.File(path, "r+") as file:
            file["tforms"][...] = file["tforms"][()][::-1]


def _poses(folder):
    for path in [*folder.glob("transfs/*/*.h5"), *folder.glob("frames_transfs/*/*.h5")]:
        with h5py.File(path) as file:
            yield file["tforms"][()]
            yield from file["tforms"][()]


def _without_poses(folder):
    shutil.rmtree(folder / "transfs", ignore_errors=True)
    for path in folder.glob("frames_transfs/*/*.h5"):
        with h5py.File(path, "r+") as file:
            del file["tforms"]


def training_layout(folder):
    """Put images and poses of every scan into one file, as the organisers publish them for training."""
    for path in sorted(folder.glob("frames/*/*.h5")):
        other = folder / "frames_transfs" / path.parent.name / path.name
        other.parent.mkdir(parents=True, exist_ok=True)
        with (
            h5py.File(path) as frames,
            h5py.File(folder / "transfs" / path.parent.name / path.name) as poses,
            h5py.File(other, "w") as both,
        ):
            both["frames"], both["tforms"] = frames["frames"][()], poses["tforms"][()]
    _unlink(folder, "frames", "transfs")


_NUMBERS = ("areas", "dims", "rwt", "lv_phase")


def _matrices(folder):
    (path,) = folder.glob("*.mat")
    return path, {name: value for name, value in loadmat(path).items() if not name.startswith("__")}


def _two_subjects(folder):
    path, held = _matrices(folder)
    savemat(path, {name: value[..., : 2 if name == "pix_spa" else 40] for name, value in held.items()})


def _lvquan18(folder, *, keep=True):
    path, held = _matrices(folder)
    for name in _NUMBERS:
        held[name] = held[name][:, ::-1] * 0.5
    savemat(path, held if keep else {"images_LV": held["images_LV"]})


def _numbers(folder):
    _, held = _matrices(folder)
    for name in _NUMBERS:
        yield held[name]
        yield from (held[name][:, start : start + 20] for start in range(0, held[name].shape[1], 20))


def _labels(*patterns):
    def read(folder):
        for path in (path for pattern in patterns for path in folder.glob(pattern)):
            yield read_label_map(path).array

    return read


def _masks(folder):
    for path in folder.glob("labels/*.h5"):
        with h5py.File(path) as file:
            yield from (file[name][()] for name in ("long_mask", "trans_mask"))


KINDS = {
    "kits21": TruthKind(
        trim=lambda folder: _unlink(folder, "case_0000[2-9]"),
        change=_kits21,
        remove=lambda folder: _unlink(folder, "case_*/aggregated*", "case_*/segmentations"),
        secrets=_labels("case_*/aggregated*.nii.gz", "case_*/*/kidney*annotation-1.nii.gz"),
    ),
    "csv2026": TruthKind(
        trim=lambda folder: _unlink(folder, "*/00[2-9]*.h5", "*/01*.h5"),
        change=_csv2026,
        remove=lambda folder: _unlink(folder, "labels", "challenge.toml"),
        secrets=_masks,
    ),
    "trackrad2025": TruthKind(
        trim=lambda folder: _unlink(folder, "A_00[3-9]"),
        change=_trackrad2025,
        remove=lambda folder: _unlink(folder, "*/targets/*_labels*.mha"),
        secrets=_frames_but_the_first,
    ),
    "tusrec": TruthKind(
        trim=lambda folder: _unlink(folder, "*/05[12]", "landmarks/*_05[12].h5", "dataset_keys.h5"),
        change=_tusrec,
        remove=_without_poses,
        secrets=_poses,
    ),
    "lvquan18": TruthKind(
        trim=_two_subjects,
        change=_lvquan18,
        remove=lambda folder: _lvquan18(folder, keep=False),
        secrets=_numbers,
    ),
}


def three_truths(name, truth, scratch):
    """Return three folders of the same images, with a truth, another and none; and what is secret."""
    kind = KINDS[name]
    folders = [scratch / place for place in ("own", "other", "none")]
    for folder in folders:
        shutil.copytree(truth, folder)
    kind.change(folders[1])
    secrets = [*kind.secrets(folders[0]), *kind.secrets(folders[1])]
    kind.remove(folders[2])
    return folders, secrets

"""Files of LVQuan18 in its three formats, and what is measured of them."""

import numpy as np
from scipy.io import savemat

from podium.challenges import get_challenge

INDICES = ["A1", "A2", "D1", "D2", "D3", *(f"RWT{n}" for n in range(1, 7))]


def numbers(images=40, seed=0):
    """Return plausible numbers, shape (12, images); whole phases in the last row."""
    values = np.random.default_rng(seed).uniform(0.05, 0.6, (12, images)).round(6)
    values[-1] = np.arange(images) % 20 < 8
    return values


def names(images=40):
    return [f"sub-{n // 20 + 1:02d}-{n % 20 + 1:02d}" for n in range(images)]


def write_mat(path, values, *, hat="_hat", **more):
    parts = {"areas": values[:2], "dims": values[2:5], "rwt": values[5:11], "lv_phase": values[11:]}
    savemat(path, {name + hat: part for name, part in parts.items()} | more)
    return path


def write_txt(path, values, images=None):
    images = images or names(values.shape[1])
    lines = [
        f"{image}: {', '.join(map(repr, column.tolist()))}\n" for image, column in zip(images, values.T, strict=True)
    ]
    path.write_text("".join(lines))
    return path


def write_csv(path, values, images=None, **more):
    images = images or names(values.shape[1])
    lines = [",".join(["image", *INDICES, "Phase", *more])]
    for row, image in enumerate(images):
        lines.append(
            ",".join([image, *map(repr, values[:, row].tolist()), *(repr(float(m[row])) for m in more.values())])
        )
    path.write_text("\n".join(lines) + "\n")
    return path


WRITERS = {".mat": write_mat, ".txt": write_txt, ".csv": write_csv}


def measured(folder, prediction, **options):
    challenge = get_challenge("lvquan18", **options)
    (case,) = challenge.cases(folder)
    return {(v.case, v.metric, v.target): v for v in challenge.measure(case, challenge.load(case), prediction)}

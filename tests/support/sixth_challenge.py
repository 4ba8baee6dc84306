"""A sixth challenge, as somebody else would write it: find a landmark in every image."""

import math
from typing import ClassVar

from podium.io import read_text
from podium.model import Case, Challenge, Direction, InputError, Measure, Price, Scores, Value
from podium.ranking import column_ranks, mean_column

DISTANCE = Measure("distance", "Distance", Direction.LOWER, "mm", minimum=0, price=Price(100.0), digits=2)


def read_point(path):
    """Read x, y and z in mm."""
    try:
        point = [float(number) for number in read_text(path).split()]
    except ValueError:
        raise InputError("this is no point: three numbers are expected", path=path) from None
    if len(point) != 3 or not all(map(math.isfinite, point)):
        raise InputError(f"a point has three finite numbers, not {point}", path=path)
    return point


class Landmarks(Challenge):
    """The mean distance to the true landmark; the shortest wins."""

    name: ClassVar[str] = "landmarks"
    title: ClassVar[str] = "Landmarks"
    measures: ClassVar[tuple[Measure, ...]] = (DISTANCE,)

    def cases(self, truth):
        """Find 001.txt, 002.txt and so on; predictions are called alike."""
        return [Case(path.stem, (path,), (path.name,)) for path in sorted(truth.glob("*.txt"))]

    def load(self, case):
        """Read the true point."""
        return read_point(case.files[0])

    def measure(self, case, truth, prediction):
        """Measure the distance."""
        return [Value(case.name, "distance", math.dist(truth, read_point(prediction)))]

    def score(self, cube, weights, ranked):
        """Rank by the mean distance."""
        mean = mean_column(DISTANCE, cube.of("distance"), weights)
        return Scores(column_ranks(mean, among=ranked), (mean,))

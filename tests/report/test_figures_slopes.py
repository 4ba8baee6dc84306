"""The figure of places in several runs."""

import numpy as np

from podium.report.figures.files import as_bytes
from podium.report.figures.slopes import slope_chart


def test_lines_go_from_run_to_run_and_shared_places_stand_apart():
    places = [[1, 1, 2], [2, np.nan, 1], [2, 2, np.nan], [np.nan, 3, np.nan]]
    figure = slope_chart(places, submissions=["a", "b", "c", "d"], runs=["x", "y", "z"], certain=["b"])
    lines = [line for line in figure.axes[0].get_lines() if line.get_linestyle() not in ("", "None")]
    assert [(line.get_gid(), list(line.get_xdata()), list(line.get_ydata())) for line in lines] == [
        ("team-0", [0, 1], [1.0, 1.0]),
        ("team-0", [1, 2], [1.0, 2.0]),
        ("team-1", [0, 2], [2.0, 1.0]),
        ("team-2", [0, 1], [3.0, 2.0]),
    ]
    assert lines[2].get_linewidth() > lines[0].get_linewidth()
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["a\u20021", "2\u2002a", "b\u20022", "1\u2002b", "c\u20022", "3\u2002d"]
    assert as_bytes(figure, "svg") == as_bytes(figure, "svg")

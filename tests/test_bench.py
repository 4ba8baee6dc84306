"""What the benchmark prints and weighs, apart from how fast anything is."""

import sys

import pytest
from shared_data import PROJECT


@pytest.fixture
def benchmarks(monkeypatch):
    """Let modules of the benchmark be imported, for this test alone."""
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(PROJECT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (1.8234, "1.82"),
        (18.24, "18.2"),
        (182.4, "182"),
        (1824.3, "1,824"),
        (-2.5, "-2.50"),
    ],
)
def test_numbers_have_no_exponent(benchmarks, number, shown):
    from harness import plain

    assert plain(number) == shown


def test_what_is_installed_is_weighed_with_all_that_it_needs(benchmarks):
    from start import sizes

    weighed = sizes("matplotlib")
    assert {"matplotlib", "numpy", "pillow", "python-dateutil"} <= set(weighed)
    assert "sphinx" not in weighed, "what is extra"
    assert all(megabytes >= 0 for megabytes in weighed.values())
    assert weighed["numpy"] > 10

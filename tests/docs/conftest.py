"""What the tests of documentation share."""

import sys

import pytest
from shared_data import PROJECT


@pytest.fixture
def making(monkeypatch):
    """Let modules that make pages be imported, for this test alone."""
    folder = PROJECT / "docs" / "making"
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]

"""What the tests of all commands share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result


@pytest.fixture
def run() -> Callable[..., Result]:
    """Return a function that calls `podium` with arguments, as wide as a page."""
    from podium.cli import app

    def run(*arguments: object) -> Result:
        return CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(argument) for argument in arguments])

    return run

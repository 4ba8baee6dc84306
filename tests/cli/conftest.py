"""What the tests of all commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from standard_json import strict_json
from typer.testing import CliRunner, Result


@pytest.fixture(autouse=True)
def all_json_is_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the law, wherever a command is asked for JSON, that its output is JSON that any program reads."""
    invoke = CliRunner.invoke

    def invoked(runner: CliRunner, app: Any, args: Any = None, **more: Any) -> Result:
        result = invoke(runner, app, args, **more)
        if "--json" in (args or ()) and result.stdout:
            strict_json(result.stdout)
        return result

    monkeypatch.setattr(CliRunner, "invoke", invoked)


@pytest.fixture
def run() -> Callable[..., Result]:
    """Return a function that calls `podium` with arguments, as wide as a page."""
    from podium.cli import app

    def run(*arguments: object) -> Result:
        return CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(argument) for argument in arguments])

    return run

"""Progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def cases_done(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal; yield a function that is told how many cases are done, and of how many."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f} a second," if task.speed else "")

    console = Console(stderr=True)
    if not console.is_terminal:  # where a bar, even a disabled one, ends with an empty line in older Rich
        yield lambda _done, _total: None
        return
    with Progress(
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cases"),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("cases", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def stages_done() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar on a terminal once something takes more than a second; yield whom to tell what is done."""
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _what, _done, _total: None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    started, tasks = monotonic(), {}

    def tell(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)
        if monotonic() - started > 1 and not bar.live.is_started:
            bar.start()

    try:
        yield tell
    finally:
        bar.stop()

"""A challenge that waits in the middle of its first case for the worker to be killed; importable by workers."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from podium.challenges.kits21.challenge import KiTS21
from podium.model import Case, Value


class WaitingKiTS21(KiTS21):
    """KiTS21, but whoever is the first to measure a prediction says which process it is, and never goes on."""

    waiting: str = ""
    """The file that is told."""

    def measure(self, case: Case, truth: Any, prediction: Path) -> list[Value]:
        """Wait for ever if nobody did so far, else measure."""
        said = Path(f"{self.waiting}.{os.getpid()}")
        said.write_text(str(os.getpid()))
        try:
            os.link(said, self.waiting)  # appears complete, and only once
        except FileExistsError:
            return super().measure(case, truth, prediction)
        threading.Event().wait()
        raise AssertionError

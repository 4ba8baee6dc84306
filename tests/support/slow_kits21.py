"""A challenge whose cases take long enough to be interrupted; importable by workers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.challenges.kits21.challenge import KiTS21
from podium.model import Case, Value

SECONDS = 0.15


@dataclass
class SlowKiTS21(KiTS21):
    """KiTS21, but each prediction takes a while."""

    def measure(self, case: Case, truth: Any, prediction: Path) -> list[Value]:
        """Take a while, then measure."""
        time.sleep(SECONDS)
        return super().measure(case, truth, prediction)

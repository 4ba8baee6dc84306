"""Where reference data lie, beside the project and never in it."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared"

KITS21_REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}

"""Podium: exact evaluation and honest ranking of biomedical imaging challenges."""

__version__ = "0.1.0"

__all__ = ["__version__"]

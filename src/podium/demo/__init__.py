"""Synthetic data to try Podium on."""

from podium.demo.masks import write_masks

__all__ = ["write_masks"]

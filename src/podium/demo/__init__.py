"""Synthetic but plausible data for every built-in challenge, in its real on-disk layout: one module each."""

"""Compiled loops under the metrics: pure functions on arrays, running without the interpreter lock."""

"""How sure a ranking is: resampling, stability, intervals, comparisons, sensitivity."""

"""From verdicts to metrics: running counts, and average precision as a weighted sum."""

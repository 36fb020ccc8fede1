"""From matches to curves and metrics: running counts, and average precision as a weighted sum."""

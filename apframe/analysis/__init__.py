"""Is the difference more than chance? Tests and intervals over the values per query."""

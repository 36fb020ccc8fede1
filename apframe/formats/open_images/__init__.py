"""Open Images CSV."""

"""Open Images' CSV."""

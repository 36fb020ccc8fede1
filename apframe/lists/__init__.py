"""Any ranked list in a frame: expressions, curves, measures."""

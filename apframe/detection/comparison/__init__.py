"""Two and more evaluations of the same ground truth: what differs, and how certain that is."""

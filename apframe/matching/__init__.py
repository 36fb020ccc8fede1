"""From pairs to matches: who is paired with whom, at which thresholds."""

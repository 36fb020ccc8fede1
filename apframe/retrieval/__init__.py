"""Search runs against judgements, re-identification, patches."""

"""A benchmark of lamps at night, as another package adds it: its protocol, rule, matcher, metric and format."""

"""Published rule sets, each a frozen value."""

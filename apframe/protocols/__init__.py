"""Published protocols, each a frozen value."""

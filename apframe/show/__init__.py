"""Tables, charts and lines for people."""

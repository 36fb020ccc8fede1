"""ActivityNet."""

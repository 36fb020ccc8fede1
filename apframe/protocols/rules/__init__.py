"""The rules of protocols: each is a small value with the hooks that it needs."""

"""Rewrite the pins that differ from what is computed, and print which: `python -m tests.pins`."""

from tests.pins.stored import FILES, rewrite

if __name__ == "__main__":
    for name in FILES:
        if rewrite(name):
            print(name)

"""How fast apframe and its peers are, each measurement in a fresh process. `python -m tests.speed --help`."""

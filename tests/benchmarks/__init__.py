"""The benchmark: apframe and its peers, each cell in a fresh process. `python -m tests.benchmarks --help`."""

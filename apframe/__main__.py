"""`python -m apframe` is the `apframe` command."""

from apframe.cli import main

main()

"""`python -m apframe` is the `apframe` command."""

from apframe.cli.command import main

main()

"""The `apframe` command."""

from apframe.cli.command import main

__all__ = ["main"]

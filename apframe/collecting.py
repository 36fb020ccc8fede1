"""Warnings of one thread that are collected instead of given, so that work in parts warns only once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

collected: ContextVar[list[tuple[str, str]] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[list[tuple[str, str]]]:
    """Collect apframe's warnings in this thread, as the names of their categories and their messages.

    >>> from apframe.exceptions import UnitWarning, warn
    >>> with collecting() as warnings:
    ...     warn("angles look like degrees", UnitWarning)
    >>> warnings
    [('UnitWarning', 'angles look like degrees')]
    """
    warnings: list[tuple[str, str]] = []
    before = collected.set(warnings)
    try:
        yield warnings
    finally:
        collected.reset(before)

"""Of the many cases of a slow test, one in APFRAME_SHARE is run: of those that pytest lists, and of those of a loop."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

Case = TypeVar("Case")
SHARE = int(os.environ.get("APFRAME_SHARE", "1"))


def share(cases: Sequence[Case], name: str) -> Sequence[Case]:
    """One in APFRAME_SHARE of these cases, the same in every run; which is the first depends on the name of the test."""
    return cases[crc32(name.encode()) % min(SHARE, len(cases) or 1) :: SHARE]

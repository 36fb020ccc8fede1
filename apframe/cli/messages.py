"""Messages of the library in the words of the command, one line each on stderr."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

from apframe.exceptions import OutputError
from apframe.show.terminal import ReaderGoneError, one_line

_LONGEST = 10_000  # characters of a message that are printed


def say(what: str, message: str) -> None:
    """Print an error or a warning as one line on stderr."""
    if len(message) > _LONGEST:  # it lists the names of the data, which may be anything
        message = f"{message[:_LONGEST]} ... ({len(message):,} characters)"
    with suppress(OutputError, ReaderGoneError):  # then there is nowhere to say so
        print(f"{what}: {one_line(message)}", file=sys.stderr, flush=True)


# what messages of the library name, and what it is called here
_OPTIONS = {"format": "--gt-format", "results_format": "--dt-format"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "by", "categories", "image_sizes", "iou_thresholds", "iou_type", "join_by_name", "matching", "max_detections",
        "measures", "missing", "no_relevant", "queries", "split", "trec_eval", "unjudged",
    )
}  # fmt: skip
_NOT_TABLES = "|".join(set(_OPTIONS) - {"categories", "queries"})  # at the beginning, these mean the option
_NOT_WORDS = "|".join(name for name in _OPTIONS if "_" in name and name != "trec_eval")  # anywhere, these do
_WITH_VALUE = re.compile(rf"""(?<![\w/\\'"])({"|".join(_OPTIONS)})=("?)(\w*)\2(?=(')?)""")
_ALONE = re.compile(rf"""^({_NOT_TABLES})(?=: | is one of| must)|(?<![\w/\\'".-])({_NOT_WORDS})(?![\w/\\'".=])""")


def with_flags(message: str, drop: str = "--drop-unknown-images") -> str:
    """A message of the library in the words of the command.

    >>> with_flags('join them by name (join_by_name="images")'), with_flags("say split=, one of train, val")
    ('join them by name (--join-by-name images)', 'say --split, one of train, val')
    >>> with_flags("iou_thresholds must lie in (0, 1]"), with_flags("leave out split='val'")
    ('--iou-thresholds must lie in (0, 1]', "leave out --split 'val'")
    >>> with_flags("runs/split=val/image_sizes.csv: by 'max_detections'")  # of paths and columns
    "runs/split=val/image_sizes.csv: by 'max_detections'"
    """
    message = message.replace('unknown_images="drop"', drop)
    message = _WITH_VALUE.sub(lambda at: f"{_OPTIONS[at[1]]}{' ' if at[3] or at[4] else ''}{at[3]}", message)
    return _ALONE.sub(lambda at: _OPTIONS[at[1] or at[2]], message)

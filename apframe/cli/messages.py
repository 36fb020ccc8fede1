"""Messages of the library as one line each on stderr, with the options in them written as flags."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress

from apframe.exceptions import OutputError
from apframe.keywords import declared_keywords
from apframe.show.terminal import ReaderGoneError, one_line
from apframe.wording import as_keyword

DOUBTFUL = 3  # the exit status of --strict
_LONGEST = 10_000  # characters that are printed of a message


def say(what: str, message: str) -> None:
    """Print an error or a warning as one line on stderr."""
    if len(message) > _LONGEST:  # it lists names from the data, which may be anything
        message = f"{message[:_LONGEST]} ... ({len(message):,} characters)"
    with suppress(OutputError, ReaderGoneError):  # then there is nowhere to say so
        print(f"{what}: {one_line(message)}", file=sys.stderr, flush=True)


# options of the library that the command has too, apart from reading options
_FLAGS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "background", "by", "categories", "engine", "image_attributes", "invalid", "iou_thresholds", "iou_type", "level",
        "matching", "max_detections", "max_documents", "max_images", "measures", "memory", "metrics", "missing", "n",
        "n_resamples", "name", "no_relevant", "on_images", "over", "own_document", "protocol", "queries", "recall_positions",
        "relevance_level", "sample", "seed", "sigmas", "test", "trec_eval", "method", "unit", "unjudged", "where",
        "within", "work",
    )
}  # fmt: skip


def as_flag(option: str, value: str | None = None) -> str:
    """Return an option of the library as a flag of the command, for messages; see `apframe.wording.option_style`.

    >>> as_flag("iou_type"), as_flag("join_by_name", "images"), as_flag("format", "")
    ('--iou-type', '--join-by-name images', '--gt-format')
    >>> as_flag("run")  # no option here
    'run'
    """
    if option == "unknown_images":
        return f"--{value}-unknown-images"
    from apframe.formats.reading_options import ReadingOptions  # brings in Polars

    declared = declared_keywords(ReadingOptions)
    flag = _FLAGS.get(option)
    if option in declared:
        flag = declared[option][1].flag or f"--{option.replace('_', '-')}"
    if flag is None:
        return as_keyword(option, value)
    return f"{flag} {shlex.quote(value)}" if value and value != "True" else flag

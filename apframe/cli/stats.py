"""`apframe stats`: counts of a data set by category, area range and attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.files import ReadingOptions
from apframe.cli.options import ImageAttributes, Latex, Markdown, one_style, words
from apframe.cli.output import progress, show_table


def count_files(
    truth: Annotated[Path, Argument(metavar="GT", help="ground truth, in any format")],
    results: Annotated[Path | None, Argument(metavar="[DT]", help="detections, in any format")] = None,
    *,
    files: ReadingOptions,
    image_attributes: ImageAttributes = None,
    by: Annotated[
        list[str] | None,
        Option(metavar="weather,occlusion", help="columns to count by (default: those of the images with few values)"),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, Option("--csv", help="print comma-separated values")] = False,
    as_markdown: Markdown = False,
    as_latex: Latex = False,
) -> None:
    """Count images, annotations and detections, and give median sizes, by category, area range and attribute."""
    style = one_style(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    with progress() as say:
        say("reading")
        table = apf.stats(
            truth,
            results,
            by=words(by) or None,
            image_attributes=image_attributes,
            **files.reading(),
        )
    show_table(table, style, digits=1)

"""`apframe stats`: count a data set by category, area range and attribute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

import apframe as apf
from apframe.cli.command_options import Command, argument, image_attributes_option, option, style_options, words
from apframe.cli.file_options import FilesToRead, reading_options
from apframe.cli.output import progress, show_table


@click.command("stats", cls=Command)
@argument("truth", "GT", help="ground truth, in any format")
@argument("results", "[DT]", required=False, help="detections, in any format")
@reading_options
@image_attributes_option
@option(
    "--by", multiple=True, metavar="weather,occlusion",
    help="columns to count by (default: columns of the images with few values)",
)  # fmt: skip
@style_options()
def count_files(
    truth: Path,
    results: Path | None,
    *,
    files: FilesToRead,
    image_attributes: Path | None,
    by: Sequence[str],
    style: str | None,
) -> None:
    """Count images, annotations and detections, and print median sizes, by category, area range and attribute."""
    with progress() as say:
        say("reading")
        table = apf.stats(truth, results, by=words(by) or None, image_attributes=image_attributes, **files.reading())
    show_table(table, style, digits=1)

"""`apframe shard`: cut a data set and its detections into shards of whole images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import apframe as apf
from apframe.cli.command_options import PATH, Command, argument, drop_unknown_images_option, image_attributes_option, output
from apframe.cli.file_options import FilesToRead, reading_options
from apframe.cli.output import progress, stdout
from apframe.show.terminal import one_line
from apframe.wording import counted


@click.command("shard", cls=Command)
@argument("truth", "GT", help="ground truth, in any format; or a pattern of files such as 'gt/*.json'")
@argument("results", "DT", help="detections, in any format; or a pattern of files; - is stdin")
@output("--into", type=PATH, required=True, metavar="DIR", help="a new folder for the shards")
@output("--n", metavar="64", default=64, help="number of shards, at most the number of images")
@reading_options
@image_attributes_option
@drop_unknown_images_option
@output("--json", "as_json", help="print the number of rows of each shard as JSON")
def shard_files(
    truth: Path, results: Path, into: Path, n: int, *, files: FilesToRead, image_attributes: Path | None,
    drop_unknown_images: bool, as_json: bool,
) -> None:  # fmt: skip
    """Cut ground truth and detections into shards of whole images.

    Each shard is a folder in DIR with tables as Parquet. Results in COCO JSON, JSON lines, Parquet or Arrow may be larger than
    memory. DIR must not exist yet; if anything fails, nothing is written.
    """
    with progress() as say:
        say(f"writing {into}")
        own: Any = {"image_attributes": image_attributes, "unknown_images": "drop" if drop_unknown_images else "error"}
        shards = apf.write_shards(truth, results, into, n, **own, **files.reading())
    if as_json:
        stdout().write_json(shards.write_json())
        return
    sizes = {name: int(shards[f"n_{name}s"].sum()) for name in ("image", "annotation", "detection")}
    rows = ", ".join(counted(number, name) for name, number in sizes.items())
    print(f"{one_line(str(into))}: {counted(shards.height, 'shard')} with {rows}")
    if shards.height < n:
        print(f"{counted(n, 'shard')} were requested, but there are only {counted(sizes['image'], 'image')}")

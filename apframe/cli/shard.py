"""`apframe shard`: a data set and its detections, cut into shards of whole images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.files import ReadingOptions
from apframe.cli.options import DropUnknownImages, ImageAttributes
from apframe.cli.output import progress, stdout
from apframe.show.terminal import one_line
from apframe.wording import counted


def shard_files(
    truth: Annotated[
        Path, Argument(metavar="GT", help="ground truth, in any format; or a pattern of files such as 'gt/*.json'")
    ],
    results: Annotated[Path, Argument(metavar="DT", help="detections, in any format; or a pattern of files; - is stdin")],
    into: Annotated[Path, Option(metavar="DIR", help="a new folder for the shards")],
    n: Annotated[int, Option(metavar="64", help="number of shards; there are never more than images")] = 64,
    *,
    files: ReadingOptions,
    image_attributes: ImageAttributes = None,
    drop_unknown_images: DropUnknownImages = False,
    as_json: Annotated[bool, Option("--json", help="print the number of rows of each shard as JSON")] = False,
) -> None:
    """Cut ground truth and detections into shards of whole images.

    Each shard is a folder in DIR with tables as Parquet. Results as COCO JSON, JSON lines, Parquet or Arrow may be larger than
    the memory. DIR must not exist yet; if anything fails, nothing is written.
    """
    with progress() as say:
        say(f"writing {into}")
        shards = apf.write_shards(
            truth,
            results,
            into,
            n,
            unknown_images="drop" if drop_unknown_images else "error",
            image_attributes=image_attributes,
            **files.reading(),
        )
    if as_json:
        stdout().write_json(shards.write_json())
        return
    sizes = {name: int(shards[f"n_{name}s"].sum()) for name in ("image", "annotation", "detection")}
    rows = ", ".join(counted(number, name) for name, number in sizes.items())
    print(f"{one_line(str(into))}: {counted(shards.height, 'shard')} with {rows}")
    if shards.height < n:
        print(f"{counted(n, 'shard')} were asked for, but there are only {counted(sizes['image'], 'image')}")

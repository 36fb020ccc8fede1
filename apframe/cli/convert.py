"""`apframe convert` and `apframe formats`: one format to another, and the formats there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import apframe as apf
from apframe.cli.messages import as_flag
from apframe.cli.options import (
    BoxFormat,
    GtFormat,
    ImageSizes,
    JoinByName,
    Names,
    Relative,
    Split,
    path_argument,
    path_option,
    words,
)
from apframe.cli.output import progress, stdout
from apframe.exceptions import ParameterError, counted, spelling
from apframe.file_formats.catalogue import FORMATS, as_format, naming_format
from apframe.show.terminal import one_line, written_out

_FILES = (
    ", ".join(name for name, each in FORMATS.items() if each.writable and each.dataset_from[0] == "file")
    + ", and results to "
    + ", ".join(
        name
        for name, each in FORMATS.items()
        if each.writable and each.dataset_from[0] != "file" and each.results_from[0] == "file"
    )
)


def convert_files(
    source: Annotated[Path, path_argument(metavar="SOURCE", help="a data set; results with --results-of")],
    target: Annotated[Path, path_argument(metavar="TARGET", help=f"a new file, if to {_FILES}; else a new folder")],
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="the format to write; see `apframe formats`")],
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="the format of SOURCE, if it cannot be detected from the path")
    ] = None,
    results_of: Annotated[
        Path | None,
        path_option(metavar="GT", help="SOURCE are results of this data set, which has their ids and names"),
    ] = None,
    gt_format: GtFormat = None,
    split: Split = None,
    image_sizes: ImageSizes = None,
    box_format: BoxFormat = None,
    relative: Relative = False,
    join_by_name: JoinByName = None,
    names: Names = None,
    as_json: Annotated[bool, typer.Option("--json", help="print what is lost as a list of JSON objects")] = False,
) -> None:
    """Convert a data set, or results, from one format to another; what the format cannot hold is printed.

    TARGET appears whole or not at all, and never in the place of another.
    """
    if results_of is None and (gt_format or join_by_name or names):
        raise ParameterError("--gt-format, --join-by-name and --names are for results: name their data set with --results-of")
    with progress() as say:
        say("reading")
        if results_of is None:
            with spelling(_of_source):
                dataset = apf.read_dataset(
                    source, source_format, split=split, image_sizes=image_sizes, box_format=box_format, relative=relative
                )
            say(f"writing {target}")
            lost = apf.write_dataset(dataset, target, to)
        else:
            dataset = apf.read_dataset(results_of, gt_format, split=split, image_sizes=image_sizes)
            with spelling(_of_source):
                found = apf.read_results(
                    source,
                    source_format,
                    dataset=dataset,
                    join_by_name=words(join_by_name),
                    names=names,
                    box_format=box_format,
                    relative=relative,
                )
            say(f"writing {target}")
            with naming_format(source, source_format):
                lost = apf.write_results(found, target, to, dataset=dataset)
    if as_json:
        stdout().write_json(lost.write_json())
        return
    for table, column, n_rows, what in written_out(lost).iter_rows():
        print(f"{table}{'' if column is None else '.' + column}: {what} ({counted(n_rows, 'row')})")
    print(f"{one_line(str(target))}: {as_format(to).title}, {'all of it' if lost.is_empty() else 'but for what is said above'}")


def list_formats(as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False) -> None:
    """List the formats that `eval`, `check` and `convert` take, and what their files are."""
    if as_json:
        stdout().write_json(apf.formats().write_json())
        return
    for name, title, dataset, results, written in apf.formats().iter_rows():
        print(f"{name}: {title}{'' if written else ' (read only)'}\n  data set: {dataset}\n  results:  {results}")


def _of_source(option: str, value: str | None = None) -> str:
    """The format of SOURCE is that of --from, not of ground truth."""
    return "--from" if option == "format" else as_flag(option, value)

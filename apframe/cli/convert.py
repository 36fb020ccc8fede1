"""`apframe convert`: convert data sets and results to another format, or write parts of data sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import polars as pl

import apframe as apf
from apframe.cli.command_options import (
    PATH,
    Command,
    argument,
    categories_option,
    image_attributes_option,
    option,
    output,
    under_reading,
    where_option,
    words,
)
from apframe.cli.file_options import reading_option
from apframe.cli.messages import as_flag
from apframe.cli.output import progress, stdout
from apframe.exceptions import FormatError, ParameterError
from apframe.formats.catalogue import as_format, names_of_written, naming_format
from apframe.formats.reading import Reading
from apframe.formats.unrecognised import SWAPPED
from apframe.show.terminal import one_line
from apframe.show.text_tables import written_out
from apframe.wording import counted, option_style

_DATASETS, _RESULTS = (names_of_written(role, "file") for role in ("dataset", "results"))
_FILES = f"{', '.join(_DATASETS)}, and for results in {', '.join(name for name in _RESULTS if name not in _DATASETS)}"


@click.command("convert", cls=Command)
@argument("sources", "SOURCE...", nargs=-1, required=True, help="a data set, or several to merge; results with --results-of")
@argument("target", "TARGET", help=f"a new file for {_FILES}; otherwise a new folder")
@option("--to", required=True, metavar="NAME", help="format to write; see `apframe formats`")
@under_reading("--from", "source_format", metavar="NAME", help="format of SOURCE, if the path does not show it")
@under_reading(
    "--results-of", type=PATH, metavar="GT",
    help="the data set these results belong to; supplies ids and names",
)  # fmt: skip
@reading_option("format")
@reading_option("images")
@under_reading(
    "--split", metavar="NAME|train=.8,val=.2",
    help="the part of SOURCE to read, or parts to write and their shares",
)  # fmt: skip
@option("--by", multiple=True, metavar="scene", help="with --split: keep images with the same value in one part")
@reading_option("image_sizes")
@reading_option("box_format")
@reading_option("relative")
@reading_option("join_by_name")
@reading_option("names")
@option(
    "--corrections", metavar="FILE",
    help="replace the annotations of the images in FILE, such as a corrected file of `apframe report --relabel`",
)  # fmt: skip
@image_attributes_option
@reading_option("category_map")
@reading_option("unmapped")
@categories_option
@where_option
@option("--sample", type=int, metavar="500", help="keep this number of images, chosen at random")
@option("--seed", type=int, metavar="1", help="random seed of --sample and --split")
@output("--json", "as_json", help="print losses as a list of JSON objects")
def convert_files(
    sources: Sequence[Path], target: Path, to: str, source_format: str | None, results_of: Path | None,
    gt_format: str | None, images_list: Path | None, split: str | None, by: Sequence[str], image_sizes: Path | None,
    box_format: str | None, relative: bool, join_by_name: Sequence[str], names: Path | None, corrections: Path | None,
    image_attributes: Path | None, category_map: Path | None, unmapped: str, categories: Sequence[str], where: str | None,
    sample: int | None, seed: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Convert a data set or results to another format, and print what that format cannot store.

    Data sets can be merged, reduced and split. Each part of a split is a folder in TARGET, or a file next to it with the name
    of the part before the file ending. TARGET must not exist yet; if anything fails, nothing is written.
    """
    shares = _shares(split)
    choices = {
        "--by": by, "--corrections": corrections, "--image-attributes": image_attributes, "--category-map": category_map,
        "--categories": categories, "--where": where, "--sample": sample, "--split": shares, "--unmapped": unmapped != "keep",
    }  # fmt: skip
    if flags := [name for name, value in choices.items() if value] if results_of is not None else []:
        raise ParameterError(f"{', '.join(flags)}: for data sets only, not for results")
    if results_of is not None and len(sources) > 1:
        raise ParameterError("--results-of takes one SOURCE", f"there are {len(sources)}")
    if corrections is not None and category_map is not None:
        raise ParameterError("--corrections and --category-map cannot be combined", "convert with one, then convert the result")
    if seed is not None and not (sample or shares):
        raise ParameterError("--seed needs --sample, or --split with shares")
    if by and not shares:
        raise ParameterError("--by needs --split with shares", "as in --split train=.8,val=.2")
    if results_of is None and (gt_format or join_by_name):
        raise ParameterError("--gt-format and --join-by-name are for results", "name their data set with --results-of")
    how: dict[str, Any] = {"names": names, "box_format": box_format, "relative": relative}
    with progress() as say:
        say("reading")
        if results_of is None:
            named = None if shares else split
            with option_style(_of_source), _hinting_at_results():
                how |= {"split": named, "image_sizes": image_sizes}
                datasets = [apf.read_dataset(source, source_format, **how) for source in sources]
            dataset, changes = apf.merge(datasets) if len(datasets) > 1 else (datasets[0], None)
            if corrections is not None:
                from apframe.formats.corrections import described_changes  # for this alone

                fixed, before = apf.read_dataset(corrections), dataset
                dataset = apf.correct(before, fixed)
                corrected = f"{counted(fixed.images.height, 'image')} corrected: {described_changes(before, dataset)}"
            if image_attributes is not None:
                dataset = dataset.with_images(image_attributes)
            dataset = Reading(images=images_list, category_map=category_map, unmapped=unmapped).selected(dataset)
            if where is not None or categories:
                dataset = dataset.where(*([where] if where is not None else []), categories=words(categories) or None)
            if sample is not None:
                dataset = dataset.sample(sample, seed or 0)
            parts = dataset.split(shares, words(by), seed or 0) if shares else {"": dataset}
            targets = {name: _target(target, name, to) for name in parts}
            say(f"writing {target}")
            lost = _all_losses([apf.write_dataset(part, targets[name], to) for name, part in parts.items()], changes)
        else:
            (source,), targets = sources, {"": target}
            options = {"split": split, "images": images_list, "image_sizes": image_sizes, "names": names}
            dataset = Reading(format=gt_format, **options).dataset(results_of)
            with option_style(_of_source):
                results = apf.read_results(source, source_format, dataset=dataset, join_by_name=words(join_by_name), **how)
            say(f"writing {target}")
            with naming_format(source, source_format):
                lost = apf.write_results(results, target, to, dataset=dataset)
    if as_json:
        stdout().write_json(lost.write_json())
        return
    for table, column, n_rows, what in written_out(lost).iter_rows():
        print(f"{table}{'' if column is None else '.' + column}: {what} ({counted(n_rows, 'row')})")
    if corrections is not None:
        print(corrected)
    for path in targets.values():
        written = "everything was written" if lost.is_empty() else "written, except for the losses above"
        print(f"{one_line(str(path))}: {as_format(to).title}, {written}")


@contextmanager
def _hinting_at_results() -> Iterator[None]:
    """Add to an error that SOURCE looks like results how to convert results."""
    try:
        yield
    except FormatError as error:
        if error.remedy != SWAPPED:
            raise
        raise FormatError(error.problem, "to convert results, name their data set with --results-of", path=error.path) from None


def _shares(split: str | None) -> dict[str, float] | None:
    """Return the shares of --split, or None if it names the part to read."""
    if split is None or "=" not in split:
        return None
    shares = {}
    for word in words([split]):
        name, _, share = word.partition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            raise ParameterError(f"--split takes shares such as train=.8,val=.2, not {word!r}") from None
        if Path(name).name != name:
            raise ParameterError(f"--split: {name!r} cannot be the name of a file")
    return shares


def _target(target: Path, part: str, to: str) -> Path:
    """Return the path of a part of a split: next to `target` with its name before the ending, or a folder in it."""
    if not part:
        return target
    if as_format(to).kinds_of("dataset")[0] != "file":
        return target / part
    ending = re.search(r"(\.[^.]*(\.gz)?)?$", target.name)
    assert ending is not None  # it may be empty
    return target.with_name(f"{target.name.removesuffix(ending[0])}_{part}{ending[0]}")


def _all_losses(losses: Sequence[pl.DataFrame], changes: pl.DataFrame | None) -> pl.DataFrame:
    """Stack the losses of all parts, after the changes made by merging."""
    parts = losses if changes is None else [changes, *losses]
    keys = ["table", "column", "what"]
    losses_by_column = pl.concat(parts, how="vertical_relaxed").group_by(keys, maintain_order=True).agg(pl.col("n_rows").sum())
    return losses_by_column.select("table", "column", "n_rows", "what")


def _of_source(option: str, value: str | None = None) -> str:
    """Return an option as a flag; the format of SOURCE is --from, not the format of ground truth."""
    return "--from" if option == "format" else as_flag(option, value)

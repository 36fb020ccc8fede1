"""`evaluate_shards`: evaluate data larger than memory, one shard of whole images at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe.evaluation.options import Choice, Options, choose
from apframe.exceptions import ApframeError, ParameterError, ShardError, ShardsLeftOutWarning, warn
from apframe.keywords import refuse_unknown
from apframe.option_values import one_of
from apframe.protocols.coco import COCO
from apframe.protocols.published import PUBLISHED
from apframe.scale.addresses import exists
from apframe.scale.budget import as_bytes
from apframe.scale.shards import Shard, find_shards, refuse_options_of_files
from apframe.similarity.user import UserSimilarity
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import TABLES
from apframe.wording import counted, listed, option_name, same_name

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from apframe.evaluation.evaluation import Evaluation
    from apframe.protocols.protocol import Protocol

ENGINES = ("local", "ray")
_OWN = ("engine", "executor", "memory", "work", "skip_bad_shards")  # options that `evaluate` does not have


def evaluate_shards(
    truth: Any,
    detections: Any = None,
    protocol: Protocol | str = COCO,
    *,
    engine: str = "local",
    executor: Executor | Callable[[], Executor] | None = None,
    memory: int | str | None = None,
    work: str | Path | None = None,
    skip_bad_shards: bool = False,
    **options: Unpack[Options],
) -> Evaluation:
    """Evaluate data larger than memory, shard by shard, with the same numbers as `evaluate`.

    A shard is a set of whole images. Each shard is read, matched and dropped; only its verdicts are kept: 18 bytes for each
    detection, 9 for each annotation and about 20 for each match. They are ranked category by category.

    Parameters
    ----------
    truth
        a folder written by `write_shards` or `apframe shard`, or shards: a pattern such as "shards/*", or a list. A shard is a
        folder with the tables images, annotations and detections as Parquet or Arrow files; the categories are next to the
        folders. With `detections`: files of ground truth in any format of `evaluate`. Both may be addresses that fsspec lists
        and Polars reads, such as "s3://bucket/shards/*".
    detections
        files of detections, as many as of ground truth, which pair up in the order of their names. If ids of objects repeat in
        other files, tables have numbers from 1 instead.
    protocol
        the rules, as for `evaluate`.
    engine
        "local" matches the shards with `executor`. "ray" matches each shard in its own task on a Ray cluster
        (`pip install ray`): the cluster of `ray.init`, if it was called, or of RAY_ADDRESS; otherwise Ray is started on this
        machine.
    executor
        matches the shards: anything with the interface of `concurrent.futures.Executor`, such as
        `ProcessPoolExecutor(8, get_context("spawn"))`, or a function that creates one; threads of this process by default. If
        workers die, a function is called once more for the remaining shards. `by` and `where` on objects, which match again,
        also call it; without a function, threads of this process do that. The guide on clusters shows Ray, Dask and loky.
    memory
        the memory that the evaluation may use, such as "4GB" or a number of bytes; half of the machine's by default. Verdicts
        that need more than a quarter of it are kept in files, and lists are ranked in blocks that need about another quarter.
        Shards must be small enough: a million detections with boxes need about 0.3 GB in each thread.
    work
        a folder that keeps the verdicts of each shard. With the same folder, an interrupted run resumes where it stopped.
        Shards are matched again if their files, the options or the version of apframe have changed. Nothing in it is removed.
        Defaults to a temporary folder; workers that may be on other machines need a folder that all of them share.
    skip_bad_shards
        skip shards that are damaged or have rows that cannot be evaluated, with a warning; `notes` counts them.
    options
        options of `evaluate`: iou_type, iou_thresholds, categories, invalid, ... Options for reading files, such as `format`
        and `box_format`, need files of detections.

    Returns
    -------
    An `Evaluation`. Metrics, summary, `by` and `where` on images and categories, `intervals` and `compare` need only the
    verdicts. `by` and `where` on objects match each shard again. Methods that need the objects themselves, such as `errors`
    and `matches`, read them into memory. A SecondPassWarning says so.

    Raises
    ------
    ParameterError
        wrong options; something other than paths; different numbers of files of detections and of ground truth.
    FormatError
        a file or folder does not exist; shards differ in columns, types or categories; an image is in several shards.
    ShardError
        a shard is damaged, or has rows that cannot be evaluated; the message begins with its name. Or workers have died:
        the message has the remaining shards, and the same call resumes with them if there is a folder for `work`.
    OutputError
        there is no space for verdicts.

    Warns
    -----
    ShardsLeftOutWarning
        shards were left out.
    ApframeWarning
        warnings of `evaluate`, each kind once, with the first shard that it is about.

    >>> import tempfile
    >>> from apframe import write_shards
    >>> truth = {"images": [{"id": n} for n in range(4)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9]} for n in range(4)]}
    >>> detections = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for n in range(3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(truth, detections, f"{folder}/shards", n=2)
    ...     evaluate_shards(f"{folder}/shards").summary.head(1).with_columns(pl.col("value").round(3)).rows()
    [('AP', 0.752)]
    """
    refuse_unknown(options, [*_OWN, *Options.__annotations__])
    one_of("engine", engine, ENGINES)
    if executor is not None and engine != "local":
        raise ParameterError(f"cannot be combined with {option_name('engine', engine)}", "leave one out", option="executor")
    choice, budget = choose(protocol, **options), as_bytes(memory)
    if detections is None:
        refuse_options_of_files(choice.reading)
    if choice.image_attributes is not None:  # raise errors before the work
        choice = replace(choice, image_attributes=_attributes(choice.image_attributes))
    is_here = executor is None and engine == "local"
    if is_here and work is not None and choice.protocol.similarity.name == UserSimilarity.name:
        raise ParameterError("cannot tell one similarity function of your own from another", "leave it out", option="work")
    if isinstance(detections, (str, Path)) and same_name(detections, PUBLISHED) and not exists(str(detections)):
        remedy = f"write {option_name('protocol', str(detections))}"
        raise ParameterError(f"{detections} is a protocol, not a file of detections", remedy)
    shards = find_shards(truth, detections)
    alone = replace(choice, image_attributes=None)  # which belong to the images of all shards
    from apframe.evaluation.evaluation import Evaluation  # as below: with NumPy
    from apframe.scale.job import Job, own_version
    from apframe.scale.running import Engine
    from apframe.scale.shard_source import Shards
    from apframe.scale.sharded_merge import notes_together, warn_together

    if engine == "ray":
        from apframe.scale.ray_executor import RayExecutor as executor  # noqa: N813 - a function that makes one
    way = Engine(Job(alone, own_version()), budget, None if work is None else Path(work), executor)
    try:
        matched = way.match(shards, skip_bad=skip_bad_shards)
        if not matched.shards:
            raise matched.bad[0]
    except ShardError as error:
        raise explained(error, shards, alone) from error.__cause__
    read_dataset = partial(_known, choice, matched.shards)
    if choice.image_attributes is not None:  # which are read now
        read_dataset = partial(_constant, read_dataset())
    source = Shards.of(matched, read_dataset, matched.shards[0].read_known(alone).core("categories"), way)
    facts = source.together.facts
    warn_together(facts)
    notes = notes_together(facts)
    if bad := [explained(error, shards, alone) for error in matched.bad[:1]] + list(matched.bad[1:]):
        which = listed([error.shard for error in bad])
        notes.append(f"left out: {counted(len(bad), 'damaged shard')} of {len(shards):,}: {which}")
        warn(f"{notes[-1]}; the first one: {bad[0]}", ShardsLeftOutWarning)
    return Evaluation(source, choice.protocol, notes=notes, name=choice.name)


def explained(error: ShardError, shards: Sequence[Shard], choice: Choice) -> ShardError:
    """Return the error, or if it is about rows on images that another shard has, an error that says so."""
    from apframe.scale.sharded_merge import cut_differently

    for shard in shards if len(error.unknown_images) else ():
        try:
            ids = shard.read_known(choice).core("images")["image_id"]
        except ApframeError:  # a damaged shard is an error of its own
            continue
        there = ids.filter(is_known(ids, error.unknown_images)) if ids.dtype == error.unknown_images.dtype else ids.clear()
        if len(there):
            return cut_differently(error.table, error.shard, there, shard.name)
    return error


def _known(choice: Choice, shards: Sequence[Shard]) -> Dataset:
    """Return the images and categories of all shards, with their attributes."""
    each = [shard.read_known(choice) for shard in shards]
    images = pl.concat([dataset.images for dataset in each], how="diagonal_relaxed")
    return choice.with_attributes(each[0].part(images, each[0].core("annotations").clear()))


def _constant(dataset: Dataset) -> Dataset:
    return dataset


def _attributes(source: Any) -> pl.DataFrame:
    """Return the table of further columns of the images, none of which may be needed for matching."""
    table = to_polars(source, "image attributes")
    lists = [column.name for column in TABLES["images"] if column.is_id and not column.standard]
    columns = [name for name in lists if name in table.columns]
    if columns:
        problem = f"has {', '.join(columns)}, which must be in the images of the shards"
        raise ParameterError(problem, "write the shards with it: apframe shard --image-attributes", option="image_attributes")
    return table

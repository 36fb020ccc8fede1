"""What the shards have in common, checked, and how the numbers of each stand in the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from apframe import exceptions
from apframe.exceptions import ApframeWarning, FormatError, listed, warn
from apframe.matching.verdicts import Verdicts, example
from apframe.rule_sets.protocol import Protocol


@dataclass(frozen=True)
class Head:
    """What is known of one shard beside its verdicts.

    Attributes
    ----------
    said
        see `Job.match`
    images
        the sorted ids of its images
    counts
        how many detections each list has
    n_bytes
        of the verdicts
    """

    said: Mapping[str, Any]
    images: pl.Series
    counts: np.ndarray
    n_bytes: int


@dataclass(frozen=True)
class Together:
    """How the shards make one whole.

    Attributes
    ----------
    whole
        verdicts without any rows: the rules, the lists, and the images of all shards
    codes
        for each shard, the number among all images of each of its own
    first_rows
        what is added to the numbers of the detections and of the annotations of each shard
    counts
        how many detections each list has, of shape (shards, lists)
    """

    whole: Verdicts
    codes: Sequence[np.ndarray]
    first_rows: Sequence[tuple[int, int]]
    counts: np.ndarray


def put_together(heads: Sequence[Head], whole: Verdicts) -> Together:
    """Number the images, detections and annotations of all shards through.

    Raises
    ------
    FormatError
        an image is in two shards; shards differ in columns, types or categories
    """
    refuse_differences([head.said for head in heads])
    names = [str(head.said["shard"]) for head in heads]
    ids = pl.DataFrame({"image_id": pl.concat([head.images for head in heads])}).with_row_index("at").sort("image_id")
    twice = ids["image_id"].is_duplicated()
    ends = np.cumsum([len(head.images) for head in heads])
    if twice.any():
        image = ids["image_id"].filter(twice)[0]
        at = ids["at"].filter(ids["image_id"] == image).to_numpy()
        where = listed([names[each] for each in np.searchsorted(ends, at, side="right")])
        n = ids["image_id"].filter(twice).n_unique()
        others = f" (and {n - 1:,} more images)" if n > 1 else ""
        raise FormatError(
            f"image {image!r}{others} is in several shards: {where}", "put each image with all its rows into one shard"
        )
    code = np.empty(ids.height, dtype=np.uint32)
    code[ids["at"].to_numpy()] = np.arange(ids.height, dtype=np.uint32)
    heights = np.array([[head.said["heights"][name] for name in ("detections", "annotations")] for head in heads])
    before = np.cumsum(heights, axis=0) - heights
    numbered = [bool(head.said["is_numbered"]) for head in heads]
    return Together(
        whole=replace(whole, images=ids.select("image_id")),
        codes=np.split(code, ends[:-1]),
        first_rows=[(0 if own else int(found), int(known)) for own, (found, known) in zip(numbered, before, strict=True)],
        counts=np.stack([head.counts for head in heads]),
    )


def without_rows(protocol: Protocol, category_ids: pl.Series) -> Verdicts:
    """Verdicts of no images, under a protocol; the categories are sorted by their ids.

    >>> from apframe.rule_sets.coco import COCO
    >>> without_rows(COCO, pl.Series([3, 7])).lists["category_id"].to_list()
    [3, 7]
    """
    empty = example().of_images(np.zeros(2, dtype=bool))
    return replace(
        empty,
        thresholds=protocol.iou_thresholds,
        ranges=tuple(name for name, *_ in protocol.area_ranges),
        limits=protocol.limits,
        ties=protocol.ties,
        lists=pl.DataFrame({"category_id": category_ids.clear(1) if protocol.agnostic else category_ids}),
    )


def refuse_differences(said: Sequence[Mapping[str, Any]]) -> None:
    """An error where a shard has other columns, types or categories than the first one.

    Raises
    ------
    FormatError
        it names both shards, and both schemas where these differ

    >>> one = {"shard": "0", "schemas": {"images": {"image_id": "Int64"}}, "categories": [], "is_numbered": False}
    >>> refuse_differences([one, one | {"shard": "1", "schemas": {"images": {"image_id": "String"}}}])
    Traceback (most recent call last):
    apframe.exceptions.FormatError: shards 0 and 1 differ in the columns of images: image_id Int64 and image_id String...
    """
    first = said[0]
    for other in said[1:]:
        both = f"shards {first['shard']} and {other['shard']}"
        for table, mine in first["schemas"].items():
            theirs = other["schemas"].get(table, {})
            if mine != theirs:
                shown = [_alone(*pair) for pair in ((mine, theirs), (theirs, mine))]
                problem = f"{both} differ in the columns of {table}: {shown[0]} and {shown[1]}"
                raise FormatError(problem, "write them again with the same columns and types, as `apframe shard` does")
        if first["categories"] != other["categories"]:
            mine, theirs = ({tuple(each) for each in one["categories"]} for one in (first, other))
            alone = listed([f"{name} ({key})" for key, name in sorted(mine ^ theirs, key=str)])
            raise FormatError(
                f"{both} differ in their categories: only one of them has {alone}",
                "give all of them the same categories, or join them with `apframe shard`",
            )


def _alone(mine: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {dtype}" for name, dtype in mine.items() if theirs.get(name) != dtype) or "no more columns"


def heights_of(said: Sequence[Mapping[str, Any]], codes: Sequence[np.ndarray]) -> list[Mapping[str, int]]:
    """How many annotations and detections each shard has, and how many hits, as the shards say it."""
    del codes
    return [one["heights"] for one in said]


def truth_mark(said: Sequence[Mapping[str, Any]]) -> str | None:
    """What is equal for the same annotations, however they are cut into shards; None if that is not known."""
    hashes = [one["truth"] for one in said]
    if None in hashes:
        return None
    return f"{sum(hashes) % 2**64} {sum(one['heights']['annotations'] for one in said)}"


def warn_together(said: Sequence[Mapping[str, Any]]) -> None:
    """Give the warnings of all shards, each kind once: with the message of the first shard that has it.

    That there are no annotations is a warning only where no shard has any.
    """
    n_annotations = sum(one["heights"]["annotations"] for one in said)
    kinds: dict[str, list[tuple[str, str]]] = {}
    for one in said:
        for kind, message in one["warnings"]:
            kinds.setdefault(kind, []).append((str(one["shard"]), message))
    for kind, found in kinds.items():
        if kind == exceptions.NoAnnotationsWarning.__name__:
            if not n_annotations:
                warn(found[0][1], exceptions.NoAnnotationsWarning)
            continue
        shards = list(dict.fromkeys(shard for shard, _ in found))
        more = f" and {len(shards) - 1:,} more" if len(shards) > 1 else ""
        category = getattr(exceptions, kind, ApframeWarning)
        warn(f"shard {shards[0]}{more}: {found[0][1]}", category)


def notes_together(said: Sequence[Mapping[str, Any]]) -> list[str]:
    """The notes of all shards, each once; one that not all shards have names those that do."""
    shards: dict[str, list[str]] = {}
    for one in said:
        for note in one["notes"]:
            shards.setdefault(note, []).append(str(one["shard"]))
    return [note if len(of) == len(said) else f"{note} (shard {listed(of)})" for note, of in shards.items()]

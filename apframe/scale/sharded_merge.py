"""The merge of shards: checks of their columns and categories, and the numbers of their rows in the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from apframe import exceptions
from apframe.exceptions import ApframeWarning, FormatError, ShardError, warn
from apframe.matching.verdicts import Verdicts
from apframe.scale.layout import INPUT_ROW
from apframe.wording import Count, Note, counted, in_words, listed

_IDS = "the columns of ids"
_FIRST = 5  # differences that a message shows
_MOST = {  # doubts about a shard, and the warnings in their place if they do not apply to all shards
    exceptions.MostlyUnknownCategoriesWarning.__name__: exceptions.UnknownCategoryWarning.__name__,
    exceptions.MostlyUnknownImagesWarning.__name__: exceptions.UnknownImageWarning.__name__,
}


@dataclass(frozen=True)
class Head:
    """Facts about one shard in addition to its verdicts.

    Attributes
    ----------
    facts
        see `Job.match`
    images
        the sorted ids of its images
    counts
        the number of detections of each list
    """

    facts: Mapping[str, Any]
    images: pl.Series
    counts: np.ndarray


@dataclass(frozen=True)
class Together:
    """The merge of the shards.

    Attributes
    ----------
    whole
        verdicts without any rows: the rules, the lists, and the images of all shards
    codes
        for each shard, the number among all images of each of its own
    first_rows
        the offsets of the numbers of the detections and of the annotations of each shard
    counts
        the number of detections of each list, of shape (shards, lists)
    facts
        see `Job.match`, of each shard
    """

    whole: Verdicts
    codes: Sequence[np.ndarray]
    first_rows: Sequence[tuple[int, int]]
    counts: np.ndarray
    facts: Sequence[Mapping[str, Any]]

    @property
    def truth_mark(self) -> str | None:
        """A mark that is equal for the same annotations, however they are cut into shards; None if unknown."""
        hashes = [one["truth"] for one in self.facts]
        if None in hashes:
            return None
        return f"{sum(hashes) % 2**64} {sum(one['heights']['annotations'] for one in self.facts)}"


def put_together(heads: Sequence[Head], whole: Verdicts) -> Together:
    """Number the images, detections and annotations of all shards consecutively.

    Raises
    ------
    FormatError
        an image is in two shards; shards differ in columns, types or categories, or only some have numbers
    ShardError
        detections were dropped because their images are unknown, but another shard has these
    """
    refuse_differences([head.facts for head in heads])
    names = [str(head.facts["shard"]) for head in heads]
    of_all = pl.concat([head.images for head in heads if len(head.images)] or [heads[0].images])
    ids = pl.DataFrame({"image_id": of_all}).with_row_index("at").sort("image_id")
    twice = ids["image_id"].is_duplicated()
    ends = np.cumsum([len(head.images) for head in heads])
    if twice.any():
        image = ids["image_id"].filter(twice)[0]
        at = ids["at"].filter(ids["image_id"] == image).to_numpy()
        where = listed([names[each] for each in np.searchsorted(ends, at, side="right")])
        n = ids["image_id"].filter(twice).n_unique()
        others = f" (and {counted(n - 1, 'more image')})" if n > 1 else ""
        raise FormatError(
            f"image {image!r}{others} is in several shards: {where}", "put each image with all its rows into one shard"
        )
    _refuse_images_elsewhere(heads, ids["at"], ids["image_id"], ends)
    code = np.empty(ids.height, dtype=np.uint32)
    code[ids["at"].to_numpy()] = np.arange(ids.height, dtype=np.uint32)
    heights = np.array([[head.facts["heights"][name] for name in ("detections", "annotations")] for head in heads])
    before = np.cumsum(heights, axis=0) - heights
    numbered = [bool(head.facts["is_numbered"]) for head in heads]
    n_rows, last = int(heights[:, 0].sum()), max(head.facts["last_number"] for head in heads)
    if any(numbered) and n_rows > last + 1:
        problem = f"{INPUT_ROW} repeats in other shards: there are {counted(n_rows, 'detection')}, but no number above {last:,}"
        raise FormatError(problem, "number the rows of all shards consecutively from 0, or leave the column out")
    return Together(
        whole=replace(whole, images=ids.select("image_id")),
        codes=np.split(code, ends[:-1]),
        first_rows=[
            (0 if own else int(n_detections), int(n_annotations))
            for own, (n_detections, n_annotations) in zip(numbered, before, strict=True)
        ],
        counts=np.stack([head.counts for head in heads]),
        facts=[head.facts for head in heads],
    )


def _refuse_images_elsewhere(heads: Sequence[Head], at: pl.Series, ids: pl.Series, ends: np.ndarray) -> None:
    """Raise an error if a shard has dropped detections on images that another shard has."""
    for head in heads:
        unknown = pl.Series(head.facts["unknown_images"], dtype=ids.dtype)
        elsewhere = ids.is_in(unknown.implode())
        if len(unknown) and elsewhere.any():
            owner = heads[int(np.searchsorted(ends, at.filter(elsewhere)[0], side="right"))]
            raise cut_differently("detections", str(head.facts["shard"]), ids.filter(elsewhere), str(owner.facts["shard"]))


def cut_differently(table: str, shard: str, images: pl.Series, owner: str) -> ShardError:
    """Return the error about rows of a shard on images that other shards have; `owner` is the shard with the first one.

    >>> cut_differently("detections", "00003", pl.Series([7, 8]), "00001").problem
    'shard 00003: detections of 2 images that other shards have: 7, 8 (7 is in shard 00001)'
    """
    what = (
        f"image {images[0]!r}, which shard {owner} has"
        if len(images) == 1
        else (f"{len(images):,} images that other shards have: {listed(images.to_list())} ({images[0]!r} is in shard {owner})")
    )
    error = ShardError(
        f"shard {shard}: {table} of {what}", "the tables were cut into shards differently: join them with `apframe shard`"
    )
    error.shard, error.table = shard, table
    return error


def refuse_differences(facts: Sequence[Mapping[str, Any]]) -> None:
    """Raise an error if a shard has other columns, types or categories than the first one.

    Raises
    ------
    FormatError
        the message names both shards and their differences

    >>> one = {"shard": "0", "common": {"the columns of images": {"image_id": "Int64"}}, "is_numbered": False,
    ...        "heights": {"detections": 0}}
    >>> refuse_differences([one, one | {"shard": "1", "common": {"the columns of images": {"image_id": "String"}}}])
    Traceback (most recent call last):
    apframe.exceptions.FormatError: shards 0 and 1 differ in the columns of images: image_id Int64 and image_id String...
    """
    first = max(facts, key=lambda one: len(one["common"].get(_IDS, ())))  # the first that has both
    numbered = next((one for one in facts if one["is_numbered"]), None)
    for other in facts:
        if numbered is not None and not other["is_numbered"] and other["heights"]["detections"]:
            raise FormatError(
                f"the detections of shard {numbered['shard']} have {INPUT_ROW}, and those of shard {other['shard']} do not",
                "number the rows of all shards consecutively from 0, or of none",
            )
    for other in facts:
        for what, mine in first["common"].items():
            theirs = other["common"].get(what, {})
            if what == _IDS:  # of files, which may have no images
                mine = {name: dtype for name, dtype in mine.items() if name in theirs}
            if mine != theirs:
                one, two = (_alone(*pair) for pair in ((mine, theirs), (theirs, mine)))
                problem = f"shards {first['shard']} and {other['shard']} differ in {what}: {one} and {two}"
                raise FormatError(problem, "make them equal, or join them with `apframe shard`")


def _alone(mine: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Return the entries that the other of two shards lacks or has with another value."""
    alone = [f"{name} {value}" for name, value in mine.items() if theirs.get(name) != value]
    more = f" and {len(alone) - _FIRST:,} more" if len(alone) > _FIRST else ""
    return f"{', '.join(alone[:_FIRST])}{more}" or "nothing more"


def warn_together(facts: Sequence[Mapping[str, Any]]) -> None:
    """Give the warnings of all shards, each kind once, with the message of the first shard that has it.

    It warns that there are no annotations, or only detections of unknown images, only if that is true of all shards. That most
    detections are unknown is a doubt only if it is true of every shard with detections.
    """
    of_all = {
        exceptions.NoAnnotationsWarning.__name__: "annotations",
        exceptions.UnknownImageWarning.__name__: "detections",
    }
    kinds: dict[str, list[tuple[str, str]]] = {}
    for one in facts:
        for kind, message in one["warnings"]:
            kinds.setdefault(kind, []).append((str(one["shard"]), message))
    for most, some in _MOST.items():
        mostly_unknown = {shard for shard, _ in kinds.get(most, ())}
        if mostly_unknown and any(one["heights"]["detections"] and str(one["shard"]) not in mostly_unknown for one in facts):
            kinds.setdefault(some, []).extend(kinds.pop(most))
    for kind, messages in kinds.items():
        category = getattr(exceptions, kind, ApframeWarning)
        if kind in of_all and any(one["heights"][of_all[kind]] for one in facts):
            continue
        if category is exceptions.NoAnnotationsWarning:
            warn(messages[0][1], category)
            continue
        shards = list(dict.fromkeys(shard for shard, _ in messages))
        more = f" and {len(shards) - 1:,} more" if len(shards) > 1 else ""
        warn(f"shard {shards[0]}{more}: {messages[0][1]}", category)


def notes_together(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the notes of all shards, each once, with added counts; a note without counts names its shards, unless all have it.

    >>> left_out = [("left out: {}", [("detection", n, 0, " (score is missing)", ())], ", ") for n in (1, 2)]
    >>> shards = [{"shard": name, "notes": [note]} for name, note in zip("ab", left_out)]
    >>> notes_together(shards)
    ['left out: 3 detections (score is missing)']
    """
    having: dict[str, list[str]] = {}
    notes = []
    for one in facts:
        for words, counts, between in one["notes"]:
            notes.append(Note(words, [Count(*each) for each in counts], between))
            having.setdefault(words, []).append(str(one["shard"]))
    partial = {words: f"{words} (shard {listed(shards)})" for words, shards in having.items() if len(shards) < len(facts)}
    return in_words(note if note.counts else Note(partial.get(note.words, note.words)) for note in notes)

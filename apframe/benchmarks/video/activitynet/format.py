"""ActivityNet's JSON: intervals of activities in videos, annotated or predicted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from itertools import chain, compress
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.coco.json_rows import canonical_names, frame_of_rows
from apframe.formats.coco.json_writing import json_rows, reserved_names
from apframe.formats.documents import read_json
from apframe.formats.files import write_text
from apframe.formats.format import Format
from apframe.formats.json_fields import OF_SAMPLES, Fields
from apframe.formats.looks import Look, looks
from apframe.rows import refuse_rows
from apframe.tables.column_sources import kind_of
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.declarations import INTERVAL
from apframe.wording import did_you_mean, listed, option_name

_EVALUATED, _ALL = "validation", "all"
_PREFIX = "v_"
_VERSION = "VERSION 1.3"
_OWN = {"images": {"annotations"}, "annotations": {"label", "segment"}, "detections": {"label", "segment"}}


class ActivityNet(Format):
    """ActivityNet's database of videos, with labels and segments (in seconds) of activities.

    Each video is an image, whose id is its key; the `database` around the videos is optional. Results may lack the prefix `v_`
    that the keys of the data set have, or the reverse. `duration`, `subset`, `resolution`, `url` and further fields of a video
    are attributes, and so are further fields of annotations. Only one subset is read: `split`, by default `validation`, on
    which ActivityNet evaluates, or else the only subset with annotations. `split="all"` reads all of them.

    Categories are the leaves of the taxonomy, with the name of their parent as `supercategory`, and other nodes that are used;
    without a taxonomy, all labels of the file. A data set without `subset` is written as validation.

    Source: Heilbron et al., ActivityNet; the formats that its eval_detection.py reads.
    """

    name = "activitynet"
    title = "ActivityNet JSON"
    dataset_is = "a JSON file, plain or gzip, with an object database of videos, each with annotations of label and segment"
    results_are = "a JSON file, plain or gzip, with an object results of videos, each a list of label, score and segment"
    dataset_looks = looks(
        Look("file", begins="{", keys=("database",)),
        Look("file", begins="{", keys=("taxonomy", "nodeName")),
        Look("file", begins="{", keys=("annotations", "segment", "label"), no_keys=("images", "image_id")),
    )
    results_looks = looks(Look("file", begins="{", keys=("results",), no_keys=("database", *OF_SAMPLES)))
    options = ("split",)
    asks_for_images = True
    holds = {
        "images": ("*",),
        "categories": ("supercategory",),
        "annotations": ("*", *INTERVAL),
        "detections": ("*", "score", *INTERVAL),
    }
    unused_categories = True

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`. An unknown or ambiguous subset is a `ParameterError`."""
        data = _parsed(path)
        are_videos = "database" not in data and all(isinstance(each, dict) and "annotations" in each for each in data.values())
        database = data if data and are_videos else _section(path, data, "database")
        _refuse(path, database, [not isinstance(video, dict) for video in database.values()], "no JSON object")
        lists = {key: video.get("annotations") for key, video in database.items()}
        _refuse(path, lists, [not isinstance(rows, list) for rows in lists.values()], "no list of annotations")
        chosen = _of_subset(path, database, split)
        fields = [{name: database[key][name] for name in database[key] if name != "annotations"} for key in chosen]
        images, _ = frame_of_rows("images", [row | {"id": key} for key, row in zip(chosen, fields, strict=True)])
        labels = {row["label"] for row in chain(*lists.values()) if isinstance(row, dict) and isinstance(row.get("label"), str)}
        return {
            "images": canonical_names("images", images),
            "categories": _categories(path, data.get("taxonomy"), labels),
            "annotations": _intervals(path, "annotations", {key: lists[key] for key in chosen}),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        results = _section(path, _parsed(path), "results")
        _refuse(path, results, [not isinstance(rows, list) for rows in results.values()], "no list of results")
        return _named_as_in(dataset, _intervals(path, "detections", results))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        is_said = dataset.images.schema.get("subset") == pl.String
        subset = pl.col("subset").fill_null(_EVALUATED) if is_said else pl.lit(_EVALUATED).alias("subset")
        videos = _rows("images", dataset.images.with_columns(subset), ("image_id",), dataset.json_columns)
        database = {video.pop("id"): video | {"annotations": []} for video in videos}
        for key, row in _labelled("annotations", dataset.annotations, dataset.json_columns):
            database[key]["annotations"].append(row)
        document = {"version": _VERSION, "taxonomy": _taxonomy(dataset.categories), "database": database}
        write_text(path, json.dumps(document) + "\n")

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`. Videos without detections are left out."""
        results: dict[str, list[Any]] = {}
        for key, row in _labelled("detections", detections, set()):
            results.setdefault(key, []).append(row)
        write_text(path, json.dumps({"version": _VERSION, "results": results, "external_data": {}}) + "\n")

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        clashes = [name for name in frame.columns if name in _taken(table)]
        losses = [
            (name, frame[name].is_not_null(), "left out: this name means something else in these files") for name in clashes
        ]
        if table == "images" and frame.schema.get("subset", pl.String()) != pl.String:
            losses.append(("subset", frame["subset"].is_not_null(), "left out: not text"))
        return losses


def _parsed(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file, and reject repeated keys."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            keys = [key for key, _ in pairs]
            doubled = [key for key in entries if keys.count(key) > 1]
            raise FormatError(f"an object has the key {listed(doubled)} more than once", "merge them into one", path=path)
        return entries

    data = read_json(path, object_pairs_hook=without_duplicates)
    if not isinstance(data, dict):
        raise FormatError(f"holds {kind_of(data)}, not an object with videos", "is it COCO's results?", path=path)
    return data


def _section(path: Path, data: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in data:
        raise FormatError(f"no object named {name}; found: {', '.join(data) or 'none'}", path=path)
    if not isinstance(data[name], dict):
        remedy = "write one whose keys are the videos"
        raise FormatError(f"{name} is {kind_of(data[name])}, not an object", remedy, path=path)
    return data[name]


def _named_as_in(dataset: Dataset | None, detections: pl.DataFrame) -> pl.DataFrame:
    """Rename videos as in the data set, if all lack the prefix `v_` that the data set has, or the reverse."""
    if dataset is None or dataset.core("images")["image_id"].dtype != pl.String:
        return detections
    image_ids, ids = dataset.core("images")["image_id"], detections["image_id"]
    ways = [ids, _PREFIX + ids, ids.str.strip_prefix(_PREFIX)]
    as_known = next((each for each in ways if is_known(each, image_ids).any()), ids)
    return detections.with_columns(as_known.alias("image_id"))


def _refuse(path: Path, videos: Iterable[str], wrong: Iterable[bool], problem: str) -> None:
    named = list(dict.fromkeys(compress(videos, wrong)))
    if named:
        raise FormatError(f"{problem} in the video {listed(named)}", "correct the file", path=path)


def _of_subset(path: Path, database: dict[str, Any], split: str | None) -> list[str]:
    """Return the keys of the videos of the chosen subset, see `ActivityNet`."""
    subsets = {key: video.get("subset") for key, video in database.items()}
    _refuse(path, subsets, [not isinstance(name, str | None) for name in subsets.values()], "a subset that is not text")
    names = sorted(set(subsets.values()) - {None})
    if names:
        _refuse(path, subsets, [name is None for name in subsets.values()], "no subset")
    if split == _ALL and _ALL not in names:
        return list(database)
    if split is not None and split not in names:
        raise ParameterError(f"no subset {split!r}", did_you_mean(split, [*names, _ALL]), path=path)
    if split is None:
        likely = {subsets[key] for key, video in database.items() if video["annotations"]} or set(subsets.values())
        if len(likely) > 1 and _EVALUATED not in likely:
            which = ", ".join(sorted(likely))
            raise ParameterError(
                f"several subsets have annotations: {which}",
                f"choose one with {option_name('split', '')}, or {_ALL}",
                path=path,
            )
        split = _EVALUATED if _EVALUATED in likely else next(iter(likely), None)
    return [key for key, name in subsets.items() if name == split]


def _intervals(path: Path, table: str, videos: dict[str, list[Any]]) -> pl.DataFrame:
    """Return labels and segments of all videos as a table, with the score of detections, and further fields."""
    keys = [key for key, rows in videos.items() for _ in rows]
    fields = Fields(table, path, table.removesuffix("s"), "video", list(chain.from_iterable(videos.values())), keys)
    columns = [pl.Series("image_id", keys, pl.String), fields.text("label").alias("category_id")]
    own = {"label", "segment"}
    if table == "detections":
        own.add("score")
        columns.append(fields.number("score"))
    columns += [side.alias(name) for name, side in zip(INTERVAL, fields.numbers("segment", 2), strict=True)]
    frame = pl.DataFrame(columns)
    if set(chain.from_iterable(fields.rows)) - own:
        others = [{name: value for name, value in row.items() if name not in own} for row in fields.rows]
        frame = frame.hstack(canonical_names(table, frame_of_rows(table, others, attributes_only=True)[0]))
    return fields.sound(frame)


def _categories(path: Path, nodes: Any, labels: set[str]) -> pl.DataFrame:
    if not nodes:
        return pl.DataFrame({"category_id": sorted(labels)}, {"category_id": pl.String}).with_columns(name="category_id")
    if not isinstance(nodes, list) or not all(
        isinstance(node, dict)
        and isinstance(node.get("nodeName"), str)
        and isinstance(node.get("nodeId"), int | str)
        and isinstance(node.get("parentId"), int | str | None)
        for node in nodes
    ):
        raise FormatError(
            "the taxonomy is not a list of nodes with nodeId, nodeName and parentId", "correct or remove it", path=path
        )
    names = {node["nodeId"]: node["nodeName"] for node in nodes}
    parents = [node["parentId"] for node in nodes if node.get("parentId") is not None]
    unknown = [parent for parent in dict.fromkeys(parents) if parent not in names]
    if unknown:
        raise FormatError(f"the taxonomy has parentId {listed(unknown)}, but no such nodeId", "correct it", path=path)
    ends = {node["nodeName"] for node in nodes if node["nodeId"] not in parents}
    kept = [node for node in nodes if node["nodeId"] not in parents or node["nodeName"] in labels - ends]
    ids = [node["nodeName"] for node in kept]
    supercategories = [names.get(node.get("parentId")) for node in kept]
    return pl.DataFrame({"category_id": ids, "name": ids, "supercategory": pl.Series(supercategories, dtype=pl.String)})


def _taxonomy(categories: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a node for each supercategory, then one for each category below them."""
    supercategories = categories["supercategory"].drop_nulls().unique(maintain_order=True).to_list()
    numbers = {name: number for number, name in enumerate(supercategories)}
    above: list[tuple[str, str | None]] = [(name, None) for name in supercategories]
    nodes = above + categories.select("category_id", "supercategory").rows()
    return [
        {"nodeId": number, "nodeName": name, "parentId": None if parent is None else numbers[parent], "parentName": parent}
        for number, (name, parent) in enumerate(nodes)
    ]


def _taken(table: str) -> set[str]:
    """Return the names of fields that are not read as attributes."""
    return reserved_names(table) | _OWN.get(table, set())


def _rows(table: str, frame: pl.DataFrame, names: tuple[str, ...], json_columns: Set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return these columns and the attributes as JSON rows, without nulls."""
    reserved = {column.name for column in TABLES[table]} | _taken(table)
    attributes = [name for name in frame.columns if name not in reserved]
    as_json = {name for owner, name in json_columns if owner == table}
    rows: list[dict[str, Any]] = json.loads(json_rows(table, frame[[*names, *attributes]], as_json))
    return rows


def _labelled(table: str, frame: pl.DataFrame, json_columns: Set[tuple[str, str]]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield each row's video, and its label, segment and attributes."""
    there = [name for name in INTERVAL if name in frame.columns]
    lacking = frame.select(pl.any_horizontal(pl.col(there).is_null(), pl.lit(len(there) < 2))).to_series()
    remedy = f"{ActivityNet.title} holds intervals: supply them or remove these rows"
    refuse_rows(table, frame, lacking, "start_time or end_time is missing", remedy)
    score = ("score",) if table == "detections" else ()
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in INTERVAL if name not in there)
    for row in _rows(table, frame, ("image_id", "category_id", *score, *INTERVAL), json_columns):
        segment = [row.pop(name) for name in INTERVAL]
        yield row.pop("image_id"), {"label": row.pop("category_id"), "segment": segment, **row}

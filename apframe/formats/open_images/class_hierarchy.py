"""The class hierarchy of Open Images: a tree in JSON, in which a class may occur several times."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import read_json
from apframe.formats.files import write_text

_ROOT = "/m/0bl9f"  # "Entity", which is not a class


def read_hierarchy(path: Path, classes: Collection[str] | None) -> pl.DataFrame:
    """Read `category_id` and `parent_ids`, its direct parent; null for classes below the root, which is not a class.

    Only `Subcategory` defines children; `Part` is skipped, with everything below it. A class that is not in `classes` is
    skipped: its children become children of its parent. Source: Open Images,
    `oid_hierarchical_labels_expansion.py`.

    Raises
    ------
    FormatError
        the file does not exist, is not JSON, or has an entry that is not a class
    """
    root = read_json(path)
    edges: list[tuple[str, str | None]] = []
    waiting: list[tuple[Any, str | None]] = [(root, None)]
    while waiting:
        node, above = waiting.pop()
        below = node.get("Subcategory", []) if isinstance(node, dict) and isinstance(node.get("LabelName"), str) else None
        if not isinstance(below, list):
            raise FormatError(f"each class needs a LabelName, and may have a list Subcategory, not {str(node)[:40]}", path=path)
        label = above
        if node is not root and (classes is None or node["LabelName"] in classes):
            label = node["LabelName"]
            edges.append((label, above))
        waiting += [(child, label) for child in reversed(below)]
    return pl.DataFrame(edges, schema={"category_id": pl.String, "parent_ids": pl.String}, orient="row")


def write_hierarchy(categories: pl.DataFrame, path: Path) -> None:
    """Write the classes below their `parent_ids`, and all below a root.

    Raises
    ------
    FormatError
        a class is its own ancestor
    """
    ids = categories.select(pl.col("category_id").cast(pl.String), pl.col("parent_ids").cast(pl.List(pl.String)))
    below: dict[str, list[str]] = {}
    for child, parents in ids.iter_rows():
        for parent in parents:
            below.setdefault(parent, []).append(child)
    reached = set()

    def node(label: str, above: tuple[str, ...]) -> dict[str, Any]:
        if label in above:
            raise FormatError(
                f"categories: the hierarchy has a cycle: {label!r} is above itself", "remove one of these parent_ids"
            )
        reached.add(label)
        children = [node(child, (*above, label)) for child in below.get(label, [])]
        return {"LabelName": label} | ({"Subcategory": children} if children else {})

    highest = ids.filter(pl.col("parent_ids").list.len() == 0)["category_id"]
    tree = {"LabelName": _ROOT, "Subcategory": [node(label, ()) for label in highest]}
    for label in ids["category_id"]:
        if label not in reached:  # only classes in a cycle are never reached
            node(label, ())
    write_text(path, json.dumps(tree, indent=1) + "\n")

"""Small COCO data sets, crowded into the corners where evaluators disagree, and options of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise, product
from math import inf, nextafter
from typing import Any

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

import apframe as apf
from apframe.matching.matchers import MATCHERS
from tests.parity.reference import Slice

Row = dict[str, Any]

OF_LISTS = [
    name for name, each in MATCHERS.items() if not (each.at_score_cutoffs or each.wants == "copies")
]  # the policies that most protocols can have
SCORES = [0, 0.25, 0.5, 0.9, 1]
BORDERS = [1024.0, 9216.0, 1e10]
AREAS = [0, 400, 1023, 1025, 9215, 9217, 5e10, *BORDERS, *(nextafter(b, to) for b in BORDERS for to in (0, inf))]
# shifted by whole pixels, these have IoUs of k/20, areas on and next to the borders, and sides of zero; the fractions
# lose digits, so that the IoU of a box with itself may be a little less than 1
SIZES = [(20, 1), (20, 10), (33.3, 20.7), (32, 32), (1024, 1), (96, 96), (9216, 1), (0, 10), (0, 0), (1e5, 1e5)]
CORNERS = [0, 100 / 3, -7, 32760.1]
SHIFTS = [0, 0, 0, 0, 1, -1, 2, -2, 3, -4, 5, -8, 9]
SMALL_SHIFTS = [0, 0, 0, 0, 0, 0, 1, -1]
# the attributes of each table; those that two tables have are drawn for each of them
ATTRIBUTES: dict[str, dict[str, list[Any]]] = {
    "images": {"weather": ["rain", "sun", None], "hour": [6, 18, 23, None]},
    "categories": {"supercategory": ["animal", "thing", None]},
    "annotations": {"occlusion": [0.0, 0.3, 0.5, 1.0, None], "truncated": [True, False, None]},
    "objects": {"colour": ["red", "blue", None], "depth": [0.0, 5.0, 10.0, 20.0, 80.0, None]},
    "detections": {"source": ["camera", "lidar", None]},
}
THRESHOLDS = [1e-6, 0.1, 1 / 3, 0.5, 0.55, 0.6, 2 / 3, 0.75, 0.8, 0.9, 0.95, 1 - 1e-10, 1.0]


# for tests whose examples take long, or that are about little
half_as_often = settings(max_examples=max(settings().max_examples // 2, 1))


@dataclass(frozen=True)
class Case:
    """Ground truth and results as COCO has them in JSON."""

    truth: dict[str, list[Row]]
    results: list[Row]


@dataclass(frozen=True)
class Key:
    """A key as `by` takes it, its column, the table it is of ("objects": annotations and detections), its slice of a value."""

    given: Any
    column: str
    table: str
    label: Callable[[Any], Any] = lambda value: value

    def of(self, row: Row) -> Any:
        return self.label(value_of(row, self.column))

    def at(self, label: Any) -> Condition:
        return Condition(None, self.table, lambda row: self.of(row) == label)


@dataclass(frozen=True)
class Condition:
    """A condition as `where` takes it, the table it is on, and whether a row of that table meets it."""

    given: Any
    table: str
    holds: Callable[[Row], bool | None]


@st.composite
def cases(draw: st.DrawFn, *, strings: bool = False, ties: bool = True) -> Case:
    """Data sets of a few images and categories, with many overlapping boxes; `strings` for ids that are strings.

    Rows come in any order, ids have gaps, images and categories may have no rows at all. Rarely, a category has more
    than 100 detections in an image. With `ties=False` all scores are different, and nearly all IoUs.
    """
    image_ids = draw(_ids(strings, -9, at_least=1, at_most=4))
    category_ids = draw(_ids(strings, -9, at_least=1, at_most=4))
    all_cells = st.tuples(st.sampled_from(image_ids), st.sampled_from(category_ids))
    cells = st.sampled_from(draw(st.lists(all_cells, min_size=1, max_size=4)))
    boxes = _boxes(draw(st.lists(_places, min_size=1, max_size=2)))
    annotations = draw(_rows(cells, st.fixed_dictionaries({"bbox": boxes}, optional=_OWN_FIELDS), at_most=12))
    annotation_ids = draw(_ids(strings, 1, at_least=len(annotations), at_most=len(annotations)))
    scores = st.sampled_from(SCORES)
    results = draw(_rows(cells, st.fixed_dictionaries({"bbox": boxes, "score": scores}), at_most=20))
    has_many = draw(st.sampled_from([False] * 7 + [True]))
    if results and has_many:
        results = _many(results[0])[:55] + results + _many(results[0])[55:]
    if not ties:
        order = draw(st.permutations(range(len(results))))
        results = [row | {"score": (place + 1) / len(results)} for row, place in zip(results, order, strict=True)]
        annotations = [row | {"bbox": _wider(row["bbox"], k / 997)} for k, row in enumerate(annotations)]
    return Case(
        truth={
            "images": [{"id": image_id} for image_id in image_ids],
            "categories": [{"id": category_id, "name": f"name of {category_id}"} for category_id in category_ids],
            "annotations": [{"id": key} | row for key, row in zip(annotation_ids, annotations, strict=True)],
        },
        results=results,
    )


@st.composite
def cases_with_attributes(draw: st.DrawFn, *, ties: bool = True) -> Case:
    """The same with `ATTRIBUTES` on all rows; those of "objects" are on annotations and detections."""
    case = draw(cases(ties=ties))
    of_objects = ATTRIBUTES["objects"]
    images = _with_attributes(draw, case.truth["images"], ATTRIBUTES["images"])
    categories = _with_attributes(draw, case.truth["categories"], ATTRIBUTES["categories"])
    annotations = _with_attributes(draw, case.truth["annotations"], ATTRIBUTES["annotations"] | of_objects)
    results = _with_attributes(draw, case.results, ATTRIBUTES["detections"] | of_objects)
    return Case({"images": images, "categories": categories, "annotations": annotations}, results)


def _with_attributes(draw: st.DrawFn, rows: list[Row], attributes: dict[str, list[Any]]) -> list[Row]:
    """A few values for each attribute, one after the other and again from the first: there may be many rows."""
    drawn = {name: draw(st.lists(st.sampled_from(values), min_size=1, max_size=7)) for name, values in attributes.items()}
    return [row | {name: few[place % len(few)] for name, few in drawn.items()} for place, row in enumerate(rows)]


def keys() -> list[Key]:
    """Keys of every kind: plain, qualified, and in bins that leave some values out."""
    plain = [Key(name, name, table) for table, names in ATTRIBUTES.items() for name in names]
    plain += [Key("image_id", "image_id", "images"), Key("category_id", "category_id", "categories")]
    qualified = [Key(f"{table}.{name}", name, table) for table, name in [
        ("images", "weather"), ("images", "image_id"), ("categories", "name"), ("annotations", "colour"),
        ("annotations", "depth"), ("detections", "colour"), ("detections", "depth"),
    ]]  # fmt: skip
    return [
        *plain, *qualified, _bins("hour", "images", [6, 18, 24]), _bins("depth", "objects", [5, 10, 80]),
        _bins("depth", "objects", [0, 7.5]), _bins("occlusion", "annotations", [0, 0.3, 0.5]),
        _bins("area", "objects", [0, 1024, 9216]), _bins("score", "detections", [0.25, 0.5, 1]),
        _bins("annotations.area", "annotations", [1, 1024]), _bins("detections.area", "detections", [1, 1024, 1e10]),
    ]  # fmt: skip


def _bins(name: str, table: str, edges: list[float]) -> Key:
    """With labels as they are given by default."""
    spans = [(low, high, f"[{low:g}, {high:g})") for low, high in pairwise(edges)]
    *_, (last, end, _) = spans
    spans[-1] = (last, nextafter(end, inf), f"[{last:g}, {end:g}]")

    def label(value: float | None) -> str | None:
        return next((text for low, high, text in spans if value is not None and low <= value < high), None)

    return Key(apf.bins(name, edges), name.rpartition(".")[2], table, label)


def conditions() -> list[Condition]:
    """Conditions on every table, also on two columns of one, and such that are null for some rows."""
    of, value = pl.col, value_of
    return [
        Condition(of("weather") == "rain", "images", lambda row: row["weather"] == "rain"),
        Condition(of("images.hour") > 6, "images", lambda row: row["hour"] and row["hour"] > 6),
        Condition(of("weather").is_null() | (of("hour") == 6), "images", lambda row: not row["weather"] or row["hour"] == 6),
        Condition(of("supercategory") != "animal", "categories", lambda row: row["supercategory"] == "thing"),
        Condition(of("occlusion") < 0.5, "annotations", lambda row: row["occlusion"] in (0, 0.3)),
        Condition(~of("truncated"), "annotations", lambda row: row["truncated"] is False),
        Condition(
            of("truncated") & (of("occlusion") > 0), "annotations",
            lambda row: row["truncated"] and row["occlusion"] not in (None, 0),
        ),
        Condition(of("annotations.colour") == "red", "annotations", lambda row: row["colour"] == "red"),
        Condition(of("annotations.area") > 1024, "annotations", lambda row: value(row, "area") > 1024),
        Condition(of("colour") == "red", "objects", lambda row: row["colour"] == "red"),
        Condition(of("depth").is_between(5, 20), "objects", lambda row: row["depth"] in (5, 10, 20)),
        Condition(
            (of("colour") == "blue") | (of("depth") < 20), "objects",
            lambda row: row["colour"] == "blue" or row["depth"] in (0, 5, 10),
        ),
        Condition(of("area").is_between(1024, 9216), "objects", lambda row: 1024 <= value(row, "area") <= 9216),
        Condition(of("source") == "lidar", "detections", lambda row: row["source"] == "lidar"),
        Condition(of("detections.colour").is_null(), "detections", lambda row: row["colour"] is None),
        Condition(of("score") >= 0.5, "detections", lambda row: row["score"] >= 0.5),
        Condition(of("detections.area") > 400, "detections", lambda row: value(row, "area") > 400),
    ]  # fmt: skip


def slices_of(case: Case, chosen: Sequence[Key]) -> set[tuple[Any, ...]]:
    """The slices that `by` shows: values that occur together on the rows of a table, times those of the other tables.

    The keys of objects are on the annotations, and on the results if these carry all of them.
    """
    annotations, results = case.truth["annotations"], case.results
    on: dict[str, list[int]] = {}
    for place, key in enumerate(chosen):
        on.setdefault("objects" if key.table == "annotations" else key.table, []).append(place)
    parts = []
    for table, places in on.items():
        rows = {"detections": results, "objects": annotations}.get(table, case.truth.get(table, []))
        if table == "objects" and all(chosen[place].table == "objects" for place in places):
            rows = [*rows, *results]
        parts.append({tuple((place, chosen[place].of(row)) for place in places) for row in rows})
    return {tuple(dict(chain(*values))[place] for place in range(len(chosen))) for values in product(*parts)}


def slice_of(case: Case, parts: Iterable[Condition]) -> Slice:
    """The part of a case that meets all conditions, by the rules of the tables they are on."""
    on: dict[str, list[Callable[[Row], bool | None]]] = {}
    for part in parts:
        for table in ("annotations", "results") if part.table == "objects" else (part.table,):
            on.setdefault(table, []).append(part.holds)

    def flags(table: str, rows: list[Row]) -> list[bool] | None:
        return [all(holds(row) for holds in on[table]) for row in rows] if table in on else None

    def ids(table: str) -> list[Any] | None:
        inside = flags(table, case.truth[table])
        return None if inside is None else [row["id"] for row, yes in zip(case.truth[table], inside, strict=True) if yes]

    annotations, results = flags("annotations", case.truth["annotations"]), case.results
    return Slice(ids("images"), ids("categories"), annotations, flags("results", results), flags("detections", results))


def value_of(row: Row, column: str) -> Any:
    """A column of a canonical table in a row of COCO's."""
    if column == "area":
        return row["bbox"][2] * row["bbox"][3] if row.get("area") is None else row["area"]
    return row["id"] if column in ("image_id", "category_id") and column not in row else row[column]


def tables_of(case: Case) -> tuple[apf.Dataset, pl.DataFrame]:
    """As canonical tables, with the attributes also where no row has a value."""
    truth, detections = apf.read_coco(case.truth), apf.read_coco_results(case.results)
    images = _typed(truth.images, case.truth["images"], ATTRIBUTES["images"])
    categories = _typed(truth.categories, case.truth["categories"], ATTRIBUTES["categories"])
    of_annotations = ATTRIBUTES["annotations"] | ATTRIBUTES["objects"]
    annotations = _typed(truth.annotations, case.truth["annotations"], of_annotations)
    detections = _typed(detections, case.results, ATTRIBUTES["detections"] | ATTRIBUTES["objects"])
    return apf.Dataset(images, categories, annotations), detections


def _typed(frame: pl.DataFrame, rows: list[Row], attributes: dict[str, list[Any]]) -> pl.DataFrame:
    return frame.with_columns(
        pl.Series(name, [row[name] for row in rows], dtype=pl.Series(values).dtype) for name, values in attributes.items()
    )


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Thresholds, recall levels, area ranges and max_detections other than COCO's."""
    ranges = [*combinations(sorted(AREAS), 2), *((border, border) for border in BORDERS)]
    spans = st.sampled_from(ranges)
    thresholds = st.lists(st.sampled_from(THRESHOLDS) | st.floats(0.05, 0.49), min_size=1, max_size=4, unique=True)
    levels = st.lists(st.sampled_from([0, 0.5, 1, 1 / 3, 2 / 3]) | st.floats(0, 1), min_size=1, max_size=9, unique=True)
    grids = st.sampled_from([np.linspace(0, 1, 11).tolist(), [k / 12 for k in range(13)], [0.0], [1.0]])
    limits = st.lists(st.integers(1, 6) | st.just(105), min_size=1, max_size=3, unique=True)
    return {
        "iou_thresholds": sorted(draw(thresholds)),
        "recall_levels": sorted(draw(levels | grids)),
        "area_ranges": draw(st.dictionaries(st.sampled_from(["all", "small", "tiny", "our own"]), spans, max_size=3)),
        "max_detections": sorted(draw(limits)),
    }


_OWN_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "area": st.none() | st.sampled_from(AREAS),
    "iscrowd": st.sampled_from([0, 0, 0, 1]),
    "ignore": st.sampled_from([0, 1]),
}
_places = st.tuples(st.sampled_from(CORNERS), st.sampled_from(CORNERS), st.sampled_from(SIZES))


def _boxes(places: list[tuple[float, float, tuple[float, float]]]) -> st.SearchStrategy[list[float]]:
    """Boxes at a few places, shifted and resized by whole pixels, so that many overlap and equal IoUs occur."""

    def shifted(place: tuple[float, float, tuple[float, float]], *by: int) -> list[float]:
        x, y, (width, height) = place
        return [x + by[0], y + by[1], max(0, width + by[2]), max(0, height + by[3])]

    far, near = st.sampled_from(SHIFTS), st.sampled_from(SMALL_SHIFTS)
    return st.builds(shifted, st.sampled_from(places), far, near, far, near)


def _wider(box: list[float], by: float) -> list[float]:
    return [*box[:2], box[2] + by, box[3]]


@st.composite
def _rows(
    draw: st.DrawFn, cells: st.SearchStrategy[tuple[Any, Any]], fields: st.SearchStrategy[Row], at_most: int
) -> list[Row]:
    # hypothesis likes the first of several values best; no rows at all shall be rare
    n_rows = draw(st.sampled_from([*range(2, at_most + 1), 1, 0]))
    rows = draw(st.lists(st.tuples(cells, fields), min_size=n_rows, max_size=n_rows))
    return [{"image_id": image_id, "category_id": category_id} | own for (image_id, category_id), own in rows]


def _ids(strings: bool, least: int, at_least: int, at_most: int) -> st.SearchStrategy[list[Any]]:
    texts = st.text("019aZé-", min_size=1, max_size=4)
    numbers = st.integers(least, 40) | st.integers(least, 2**53)
    return st.lists(texts if strings else numbers, min_size=at_least, max_size=at_most, unique=True)


def _many(row: Row) -> list[Row]:
    """110 detections in the cell of this one, with scores and boxes of a few values."""
    x, *rest = row["bbox"]
    return [row | {"score": SCORES[k % 7 % 5], "bbox": [x + k % 3, *rest]} for k in range(110)]

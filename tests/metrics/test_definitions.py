"""The numbers of the specification, definition by definition."""

from __future__ import annotations

import math

import polars as pl
import pytest

from apframe.exceptions import ParameterError
from apframe.lists.expressions import average_precision, precision, precision_at_recall, recall
from apframe.lists.list_average_precision import Normalized
from apframe.metrics.definitions import DEFINITIONS, Coco101, Step, as_definition, list_definitions
from apframe.metrics.points import read_texts
from apframe.metrics.score_cutoffs import Waymo

LISTS = {"A": ([1, 0, 1, 0, 1], 3), "B": ([1, 1, 0, 1, 0, 1, 0, 0, 0, 1], 5), "C": ([1, 0, 1, 0, 1], 6)}
REFERENCE = {
    "step": (0.755556, 0.783333, 0.377778),
    "voc2007": (0.763636, 0.795455, 0.412121),
    "eleven_point": (0.763636, 0.803030, 0.412121),
    "eleven_point_trec9": (0.769697, 0.803030, 0.412121),
    "eleven_point_trec10": (0.806061, 0.803030, 0.448485),
    "interpolated": (0.755556, 0.783333, 0.377778),
    "coco101": (0.756436, 0.785479, 0.381518),
    "trapezoid": (0.711111, 0.762778, 0.355556),
    "davis_goadrich": (0.716083, 0.764174, 0.358041),
    "waymo": (0.762222, 0.795833, 0.381111),
    "normalized(1)": (0.577778, 0.565476, 0.241667),
    "normalized(5)": (0.827839, 0.783333, 0.363426),
    "normalized(10)": (0.900966, 0.864762, 0.413919),
    "set": (0.6, 0.5, 0.3),
    "nuscenes": (0.641568, 0.699691, 0.262971),
    "argoverse2": (0.756436, 0.780528, 0.381518),
    "crowdhuman": (0.377778, 0.562778, 0.188889),
}


def table(lists: dict[str, tuple[list[int], int]]) -> pl.DataFrame:
    rows = [(name, flag, -rank, n) for name, (flags, n) in lists.items() for rank, flag in enumerate(flags)]
    return pl.DataFrame(rows, schema=["list", "relevant", "score", "n_positives"], orient="row")


def ap(lists: dict[str, tuple[list[int], int]], **options: object) -> list[float]:
    expression = average_precision("relevant", "score", n_positives="n_positives", **options)  # type: ignore[arg-type]
    return table(lists).group_by("list", maintain_order=True).agg(expression)["average_precision"].to_list()


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_lists(name: str) -> None:
    assert ap(LISTS, definition=name) == pytest.approx(REFERENCE[name], abs=5e-7)


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ("n_positives", (0.555556, 0.4, 0.277778)),
        ("min", (0.555556, 0.666667, 0.555556)),
        ("hits", (0.833333, 1.0, 0.833333)),
    ],
)
def test_cut_at_three(over: str, expected: tuple[float, ...]) -> None:
    assert ap(LISTS, k=3, over=over) == pytest.approx(expected, abs=5e-7)


def test_every_definition_is_listed_and_taken_by_its_name() -> None:
    listed = list_definitions()
    assert listed.columns == ["name", "used_by", "precision", "weights", "formula", "source"]
    assert set(listed["name"]) == {name.split("(")[0] for name in REFERENCE} | {
        "r11",
        "r40",
        "wider_face",
        "ultralytics",
        "ultralytics_8_4_35",
    }  # test_kitti, test_wider_face, test_ultralytics
    assert listed.null_count().sum_horizontal().item() == 0
    for name in REFERENCE:
        assert str(as_definition(name)) == name


def test_every_row_of_the_texts_is_a_definition() -> None:
    for row in read_texts().iter_rows(named=True):
        definition = as_definition("normalized(5)" if row["name"] == "normalized" else row["name"])
        assert {column: getattr(definition, column) for column in row} == row


def test_a_definition_of_your_own_sets_its_texts() -> None:
    class Own(Step):
        name = "own"
        formula = "the same, by another name"

    assert Own().formula == "the same, by another name"
    with pytest.raises(AttributeError, match="Own has no attribute 'source'; set it in the class"):
        _ = Own().source


@pytest.mark.slow
def test_precision_and_recall_at_every_cut_off() -> None:
    def cut_offs(name: str) -> list[tuple[float, float]]:
        frame = table({name: LISTS[name]})
        both = [(precision("relevant", "score", k=k), recall("relevant", "score", n_positives="n_positives", k=k))
                for k in range(1, frame.height + 1)]  # fmt: skip
        return [frame.select(p=p, r=r).row(0) for p, r in both]

    assert cut_offs("A") == [(1, 1 / 3), (1 / 2, 1 / 3), (2 / 3, 2 / 3), (2 / 4, 2 / 3), (3 / 5, 1)]
    shown = [(round(p, 2), round(r, 2)) for p, r in cut_offs("B")]
    assert shown == [(1, 0.2), (1, 0.4), (0.67, 0.4), (0.75, 0.6), (0.6, 0.6), (0.67, 0.8), (0.57, 0.8), (0.5, 0.8),
                     (0.44, 0.8), (0.5, 1)]  # fmt: skip


def test_examples_of_the_literature() -> None:
    assert ap({"x": ([1, 0, 0, 1, 1], 3)}) == pytest.approx([0.7])
    assert ap({"x": ([1, 0, 1, 0, 0, 1, 0], 3)}, definition="eleven_point") == pytest.approx([8 / 11])


@pytest.mark.parametrize(
    ("name", "flags", "n_positives", "expected"),
    [
        # 3 of 10 do not reach numpy.arange's level .30000000000000004, and do reach 3 / 10
        ("voc2007", [1, 1, 1], 10, 3 / 11),
        ("eleven_point", [1, 1, 1], 10, 4 / 11),
        # R = 4: level .3 stands for 1.2 positives: the second for version 9 (int 2.1), the first for version 10 (round)
        ("eleven_point_trec9", [1], 4, 3 / 11),
        ("eleven_point_trec10", [1], 4, 4 / 11),
        # R = 5, level .5: 2.5 positives; version 10 rounds halves up
        ("eleven_point_trec9", [1, 1], 5, 5 / 11),
        ("eleven_point_trec10", [1, 1], 5, 5 / 11),
    ],
)
def test_levels_at_their_edges(name: str, flags: list[int], n_positives: int, expected: float) -> None:
    assert ap({"x": (flags, n_positives)}, definition=name) == [pytest.approx(expected, abs=1e-12)]


@pytest.mark.parametrize("definition", REFERENCE)
def test_perfect_and_hopeless_lists(definition: str) -> None:
    perfect, hopeless, unjudged = ap({"a": ([1, 1], 2), "b": ([0, 0], 2), "c": ([0, 0], 0)}, definition=definition)
    best = 0.5 if definition == "crowdhuman" else 1  # whose first row adds nothing
    assert (perfect, hopeless, unjudged) == (pytest.approx(best), 0, None)


def test_grouped_ties_of_davis_and_goadrich_are_integrated() -> None:
    """One block of 1 positive and 2 negatives after a hit: the integral of (1 + x) / (1 + 3x) over [0, 1], and 1 before."""
    frame = pl.DataFrame({"r": [1, 0, 1, 0], "s": [2, 1, 1, 1]})
    value = frame.select(average_precision("r", "s", n_positives=2, definition="davis_goadrich", ties="group")).item()
    assert value == pytest.approx((1 + 1 / 3 + 2 / 9 * math.log(4)) / 2)


def test_interpolated_precision_is_that_at_recall_or_beyond() -> None:
    frame = table({"B": LISTS["B"]})
    at = {
        level: precision_at_recall("relevant", "score", n_positives=5, recall=level).alias(str(level))
        for level in (0, 0.5, 0.9)
    }
    assert frame.select(at.values()).row(0) == (1, 0.75, 0.5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stepp", "did you mean step?"),
        ("xyz", "there are step, interpolated"),
        ("normalized", "needs its number of positives"),
        ("normalized(0)", "must be above 0"),
        ("waymo(2)", r"gap must be in \(0, 1\]"),
        (7, "a name or one of apframe's values"),
    ],
)
def test_unknown_definitions(name: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        as_definition(name)


def test_definitions_are_values() -> None:
    assert as_definition("coco101") == Coco101()
    assert {Normalized(5), Normalized(5.0), as_definition("normalized(5)")} == {Normalized(5)}
    assert str(Waymo(0.1)) == "waymo(0.1)"
    for value in (Waymo(0.1), Normalized(1e6), Normalized(1234567), Normalized(0.5)):
        assert as_definition(str(value)) == value


def test_definitions_of_ones_own_are_listed_without_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Step):
        name = "mine"

    monkeypatch.setitem(DEFINITIONS, "mine", Mine)
    assert list_definitions("mine").row(0) == ("mine", "", "", "", "", "")

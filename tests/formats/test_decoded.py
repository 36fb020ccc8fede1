"""A list that is decoded gives the same columns, and the same errors, as one that DuckDB reads."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.exceptions import ApframeError, FormatError
from apframe.formats.coco import scan
from apframe.formats.coco.decoded import decode_list
from tests.fuzz.commands import CASES
from tests.fuzz.mutations import mutate
from tests.fuzz.valid_sets import SHAPES, write_valid

numbers = st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.sampled_from([0, 1, 7, 0.5, 1e-7, 2**53 + 1]))
odd = st.one_of(
    st.none(), st.booleans(), numbers, st.sampled_from(["", "7", "a", "é", '"', "\\", "\ud800", "\0", "1e5", "nan"])
)
boxes = st.lists(st.floats(0, 9), min_size=4, max_size=4)
masks: list[Any] = [{"size": [4, 4], "counts": "04L0"}, {"size": [4.0, 4], "counts": "é"}, {"size": [4]}, [[1, 2.5]], None]
fields = {
    "image_id": st.one_of(st.integers(1, 9), odd), "category_id": st.one_of(st.integers(1, 9), odd), "area": odd,
    "score": st.one_of(st.floats(0, 1), odd), "bbox": st.one_of(boxes, st.lists(odd), odd), "note": odd,
    "segmentation": st.sampled_from(masks), "flag": st.booleans(),
    "keypoints": st.one_of(st.lists(st.floats(0, 9), min_size=3, max_size=6), st.none()),
}  # fmt: skip
rows = st.lists(st.fixed_dictionaries({}, optional=fields), min_size=1, max_size=5)


def outcome(read: Callable[[], pl.DataFrame]) -> Any:
    """What is read, or how it is refused, with the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            frame = read()
            masks = frame["mask"].to_list() if "mask" in frame.columns else []  # numbers may be written in other ways
            rows = [str(row) for row in frame.drop("mask", strict=False).rows()]  # as text, in which NaN equals NaN
            answer: Any = (
                frame.schema,
                rows,
                [json.loads(mask, parse_int=float) if isinstance(mask, str) else mask for mask in masks],
            )
        except ApframeError as error:
            answer = type(error), str(error)
    return answer, [str(each.message) for each in said]


def same_by_both(read: Callable[[], pl.DataFrame]) -> bool:
    """Whether the two readers give one outcome.

    DuckDB takes `inf`, which is no JSON, and whole numbers of thousands of digits; they are refused a step later.
    """
    outcomes = []
    for short in (0, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan, "SHORT", short)
            outcomes.append(outcome(read))
    if outcomes[0] != outcomes[1]:
        print(*outcomes, sep="\n")
    (by_database, _), (decoded, _) = outcomes
    is_refused_later = decoded[0] is FormatError and "is not a finite number" in str(by_database[1])
    return bool(outcomes[0] == outcomes[1] or is_refused_later)


@given(rows=rows, kept=st.booleans(), spaces=st.sampled_from(["", " ", "\n\t"]), cut=st.integers(0, 40))
def test_results_are_the_same(
    rows: list[dict[str, Any]], kept: bool, spaces: str, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = json.dumps(rows, ensure_ascii=kept, separators=("," + spaces, ":" + spaces)).encode(errors="surrogatepass")
    path = tmp_path_factory.mktemp("results") / "results.json"
    path.write_bytes(text[: len(text) - cut] if cut < 9 else text)
    assert same_by_both(lambda: apf.read_coco_results(path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coco", "lvis"])
def test_mutated_files_are_the_same(name: str, tmp_path: Path) -> None:
    for number in CASES:
        folder = tmp_path / str(number)
        folder.mkdir()
        truth, results = write_valid(name, SHAPES[name][number % len(SHAPES[name])], folder)
        description = mutate(folder, Random(f"{name} {number}"))
        assert same_by_both(lambda at=truth: apf.read_coco(at).annotations), description  # type: ignore[misc]
        assert same_by_both(lambda at=results: apf.read_coco_results(at)), description  # type: ignore[misc]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_are_those_of_python(values: list[float]) -> None:
    text = json.dumps([{"x": value} for value in values])
    frame = decode_list(text.encode(), {"x": "number"}, ["x"])
    assert frame is not None
    assert frame["x"].to_list() == [row["x"] for row in json.loads(text)]


def test_names_that_no_type_can_have() -> None:
    names = ["class", "a b", "_x", "é", "f", "type", ""]
    text = json.dumps([{name: number for number, name in enumerate(names)}])
    frame = decode_list(text.encode(), dict.fromkeys(names, "id"), names)
    assert frame is not None
    assert frame.rows() == [tuple(range(len(names)))]
    assert decode_list(b'[{"a\\"": 1}]', {'a"': "id"}, ['a"']) is None

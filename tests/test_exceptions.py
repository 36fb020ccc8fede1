"""Errors: their attributes, what the command makes of them, and what they say of packages that cannot be imported."""

from __future__ import annotations

import ast
import pickle
import re
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe import exceptions
from apframe.cli.messages import as_flag
from apframe.exceptions import ColumnError, FormatError, OutputError, ParameterError, RowError, import_optional
from apframe.option_values import by_name, one_of, whole_number
from apframe.store import sql
from apframe.threads import pool
from apframe.wording import option_name, option_style, same_name

ROOT = Path(__file__).parents[1]


def test_messages_are_made_of_attributes() -> None:
    errors = [
        ColumnError("no column x", "there are a, b", table="annotations"),
        ColumnError("ids expected", table="images", column="image_id"),
        FormatError("no good in line 3", "correct it", path=Path("a.txt"), rows=[3]),
        ParameterError("there are no slices", option="by"),
        OutputError("the disk is full"),
        RowError("images", "width is negative", "image_id", [7, 8], "correct it"),
    ]
    assert [str(error) for error in errors] == [
        "annotations: no column x; there are a, b",
        "images.image_id: ids expected",
        "a.txt: no good in line 3; correct it",
        "by: there are no slices",
        "the disk is full",
        "images: width is negative for image_id 7, 8; correct it",
    ]
    assert [error.rows for error in errors] == [[], [], [3], [], [], [7, 8]]


@pytest.mark.parametrize("error", [
    ColumnError("no column x", "there are a, b", table="annotations", column="y"),
    OutputError("the disk is full", "make room", path="a.txt"),
    RowError("images", "width is negative", "image_id", [7, 8], "correct it"),
])  # fmt: skip
def test_errors_travel_between_processes_with_their_attributes(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_errors_of_real_data_say_where() -> None:
    with pytest.raises(ColumnError) as caught:
        apf.Dataset(images={"image_id": [1.5 > 1]}, categories={"category_id": [1]}, annotations={"id": [1]})
    assert (caught.value.table, caught.value.column) == ("images", "image_id")
    with pytest.raises(ParameterError) as wrong:
        apf.COCO.with_options(iou_thresholds=[50])
    assert (wrong.value.option, wrong.value.problem) == ("iou_thresholds", "must lie in (0, 1] and increase, got 50.0")


def test_the_command_spells_options_as_flags() -> None:
    with option_style(as_flag):
        shown = [
            option_name("iou_type"),
            option_name("split", "my set"),
            option_name("format", ""),
            option_name("unknown_images", "drop"),
        ]
        with pytest.raises(ParameterError, match=r"^--iou-thresholds must lie"):
            apf.COCO.with_options(iou_thresholds=[50])
    assert shown == ["--iou-type", "--split 'my set'", "--gt-format", "--drop-unknown-images"]
    assert option_name("iou_type") == "iou_type"


@pytest.mark.slow
def test_other_threads_name_options_as_they_do() -> None:
    """A command in one thread changes no message of another; the threads that apframe starts for it name flags as well."""
    inside, done = threading.Event(), threading.Event()

    def run_command() -> list[str]:
        with option_style(as_flag):
            inside.set()
            done.wait(60)
            with pool() as others:
                of_pool = others.submit(option_name, "iou_type").result()
            of_query = sql.query(lambda: {option_name("iou_type"): pl.LazyFrame({"a": [1]})}, "SHOW TABLES").item()
            return [of_pool, of_query]

    with ThreadPoolExecutor(1) as other:
        running = other.submit(run_command)
        inside.wait(60)
        assert option_name("iou_type") == "iou_type"
        done.set()
        assert running.result() == ["--iou-type"] * 2
    with option_style(as_flag):
        assert sql.query(lambda: {option_name("iou_type"): pl.LazyFrame({"a": [1]})}, "SHOW TABLES").item() == "--iou-type"
        named = sql.deferred(lambda: pl.DataFrame({"a": [option_name("iou_type")]}), {"a": pl.String})
        assert sql.query({"t": named}, "FROM t").item() == "--iou-type"


def test_an_option_of_a_few_values() -> None:
    assert one_of("version", 10, [9, 10]) == 10
    with pytest.raises(ParameterError, match=r"^version is 9 or 10, not '10'$"):
        one_of("version", "10", [9, 10])
    with pytest.raises(ParameterError, match=r'^kind is "a", "b" or "other", not .others.; did you mean other\?$') as caught:
        one_of("kind", "others", ["a", "b", "other"])
    assert (caught.value.option, caught.value.remedy) == ("kind", "did you mean other?")


@pytest.mark.parametrize("name", ["open_images", "Open-Images", "OPEN IMAGES", "openimages"])
def test_names_are_found_in_any_case_and_however_they_are_joined(name: str) -> None:
    assert by_name("format", name, {"coco": 1, "open_images": 2}) == 2


def test_every_kind_of_name_is_looked_up_alike() -> None:
    assert str(apf.protocols.as_definition("COCO-101")) == str(apf.protocols.as_definition("coco101"))
    assert str(apf.lists.as_measure("NDCG@10")) == "nDCG@10"
    assert apf.COCO.with_options(matching="Best-Overlap").matcher.name == "best_overlap"
    assert apf.COCO.variant("SEGM").iou_type == "segm"
    assert same_name("coco", ["lvis"]) is None


@pytest.mark.parametrize("number", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_numpy_are_numbers_of_python(number: Any) -> None:
    assert type(whole_number("n", number)) is int


@pytest.mark.parametrize("value", [True, np.bool_(True), 2.0, np.float64(2.0), "2", None, 0, np.int8(-1)])
def test_other_values_are_no_whole_numbers(value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        whole_number("n", value)
    assert str(caught.value) == f"n is a whole number of at least 1, not {value!r}"


def test_the_bases_of_errors_and_warnings_are_public() -> None:
    public = {name for name in dir(apf) if getattr(apf, name) is getattr(exceptions, name, None)}
    assert public == {"ApframeError", "ApframeWarning", "InputError"}
    with pytest.raises(apf.InputError):
        apf.evaluate({"images": []}, [])


def test_a_package_that_is_missing_is_to_be_installed() -> None:
    with pytest.raises(ParameterError, match=r"^rotated boxes need nowhere: pip install nowhere$"):
        import_optional("nowhere.at_all", "rotated boxes need nowhere", "nowhere")
    of_clone = r'pip install nowhere, or the extra "rotated" in a clone of apframe: pip install -e "\.\[rotated\]"$'
    with pytest.raises(ParameterError, match=of_clone):
        import_optional("nowhere.at_all", "rotated boxes need nowhere", "nowhere", "rotated")


@pytest.mark.slow
def test_the_extras_bring_the_packages_that_errors_name() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = [text for path in (ROOT / "apframe").rglob("*.py") if "import_optional(" in (text := path.read_text())]
    calls = [node for module in modules for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Call)]
    named = [call.args[2:] for call in calls if getattr(call.func, "id", "") == "import_optional" and len(call.args) == 4]
    pairs = {(ast.literal_eval(package), ast.literal_eval(extra)) for package, extra in named}
    assert len(pairs) > 8
    assert [pair for pair in pairs if pair[0] not in [re.split("[<>=]", each)[0] for each in extras[pair[1]]]] == []


@pytest.mark.slow
def test_nothing_is_installed_from_an_index_that_lacks_it() -> None:
    """Neither errors nor pages say `pip install "apframe[charts]"`: apframe is on no index."""
    texts = [path for folder in ("apframe", "docs") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md")]
    texts += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "notebooks").glob("*.ipynb")]
    paths = [path for path in texts if re.search(r"install\s+\\?[\"']?apframe\b|apframe\[", path.read_text())]
    assert paths == []


@pytest.mark.parametrize("failure", ["ImportError('for NumPy 1')", "ModuleNotFoundError('for NumPy 1', name='numpy.core')"])
def test_a_package_that_is_broken_is_not_reported_as_missing(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_shapes.py").write_text(f"raise {failure}\n")
    monkeypatch.syspath_prepend(tmp_path)
    message = r"^shapes need it, which is installed but cannot be imported \(for NumPy 1\); upgrade it: pip install"
    with pytest.raises(ParameterError, match=message):
        import_optional("broken_shapes", "shapes need it", "broken-shapes")

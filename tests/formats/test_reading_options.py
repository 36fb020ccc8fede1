"""The options of reading, each of which is declared once: signatures, docstrings, readers and the command follow from it."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.formats.reading_options import ReadingOptions
from apframe.keywords import declared_keywords

if TYPE_CHECKING:
    from apframe.formats.input_types import DetectionsLike, TruthLike

ROOT = Path(__file__).parents[2]
TRUTH = {
    "images": [{"id": 1}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40]}],
}
ROW = {"image_id": 1, "category_id": 1, "x": 1, "y": 2, "width": 30, "height": 40, "score": 0.5}
FUNCTIONS = (apf.evaluate, apf.check, apf.stats, apf.write_shards)

# a new option: the lines that are added to the class that declares those of the readers of formats
DECLARED = """
    turned: Annotated[
        int | None,
        Keyword("turns every image by so many degrees.", "turn every image by these degrees", None, "90"),
    ]
"""
ADDED = f"""
import sys, types
from inspect import signature
from pathlib import Path
import apframe.formats

path = Path(apframe.formats.__file__).with_name("reading_options.py")
before, mark, after = path.read_text().partition('in `Format.options`."\"\"\\n')
assert mark
module = types.ModuleType("apframe.formats.reading_options")
sys.modules[module.__name__] = module
exec(compile(before + mark + {DECLARED!r} + after, str(path), "exec"), module.__dict__)

import polars as pl
import apframe as apf
from apframe.cli.command import app
from apframe.cli.messages import as_flag
from apframe.evaluation.options import choose
from apframe.exceptions import ParameterError
from apframe.formats.catalogue import FORMATS, ROWS
from apframe.formats.format import FormatRow, ReadOnly
from apframe.formats.looks import Look, looks

class Turning(ReadOnly):
    name, title, options = "turning", "Turning", ("turned",)
    dataset_is, results_are = "text that begins with turn", "none"
    dataset_looks, results_looks = looks(Look("file", line="turn")), ()

    def read_tables(self, path, *, turned=None, **options):
        images = pl.DataFrame({{"image_id": [turned]}}, schema={{"image_id": pl.Int64}})
        return {{"images": images, "categories": pl.DataFrame({{"category_id": [1]}}), "annotations": pl.DataFrame()}}

    def read_results(self, path, dataset):
        raise NotImplementedError

FORMATS["turning"] = Turning()
ROWS["turning"] = FormatRow("", False, Turning.dataset_looks, Turning.results_looks)
for function in (apf.evaluate, apf.check, apf.stats, apf.write_shards, apf.read_dataset, apf.Evaluator):
    assert signature(function).parameters["turned"].default is None, function
for function in (apf.evaluate, apf.check, apf.stats, apf.write_shards, apf.read_dataset):
    assert "turned\\n    turns every image by so many degrees." in function.__doc__, function
assert choose("coco", turned=90).reading.turned == 90
assert as_flag("turned", "90") == "--turned 90"
assert apf.read_dataset(sys.argv[1], turned=90).images["image_id"].to_list() == [90]
assert apf.evaluate(sys.argv[1], [], turned=90).dataset.images["image_id"].to_list() == [90]
assert apf.Evaluator(sys.argv[1], turned=90).compute().dataset.images["image_id"].to_list() == [90]
assert apf.check(sys.argv[1], turned=90).filter(severity="error").is_empty()
try:
    apf.read_dataset(sys.argv[2], turned=90)
except ParameterError as error:
    assert str(error) == "COCO JSON does not support turned", error
for verb in ("eval", "check", "stats", "shard"):
    command = app.get_command(None, verb)
    assert "--turned" in [name for each in command.params for name in each.opts], verb
app.main(["eval", "--help"])
"""


@pytest.mark.slow
def test_a_new_option_is_declared_in_one_file(tmp_path: Path) -> None:
    """Where it is declared, it has a place in all signatures, docstrings, commands and readers."""
    (tmp_path / "a.txt").write_text("turn\n")
    (tmp_path / "a.json").write_text('{"images": [], "categories": [], "annotations": []}')
    command = [sys.executable, "-c", ADDED, str(tmp_path / "a.txt"), str(tmp_path / "a.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    reading = done.stdout.split("\nReading:\n")[1].split("\n\n")[0]
    assert "--turned 90" in reading and "turn every image by these degrees" in reading


def test_each_option_says_what_it_is() -> None:
    for name, (_, keyword) in declared_keywords(ReadingOptions).items():
        assert keyword.text.endswith(".") and keyword.help and not keyword.help.endswith("."), name
        for function in FUNCTIONS:
            assert signature(function).parameters[name].default == keyword.default
            assert f"\n{name}\n    {keyword.text[:30]}" in str(function.__doc__)


@pytest.mark.parametrize("function", [apf.read_dataset, apf.read_results])
def test_unknown_options_are_refused(function: object) -> None:
    with pytest.raises(ParameterError, match=r"^no option 'relativ'; did you mean relative\?$"):
        function([], relativ=True)  # type: ignore[operator]


@pytest.mark.slow
def test_inputs_have_types(tmp_path: Path) -> None:
    """What mypy says of this test counts, too."""
    path = tmp_path / "truth.json"
    apf.write_dataset(apf.read_dataset(TRUTH), path, "coco")
    truths: list[TruthLike] = [TRUTH, path, str(path), apf.read_dataset(TRUTH)]
    frame = pl.DataFrame([ROW])
    array = np.array([[1, 1, 2, 30, 40, 0.5, 1]])
    results: list[DetectionsLike] = [frame, frame.lazy(), frame.to_dict(as_series=False), [ROW], frame.to_arrow(), array]
    for truth in truths:
        for detections in results:
            assert apf.evaluate(truth, detections)["AP"] == pytest.approx(1)

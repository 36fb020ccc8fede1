"""CONTRIBUTING.md, "How to add a metric": its file and its line are all that a metric takes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
import apframe.metrics
from apframe.metrics.metric import KINDS
from tests.docs.map import ROOT

SECTION = (ROOT / "CONTRIBUTING.md").read_text().split("## How to add a metric\n")[1].split("\n## ")[0]
FILE, LINE, USE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apf.Evaluation]:
    """What the last block makes, with the file in a folder that stands for `apframe/metrics`."""
    folder, name = re.findall(r"The file is `(.*)/(\w+)\.py`", SECTION)[0]
    assert Path(apframe.__file__).parent.parent / folder == Path(apframe.metrics.__file__).parent
    (tmp_path / f"{name}.py").write_text(FILE)
    monkeypatch.setattr(apframe.metrics, "__path__", [*apframe.metrics.__path__, str(tmp_path)])
    ((kind, home),) = ast.literal_eval(f"{{{LINE}}}").items()
    monkeypatch.setitem(KINDS, kind, home)
    monkeypatch.chdir(ROOT)
    namespace: dict[str, Any] = {}
    exec(USE, namespace)
    yield namespace["evaluation"]
    del sys.modules[f"apframe.metrics.{name}"], vars(apframe.metrics)[name]


@pytest.mark.slow
def test_the_file_and_the_line_are_enough(evaluation: apf.Evaluation, tmp_path: Path) -> None:
    assert len(LINE.splitlines()) == 1
    counts = evaluation.matches(0.5, "all").group_by("category_id").agg(pl.col("outcome").cast(pl.String).value_counts())
    scores = []
    for _, outcomes in counts.rows():
        n = {each["outcome"]: each["count"] for each in outcomes}
        tp, fp, fn = (n.get(outcome, 0) for outcome in ("tp", "fp", "fn"))
        scores.append(2 * tp / (2 * tp + fp + fn))
    values = dict(evaluation.summary.rows())
    assert values["F150"] == pytest.approx(sum(scores) / len(scores), abs=1e-12)
    assert [*values][:5] == ["F1", "F150", "F1s", "F1m", "F1l"]
    usual = apf.evaluate("data/street/instances.json", "data/street/model_a.json").summary
    assert dict(usual.rows()).items() <= values.items()
    (sure,) = evaluation.intervals(metrics="F1").iter_rows(named=True)
    assert (sure["estimate"], sure["method"]) == (values["F1"], "influence")
    drawn = evaluation.intervals(metrics="F1", method="bootstrap", n_resamples=200)
    assert sure["se"] == pytest.approx(drawn["se"].item(), rel=0.2)
    assert evaluation.sql("SELECT value FROM summary WHERE metric = 'F1'").item() == values["F1"]
    evaluation.write_parquet(tmp_path / "set")
    again = apf.read_evaluation(tmp_path / "set")
    assert again.protocol == evaluation.protocol and dict(again.summary.rows()) == values
    assert_frame_equal(again.by("weather"), evaluation.by("weather"), check_exact=True)
    assert again.by("weather")["F1"].null_count() == 0

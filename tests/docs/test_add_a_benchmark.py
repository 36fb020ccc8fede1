"""CONTRIBUTING.md, "How to add a benchmark": its folder is all that a benchmark takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
import apframe.benchmarks.aerial
from apframe.protocols.protocol_json import RULES
from apframe.protocols.published import PUBLISHED
from tests.docs.map import ROOT
from tests.static_table import tables

SECTION = (ROOT / "CONTRIBUTING.md").read_text().split("## How to add a benchmark\n")[1].split("\n## ")[0]
(CODE,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, object]]]:
    """The rows that the generator adds to the static table, with the folder in a place that stands for `benchmarks/aerial`."""
    family, name = re.findall(r"`apframe/benchmarks/(\w+)/(\w+)/protocol\.py`", SECTION)[0]
    assert apframe.benchmarks.aerial.__name__ == f"apframe.benchmarks.{family}"
    before = tables.__wrapped__()
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text('"""Birds."""\n')
    (tmp_path / name / "protocol.py").write_text(CODE)
    monkeypatch.setattr(apframe.benchmarks.aerial, "__path__", [*apframe.benchmarks.aerial.__path__, str(tmp_path)])
    after = tables.__wrapped__()
    yield {kind: {key: row for key, row in after[kind].items() if before[kind].get(key) != row} for kind in after}
    for module in [module for module in sys.modules if module.startswith(f"apframe.benchmarks.{family}.{name}")]:
        del sys.modules[module]
    delattr(apframe.benchmarks.aerial, name)


@pytest.mark.slow
def test_the_folder_is_enough(rows: dict[str, dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "apframe.benchmarks.aerial.birds.protocol"
    assert rows.pop("NAMES")["apframe.protocols"][place] == "BIRDS"  # type: ignore[index]
    assert {kind: added for kind, added in rows.items() if added} == {
        "PROTOCOLS": {"BIRDS": (f"{place}:BIRDS", ("bbox",))},
        "RULES": {"IgnoreSitting": f"{place}:IgnoreSitting"},
    }
    monkeypatch.setitem(PUBLISHED, "BIRDS", f"{place}:BIRDS")
    monkeypatch.setitem(RULES, "IgnoreSitting", f"{place}:IgnoreSitting")
    box = {"category_id": [1, 1], "x": [0.0, 50.0], "y": 0.0, "width": 9.0, "height": 9.0}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame({"image_id": 1, **box, "flies": [True, False]}))
    detections = pl.DataFrame({"image_id": 1, **box, "score": [0.5, 0.9]})
    evaluation = apf.evaluate(truth, detections, protocol="birds")
    assert evaluation["AP"] == 1
    assert "ignored     annotations that sit, and what is matched to them" in str(evaluation.protocol)
    evaluation.write_parquet(tmp_path / "set")
    assert apf.read_evaluation(tmp_path / "set")["AP"] == 1

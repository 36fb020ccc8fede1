"""`apframe eval --intervals`, and that nothing else pays for them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.comparison.influences import read_influences
from tests.cli.test_rank import Done, apframe

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
GT, A = (str(STREET / f"{name}.json") for name in ("instances", "model_a"))


@pytest.fixture(scope="module")
def street() -> apf.Evaluation:
    return apf.evaluate(GT, A)


def evaluate(*arguments: str) -> Done:
    return apframe("eval", GT, A, "--intervals", *arguments)


def test_intervals_stand_beside_the_numbers(street: apf.Evaluation) -> None:
    done = evaluate()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    plain = str(street).splitlines()
    assert [line.rpartition(" [")[0] for line in lines[:12]] == plain
    low, high = street.intervals(metrics="AP").select("low", "high").row(0)
    assert lines[0] == f"{plain[0]} [{low:.3f}, {high:.3f}]"
    assert lines[3] == f"{plain[3]} [–]"
    assert lines[12:] == [
        " [from, to]: 95 % interval",
        " No interval for APs, APl, ARs, ARl: more than a tenth of the categories have annotations in fewer than 10 images.",
    ]


def test_programs_get_the_table_of_the_library(street: apf.Evaluation) -> None:
    table = street.intervals()
    assert evaluate("--csv").stdout == table.write_csv()
    assert json.loads(evaluate("--json").stdout) == json.loads(table.write_json())
    assert evaluate("--by", "weather,camera", "--csv").stdout == street.intervals(by=["weather", "camera"]).write_csv()


def test_people_and_papers_get_the_most_telling_columns() -> None:
    head, _, *rows = evaluate("--markdown").stdout.splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["metric", "estimate", "low", "high", "se", "n_units"]
    assert len(rows) == 12
    *table, reason = evaluate("--by", "weather").stdout.splitlines()
    assert [line.split()[1:4:2] for line in table[3:-1]] == [[name, "AP"] for name in ("clear", "fog", "rain", "snow")]
    assert reason.startswith("2 rows without an interval: more than a tenth of the categories")


def test_shards_have_them_too(street: apf.Evaluation, tmp_path: Path) -> None:
    assert apframe("shard", GT, A, "--into", str(tmp_path / "shards"), "--n", "3").returncode == 0
    done = apframe("eval", str(tmp_path / "shards"), "--shards", "--intervals", "--csv")
    found = pl.read_csv(io.StringIO(done.stdout))
    assert found["se"].to_list() == pytest.approx(street.intervals()["se"].to_list())


def test_numbers_alone_cost_no_standard_error(tmp_path: Path) -> None:
    """Only `intervals` and `compare` read influences."""
    with patch("apframe.evaluation.comparison.study.read_influences", side_effect=read_influences) as read:
        ev = apf.evaluate(GT, A)
        evaluator = apf.Evaluator(GT)
        evaluator.update(A)
        for each in (ev, evaluator.compute()):
            assert each.summary.columns == ["metric", "value"]
            with redirect_stdout(io.StringIO()):
                print(each, each.stats, each["AP"], repr(each), each._repr_html_())
        ev.by("weather")
        ev.write_parquet(tmp_path / "stored")
        apf.read_evaluation(tmp_path / "stored").sql("SELECT * FROM summary")
        assert apframe("eval", GT, A, "--by", "weather").returncode == 0
        assert read.call_count == 0
        ev.intervals(metrics="AP")
        assert read.call_count == 1

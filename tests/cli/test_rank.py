"""`apframe rank`: what it prints where, and how it ends."""

from __future__ import annotations

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

import apframe as apf
from apframe.cli import command as cli

SEARCH = Path(__file__).resolve().parents[2] / "data" / "search"
QRELS, QUERIES = str(SEARCH / "qrels.txt"), str(SEARCH / "queries.csv")
LEXICAL, DENSE = str(SEARCH / "run_lexical.txt"), str(SEARCH / "run_dense.txt")
TREC = Path(__file__).resolve().parents[3] / "shared" / "data" / "trec"


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def rank(*arguments: str) -> Done:
    return apframe("rank", *arguments)


def apframe(*arguments: str) -> Done:
    """A command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch("warnings.showwarning"), pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())


@pytest.mark.slow
def test_prints_a_row_for_each_measure_and_a_column_for_each_run() -> None:
    done = rank(QRELS, LEXICAL, DENSE, "-m", "ap P@5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{apf.evaluate_run(QRELS, [LEXICAL, DENSE], 'AP P@5')}\n"
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["measure", "run_lexical", "run_dense"]
    assert [row.split()[0] for row in rows[:2]] == ["AP", "P@5"]
    notes = "1 missing from the run (left out), 1 without relevant documents (counted as 0)"
    assert rows[3] == f"run_dense: 59 of 60 judged queries evaluated: {notes}"


@pytest.mark.slow
def test_measures_one_by_one_as_trec_eval_takes_them() -> None:
    done = rank(QRELS, DENSE, "-m", "map", "-m", "P_5 ndcg_cut_10", "--json")
    assert json.loads(done.stdout) == json.loads(rank(QRELS, DENSE, "-m", "map P_5 ndcg_cut_10", "--json").stdout)
    assert [row["measure"] for row in json.loads(done.stdout)] == ["AP", "P@5", "nDCG@10"]


def test_usual_measures_of_one_run() -> None:
    lines = rank(QRELS, DENSE).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["AP", "nDCG@10", "P@10", "R@100", "RR"]


@pytest.mark.slow
def test_per_query_as_csv_and_summary_as_json() -> None:
    ev = apf.evaluate_run(QRELS, DENSE, "AP P@5")
    rows = list(csv.DictReader(io.StringIO(rank(QRELS, DENSE, "-m", "AP P@5", "-q", "--csv").stdout)))
    assert len(rows) == 59
    # sums of groups are taken in parallel, which may change their last digit
    expected = dict(ev.per_query.filter(pl.col("measure") == "AP").select("query_id", "value").rows())
    assert {row["query_id"]: float(row["AP"]) for row in rows} == pytest.approx(expected, abs=1e-12)
    for row, summary in zip(
        json.loads(rank(QRELS, DENSE, "-m", "AP P@5", "--json").stdout), ev.summary.to_dicts(), strict=True
    ):
        assert row == summary | {"value": pytest.approx(summary["value"], abs=1e-12)}


@pytest.mark.slow
def test_compare_and_by() -> None:
    compared = json.loads(rank(QRELS, LEXICAL, DENSE, "-m", "AP", "--compare", "--json").stdout)
    assert [(row["run_a"], row["run_b"], row["n_units"]) for row in compared] == [("run_lexical", "run_dense", 59)]
    grouped = json.loads(rank(QRELS, DENSE, "-m", "AP P@5", "--queries", QUERIES, "--by", "topic", "--json").stdout)
    assert [row["topic"] for row in grouped] == ["cooking", "electronics", "gardening", "medicine", "travel"]
    assert sum(row["n_queries"] for row in grouped) == 59
    assert set(grouped[0]) == {"topic", "n_queries", "AP", "P@5"}


@pytest.mark.slow
def test_compare_by_topic() -> None:
    options = ["-m", "AP", "--compare", "--by", "topic", "--queries", QUERIES]
    rows = json.loads(rank(QRELS, LEXICAL, DENSE, *options, "--json").stdout)
    assert [row["topic"] for row in rows] == ["cooking", "electronics", "gardening", "medicine", "travel"]
    assert sum(row["n_units"] for row in rows) == 59
    assert {"estimate_a", "p_t_holm", "q"} <= set(rows[0])
    head = rank(QRELS, LEXICAL, DENSE, *options, "--markdown").stdout.splitlines()[0]
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "topic", "measure", "run_a", "run_b", "n_queries", "difference", "low", "high", "p_corrected",
    ]  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("options", "lowest", "name"),
    [
        ([], "< 0.0001", "paired t test"),
        (["--test", "randomisation"], "≤ 0.0003", "randomisation test"),
        (["--test", "bootstrap"], "≤ 0.0006", "bootstrap"),
    ],
)
def test_the_test_is_named_and_gives_p(options: list[str], lowest: str, name: str) -> None:
    """No draw of 10,000 is as good as the run, so that p is (1 + 0) / 10,001 for each of three pairs, or twice that."""
    arguments = [QRELS, LEXICAL, DENSE, str(SEARCH / "run_hybrid.txt"), "-m", "AP", "--compare", *options]
    *table, last = rank(*arguments).stdout.splitlines()
    assert last == f"p_corrected: {name}, corrected for 3 comparisons (Holm)"
    first, _, third = (line.strip("│").split("┆")[-1].strip() for line in table[3:6])
    rows = json.loads(rank(*arguments, "--json").stdout)
    assert (first, third) == (f"{rows[0]['p_holm']:.4f}", lowest)
    runs = {name: str(SEARCH / f"run_{name}.txt") for name in ("lexical", "dense", "hybrid")}
    test = options[1] if options else "t"
    assert [row["p"] for row in rows] == pytest.approx(apf.evaluate_run(QRELS, runs, "AP").compare(test=test)["p"].to_list())
    pair = rank(QRELS, LEXICAL, DENSE, "-m", "AP", "--compare", *options).stdout.splitlines()
    assert pair[-1] == f"p_corrected: {name}"


@pytest.mark.slow
def test_levels_and_limits_as_trec_eval_takes_them() -> None:
    done = rank(QRELS, DENSE, "-m", "map P.5,10 ndcg_cut.10", "-l", "2", "-M", "20", "--csv")
    ev = apf.evaluate_run(QRELS, DENSE, "AP(rel=2) P(rel=2)@5 P(rel=2)@10 nDCG@10", max_documents=20)
    assert done.stdout == ev.summary.write_csv()
    assert rank(QRELS, DENSE, "-M", "20").stdout.splitlines()[-1] == "the first 20 documents of each query"


@pytest.mark.slow
def test_markdown_and_latex() -> None:
    ev = apf.evaluate_run(QRELS, [LEXICAL, DENSE], "AP NumQ")
    assert rank(QRELS, LEXICAL, DENSE, "-m", "AP NumQ", "--markdown").stdout == f"{ev.to_markdown()}\n"
    assert rank(QRELS, LEXICAL, DENSE, "-m", "AP NumQ", "--latex").stdout == f"{ev.to_latex()}\n"
    table = apf.evaluate_run(QRELS, DENSE, "AP", queries=QUERIES).by("topic").select("topic", "n_queries", AP="value")
    done = rank(QRELS, DENSE, "-m", "AP", "--queries", QUERIES, "--by", "topic", "--markdown")
    assert done.stdout == f"{apf.to_markdown(table, 4)}\n"


@pytest.mark.slow
def test_policies_reach_the_library() -> None:
    options = ["--missing", "zero", "--no-relevant", "skip", "--unjudged", "remove", "--trec-eval", "9"]
    printed = json.loads(rank(QRELS, DENSE, "-m", "AP AP11", "--json", *options).stdout)
    ev = apf.evaluate_run(
        QRELS, DENSE, "AP AP11", missing="zero", no_relevant="skip", unjudged="remove", trec_eval=9
    )  # fmt: skip
    assert printed == ev.summary.to_dicts()
    assert printed != apf.evaluate_run(QRELS, DENSE, "AP AP11").summary.to_dicts()


@pytest.mark.slow
def test_the_own_document_of_a_query(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("a 0 b 1\n")
    (tmp_path / "run").write_text("a Q0 a 1 .9 t\na Q0 b 2 .8 t\n")
    paths = [str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "RR", "--csv"]
    done = rank(*paths)
    assert done.stdout == "measure,value,n_queries\nRR,0.5,1\n"
    assert "remove it with --own-document remove; otherwise choose --own-document keep\n" in done.stderr
    assert rank(*paths, "--strict").returncode == 3
    assert rank(*paths, "--strict", "--own-document", "keep") == Done(0, done.stdout, "")
    assert rank(*paths, "--own-document", "remove") == Done(0, "measure,value,n_queries\nRR,1.0,1\n", "")


def test_grades_between_0_and_1(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("a 0 b .5\na 0 c 1\n")
    (tmp_path / "run").write_text("a Q0 b 1 .9 t\na Q0 c 2 .8 t\n")
    done = rank(str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "RR", "--csv")
    assert done.stdout == "measure,value,n_queries\nRR,0.5,1\n"
    assert done.stderr.endswith("lower --relevance-level if they are relevant\n")
    done = rank(str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "RR", "-l", ".5", "--csv")
    assert done == Done(0, "measure,value,n_queries\nRR(rel=0.5),1.0,1\n", "")


@pytest.mark.slow
def test_out_is_a_set_that_sql_reads(tmp_path: Path) -> None:
    assert rank(QRELS, LEXICAL, "-m", "AP", "--out", str(tmp_path / "run")).returncode == 0
    done = apframe("sql", str(tmp_path / "run"), "SELECT measure, n_queries FROM summary", "--csv")
    assert done == Done(0, "measure,n_queries\nAP,60\n", "")


@pytest.mark.skipif(not TREC.is_dir(), reason="the real data are not here")
def test_the_numbers_of_trec_eval() -> None:
    done = rank(str(TREC / "qrels.test"), str(TREC / "results.test"), "-m", "AP GMAP Bpref nDCG@10 P@5")
    assert [line.split()[1] for line in done.stdout.splitlines()[1:6]] == ["0.1785", "0.1051", "0.1981", "0.3016", "0.2667"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([QRELS, DENSE, "-m", "AP nDGC@10"], 2, "no measure 'nDGC'; did you mean nDCG?"),
        ([QRELS, DENSE, "-m", "P@0"], 2, "P@0: the cut-off must be a whole number of at least 1"),
        ([QRELS, DENSE, "-m", " "], 2, "measures: name at least one"),
        ([QRELS, "nowhere.txt"], 1, "nowhere.txt: there is no such file"),
        ([QRELS, QRELS], 1, "this looks like judgements; pass judgements first"),
        ([QRELS, DENSE, "--missing", "drop"], 2, '--missing is "skip", "zero" or "error", not \'drop\''),
        ([QRELS, DENSE, "--missing", "error"], 1, "1 of 60 judged queries: '318'"),
        ([QRELS, DENSE, "--compare"], 2, "--compare needs at least two runs"),
        ([QRELS, DENSE, "--by", "topic"], 2, "--by needs the attributes of the queries: --queries FILE"),
        ([QRELS, DENSE, "--by", "topci", "--queries", QUERIES], 2, "no column 'topci'; did you mean topic?"),
        ([QRELS, DENSE, "--by", "topic", "--queries", "nowhere.csv"], 1, "nowhere.csv: there is no such file"),
        ([QRELS, DENSE, "-q", "--compare"], 2, "cannot be combined"),
        ([QRELS, LEXICAL, DENSE, "--test", "t"], 2, "--test needs --compare"),
        (
            [QRELS, LEXICAL, DENSE, "--compare", "--test", "tt"],
            2,
            '--test is "t", "randomisation" or "bootstrap", not \'tt\'; did you mean t?',
        ),
        ([QRELS, DENSE, "--latex", "--csv"], 2, "--csv and --latex cannot be combined"),
        ([QRELS, DENSE, "-M", "0"], 2, "--max-documents is a whole number of at least 1, not 0"),
        ([QRELS, DENSE, "-l", "nan"], 2, "--relevance-level must be a finite number, not nan"),
        ([QRELS, DENSE, "--json", "--csv"], 2, "cannot be combined"),
        ([QRELS, DENSE, "--own-document", "drop"], 2, '--own-document is "keep" or "remove", not \'drop\''),
        ([QRELS, DENSE, "--trec-eval", "8"], 2, "--trec-eval is 9 or 10, not 8"),
        ([QRELS, DENSE, "--out", str(SEARCH)], 1, "holds something else"),
        ([QRELS, DENSE, DENSE], 2, "a file is listed twice"),
    ],
)
def test_errors_are_one_line(arguments: list[str], code: int, message: str) -> None:
    done = rank(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


def test_names_and_tags_of_search_runs(tmp_path: Path) -> None:
    assert rank(QRELS, DENSE, "-m", "AP", "--out", str(tmp_path / "a"), "--name", "dense", "--tag", "k1=.9").returncode == 0
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert (manifest["name"], manifest["tags"]) == ("dense", {"k1": 0.9})


def test_ground_truth_of_detections_is_named(tmp_path: Path) -> None:
    street = Path(__file__).parents[2] / "data" / "street"
    done = rank(str(street / "instances.json"), str(street / "model_a.json"))
    assert done.returncode == 2 and done.stderr.endswith(
        "instances.json is COCO's JSON, not relevance judgements; evaluate detections with apframe eval\n"
    )
    (tmp_path / "qrels.json").write_text('{"301": {"d1": 1, "d2": 0}}')
    (tmp_path / "run.json").write_text('{"301": {"d1": 0.5, "d2": 0.7}}')
    assert rank(str(tmp_path / "qrels.json"), str(tmp_path / "run.json")).returncode == 0

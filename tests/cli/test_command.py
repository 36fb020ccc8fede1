"""The command line: what it prints where, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import apframe as apf
from apframe import ctrl_c
from apframe.cli import command as cli
from apframe.exceptions import FormatError

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TRUTH, RESULTS = str(STREET / "instances.json"), str(STREET / "model_a.json")
METRICS = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]
QUERY = "SELECT metric, round(value, 3) AS value FROM summary LIMIT 2"

SMALL = {
    "images": [{"id": 1}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40]}],
}
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 30], "score": 0.9}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "model_a"
    apf.evaluate(TRUTH, RESULTS).write_parquet(folder)
    return folder


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `main`, in this process."""
    with monkeypatch.context() as restored:
        restored.setattr("warnings.showwarning", None)  # which `main` replaces
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.out, printed.err


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "apframe", *arguments], capture_output=True, text=True, check=False)


def files(folder: Path, truth: object = SMALL, results: object = FOUND) -> tuple[str, str]:
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "results.json").write_text(json.dumps(results))
    return str(folder / "truth.json"), str(folder / "results.json")


@pytest.mark.slow
def test_eval_prints_twelve_lines_and_nothing_on_stderr() -> None:
    done = process("eval", TRUTH, RESULTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{apf.evaluate(TRUTH, RESULTS)}\n"
    assert len(done.stdout.splitlines()) == 12


@pytest.mark.slow
def test_warning_goes_to_stderr_and_json_to_stdout(tmp_path: Path) -> None:
    done = process("eval", *files(tmp_path, results=[*FOUND, FOUND[0] | {"category_id": 9}]), "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == [*METRICS, "json_version"]
    assert json.loads(done.stdout)["APl"] is None
    assert done.stderr.startswith("warning: 1 of 2 detections has an unknown category_id") and done.stderr.count("\n") == 1


def test_warning_that_nothing_matches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files(tmp_path, results=[FOUND[0] | {"bbox": [99, 99, 40, 30]}] * 11)
    code, printed, err = command(capsys, monkeypatch, "eval", *paths, "--by", "category_id")
    assert (code, printed.count("0.000") > 0) == (0, True)
    assert err.startswith("warning: none of the 11 detections on images with annotations overlaps one by IoU 0.1 or more; ")
    assert err.endswith("run `apframe check` on both to find out why\n") and err.count("\n") == 1


@pytest.mark.slow
def test_error_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    done = process("eval", str(tmp_path / "nowhere.json"), RESULTS)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {tmp_path / 'nowhere.json'}: there is no such file or folder\n"


@pytest.mark.slow
def test_reader_that_goes_away_is_no_error(run: Path) -> None:
    query = "SELECT range AS n, 'some text to fill the pipe' AS t FROM range(100000)"
    arguments = [sys.executable, "-m", "apframe", "sql", str(run), query, "--csv"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None and started.stderr is not None
        assert started.stdout.readline() == b"n,t\n"
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(60) == 0


@pytest.mark.slow
def test_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {**dict(apf.evaluate(TRUTH, RESULTS).summary.rows()), "json_version": 1}


@pytest.mark.slow
def test_out_and_sql(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "runs" / "a")
    code, out, err = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--out", folder)
    assert (code, len(out.splitlines()), err) == (0, 12, "")
    expected = apf.read_evaluation(folder).sql(QUERY)
    assert expected["metric"].to_list() == ["AP", "AP50"]

    code, out, err = command(capsys, monkeypatch, "sql", folder, QUERY, "--json")
    assert (code, json.loads(out), err) == (0, expected.to_dicts(), "")
    code, out, err = command(capsys, monkeypatch, "sql", folder, QUERY, "--csv")
    head, *rows = csv.reader(io.StringIO(out))
    assert (code, head, err) == (0, ["metric", "value"], "")
    assert [(metric, float(value)) for metric, value in rows] == expected.rows()
    code, out, err = command(capsys, monkeypatch, "sql", folder, QUERY)
    assert (code, err) == (0, "")
    for text in ("metric", "AP50", str(expected["value"][0])):
        assert text in out


# options -> the same options of `evaluate`
OPTIONS: dict[str, tuple[list[str], dict[str, object]]] = {
    "max_detections": (["--max-detections", "1,5"], {"max_detections": [1, 5]}),
    "a limit and all": (["--max-detections", "all, 5"], {"max_detections": [5, None]}),
    "iou_thresholds": (["--iou-thresholds", "0.5,0.75"], {"iou_thresholds": [0.5, 0.75]}),
    "thresholds by category": (
        ["--iou-thresholds", "Car=0.7, bus=.5", "--categories", "car,bus"],
        {"iou_thresholds": {"Car": 0.7, "bus": 0.5}, "categories": ["car", "bus"]},
    ),
    "one threshold": (["--iou-thresholds", ".9"], {"iou_thresholds": [0.9]}),
    "categories by name": (["--categories", "car, rider"], {"categories": ["car", "rider"]}),
    "categories by id": (["--categories", "3"], {"categories": [3]}),
    "categories one by one": (["--categories", "car", "--categories", "rider, bus"], {"categories": ["car", "rider", "bus"]}),
    "limits one by one": (["--max-detections", "1", "--max-detections", "5"], {"max_detections": [1, 5]}),
    "thresholds one by one": (["--iou-thresholds", "0.5", "--iou-thresholds=0.75"], {"iou_thresholds": [0.5, 0.75]}),
    "agnostic": (["--agnostic"], {"agnostic": True}),
    "all": (
        ["--agnostic", "--categories", "car,bus", "--max-detections", "20", "--iou-thresholds", "0.6"],
        {"agnostic": True, "categories": ["car", "bus"], "max_detections": [20], "iou_thresholds": [0.6]},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "options"), OPTIONS.values(), ids=OPTIONS)
def test_options(
    arguments: list[str],
    options: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out, _ = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--json", *arguments)
    expected = apf.evaluate(TRUTH, RESULTS, **options)  # type: ignore[arg-type]
    assert (code, json.loads(out)) == (0, {**dict(expected.summary.rows()), "json_version": 1})
    assert not expected.summary.equals(apf.evaluate(TRUTH, RESULTS).summary)


@pytest.mark.slow
def test_columns_of_slices_one_by_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--by", "weather", "--by", "time_of_day"]
    code, out, _ = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--json", "--agnostic", *options)
    expected = apf.evaluate(TRUTH, RESULTS, agnostic=True).by("weather", "time_of_day")
    assert (code, out) == (0, f"{expected.write_json()}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", TRUTH, RESULTS, "--protocol", "coco", "--protocol", "x"], "--protocol is given 2 times; it takes one value"),
        (["eval", "--out=a", TRUTH, RESULTS, "--out", "a"], "--out is given 2 times; it takes one value"),
        (["check", TRUTH, "--split", "a", "--split", "b", "--split", "c"], "--split is given 3 times; it takes one value"),
        (["convert", TRUTH, "{folder}/a", "--to", "coco", "--to", "voc"], "--to is given 2 times; it takes one value"),
        (["rank", TRUTH, RESULTS, "--trec-eval", "9", "--trec-eval", "10"], "--trec-eval is given 2 times; it takes one value"),
    ],
)  # fmt: skip
def test_options_of_one_value_are_given_once(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = command(capsys, monkeypatch, *(text.format(folder=tmp_path) for text in arguments))
    assert done == (2, "", f"error: {message}\n")
    assert command(capsys, monkeypatch, "formats", "--json", "--json")[0] == 0  # a flag says the same twice


def test_drop_unknown_images(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(tmp_path, results=[*FOUND, FOUND[0] | {"image_id": 9}])
    code, out, err = command(capsys, monkeypatch, "eval", *paths)
    assert (code, out) == (1, "")
    assert "drop-unknown-images" in err or "unknown_images" in err
    code, out, err = command(capsys, monkeypatch, "eval", *paths, "--drop-unknown-images", "--json")
    assert (code, json.loads(out)["AP50"], err) == (0, pytest.approx(1), "")


@pytest.mark.slow
def test_detections_as_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    apf.read_coco_results(RESULTS).write_parquet(tmp_path / "found.parquet")
    code, out, _ = command(capsys, monkeypatch, "eval", TRUTH, str(tmp_path / "found.parquet"))
    assert (code, out) == (0, f"{apf.evaluate(TRUTH, RESULTS)}\n")


# arguments, exit code, what the one line on stderr says; {run} is a run, {file} a file, {folder} a folder that holds it
BAD: dict[str, tuple[list[str], int, str]] = {
    "no such results": (["eval", TRUTH, "{folder}/no.json"], 1, "no.json: there is no such file or folder"),
    "a folder": (["eval", "{folder}", RESULTS], 1, "its format cannot be detected: no format has a data set folder like this"),
    "not JSON": (["eval", "{file}", RESULTS], 1, "its format cannot be detected: no format has a data set file like this"),
    "the two swapped": (["eval", RESULTS, TRUTH], 1, "is it "),
    "results twice": (["eval", TRUTH, TRUTH], 1, "is it ground truth?"),
    "out is a file": (["eval", TRUTH, RESULTS, "--out", "{file}"], 1, "this is a file; name a folder"),
    "out is another's": (["eval", TRUTH, RESULTS, "--out", "{folder}"], 1, "holds something else (a.jsonl, file)"),
    "thresholds of text": (["eval", TRUTH, RESULTS, "--iou-thresholds", "half"], 2, "--iou-thresholds takes numbers"),
    "threshold of one category": (["eval", TRUTH, RESULTS, "--iou-thresholds", "car=0.5,0.7"], 2, "--iou-thresholds takes one"),
    "threshold too large": (["eval", TRUTH, RESULTS, "--iou-thresholds", "50"], 2, "--iou-thresholds must lie in (0, 1]"),
    "half a detection": (["eval", TRUTH, RESULTS, "--max-detections", "1.5"], 2, "--max-detections takes whole numbers"),
    "no detections": (["eval", TRUTH, RESULTS, "--max-detections", "0"], 2, "--max-detections must be different numbers"),
    "empty list": (["eval", TRUTH, RESULTS, "--max-detections", ""], 2, "--max-detections takes whole numbers"),
    "unknown category": (["eval", TRUTH, RESULTS, "--categories", "unicorn"], 2, "no category 'unicorn'"),
    "not a run": (["sql", "{folder}", "SELECT 1"], 1, "not an apframe evaluation"),
    "no such run": (["sql", "{folder}/no", "SELECT 1"], 1, "there is no such folder"),
    "a column of another name": (["eval", TRUTH, RESULTS, "--by", "scene"], 2, "no column 'scene'; there are weather, "),
    "results of other images": (["eval", TRUTH, "{lines}"], 1, "a.jsonl was read as coco"),
    "a page": (
        ["eval", "https://x.org/a.json", RESULTS],
        2,
        "https://x.org/a.json: only .parquet and .csv are read from a URL",
    ),
    "a bucket": (["eval", TRUTH, RESULTS, "--out=s3://a/b"], 2, "--out=s3://a/b: URLs are not read or written here; "),
    "bad SQL": (["sql", "{run}", "SELEC 1"], 2, "error: Parser Error: syntax error at or near"),
    "no such table": (["sql", "{run}", "SELECT * FROM boxes"], 2, "boxes"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), BAD.values(), ids=BAD)
def test_bad_use(
    arguments: list[str],
    code: int,
    message: str,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").write_text("hello")
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in [*FOUND, *FOUND]))
    names = {"run": run, "file": tmp_path / "file", "lines": lines, "folder": tmp_path}
    filled = [text.format(**names) if "{" in text else text for text in arguments]
    ended, out, err = command(capsys, monkeypatch, *filled)
    assert (ended, out) == (code, "")
    assert err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1
    assert message in err


USAGE: dict[str, list[str]] = {
    "a typo in an option": ["eval", TRUTH, RESULTS, "--max-detection", "5"],
    "an option without its value": ["eval", TRUTH, RESULTS, "--out"],
    "no results": ["eval", TRUTH],
    "one file too many": ["eval", TRUTH, RESULTS, RESULTS],
    "no such command": ["evaluate", TRUTH, RESULTS],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = command(capsys, monkeypatch, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.endswith(" --help`)\n") and err.count("\n") == 1


def test_json_and_csv_together_are_refused(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = command(capsys, monkeypatch, "sql", str(run), QUERY, "--json", "--csv")
    assert (code, out) == (2, "")
    assert "--csv" in err


@pytest.mark.slow
def test_answers_of_sql_in_full(run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT *, repeat('long ', 10) AS note FROM detections LIMIT 50"
    code, out, _ = command(capsys, monkeypatch, "sql", str(run), query)
    assert code == 0 and "…" not in out
    assert all(name in out for name in ("detection_id", "score", "note"))
    code, out, _ = command(capsys, monkeypatch, "sql", str(run), "SELECT * FROM images WHERE false", "--json")
    assert (code, json.loads(out)) == (0, [])


@pytest.mark.slow
def test_sql_of_several_statements_and_of_many_runs(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = command(capsys, monkeypatch, "sql", str(run), "SELECT 1 AS a; SELECT 2 AS b", "--csv")
    assert (code, out) == (0, "a\n1\nb\n2\n")
    code, out, _ = command(capsys, monkeypatch, "sql", str(run.parent / "*"), "SELECT run FROM runs", "--csv")
    assert (code, out) == (0, "run\nmodel_a\n")


@pytest.mark.slow
def test_terminal_shows_the_first_rows(run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT range AS n FROM range(1234)"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = command(capsys, monkeypatch, "sql", str(run), query)[1]
    assert out.endswith("… 1,234 rows; add LIMIT, or use --csv\n") and "39 " in out and "40 " not in out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert len(command(capsys, monkeypatch, "sql", str(run), query, "--csv")[1].splitlines()) == 1235


def test_rows_of_json_hold_dates_and_nulls(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT NULL AS nothing, DATE '2020-01-02' AS day, 0.1 + 0.2 AS number, [1, 2] AS list"
    code, out, _ = command(capsys, monkeypatch, "sql", str(run), query, "--json")
    assert code == 0
    row = json.loads(out)[0]
    assert (row["nothing"], row["day"], row["list"]) == (None, "2020-01-02", [1, 2])


def test_versions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = command(capsys, monkeypatch, "--version")
    assert (code, err) == (0, "") and re.fullmatch(r"apframe [0-9.]+\n", out)
    code, versions, err = command(capsys, monkeypatch, "--version", "--json")
    assert (code, json.loads(versions), err) == (0, {"apframe": out.split()[1], "json_version": 1, "schema_version": 4}, "")
    code, out, err = command(capsys, monkeypatch, "--json")
    assert (code, out) == (2, "") and "--json without a command needs --version" in err


@pytest.mark.slow
def test_names_and_tags_of_what_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "a")
    tags = ["--tag", "lr=.1", "--tag", "epoch=7", "--tag", "amp=true", "--tag", "note=a=b", "--tag", "seed=-1e3"]
    code, _, err = command(capsys, monkeypatch, "eval", *files(tmp_path), "--out", folder, "--name", "best", *tags)
    assert (code, err) == (0, "")
    table = apf.scan_runs(folder).leaderboard(where="epoch = 7 AND amp")
    assert table.rows(named=True)[0].items() >= {
        "name": "best", "lr": 0.1, "epoch": 7, "amp": True, "note": "a=b", "seed": -1000.0,
    }.items()  # fmt: skip
    for wrong in (["--tag", "lr"], ["--tag", "=1"], ["--tag", "a=1", "--tag", "a=2"], ["--name", ""]):
        code, out, err = command(capsys, monkeypatch, "eval", *files(tmp_path), "--out", folder, *wrong)
        assert (code, out) == (2, "") and ("--tag takes NAME=VALUE, each NAME once" in err or "name must be" in err)
    code, out, err = command(capsys, monkeypatch, "eval", *files(tmp_path), "--tag", "a=1")
    assert (code, out, err) == (2, "", "error: --name and --tag need --out, the folder to store the evaluation in\n")


@pytest.mark.slow
def test_matches_are_stored_at_thresholds_that_are_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, folder = files(tmp_path), tmp_path / "a"
    code, _, err = command(capsys, monkeypatch, "eval", *paths, "--out", str(folder), "--matches", "0.5,.75")
    assert (code, err) == (0, "")
    assert pl.read_parquet(folder / "matches.parquet")["iou_threshold"].unique().sort().to_list() == [0.5, 0.75]
    for options, message in (
        (["--matches", "0.5"], "error: --matches needs --out, the folder to store the evaluation in\n"),
        (["--out", str(folder), "--matches", "0.51"], "error: --matches: 0.51 is not evaluated; choose from 0.5, 0.55"),
        (["--out", str(folder), "--matches", "x"], "error: --matches takes numbers separated by commas, not 'x'"),
    ):
        code, out, err = command(capsys, monkeypatch, "eval", *paths, *options)
        assert (code, out) == (2, "") and err.startswith(message)


HELP = {
    (): ["eval", "sql", "upgrade", "--help"],
    ("eval",): ["GT", "DT", "--protocol", "--iou-type", "--by", "--where", "--categories", "--agnostic", "--intervals",
                "--max-detections", "--iou-thresholds", "--gt-format", "--dt-format", "--split", "--out", "--json",
                "--csv"],
    ("sql",): ["DIR", "QUERY", "--file", "--json", "--csv"],
}  # fmt: skip


@pytest.mark.parametrize("verb", HELP, ids=" ".join)
def test_help_names_everything(verb: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli.app, [*verb, "--help"])
    assert shown.exit_code == 0
    for text in HELP[verb]:
        assert text in shown.output


def test_ctrl_c_while_duckdb_reads(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(cli, "_invoke", interrupted)
    assert command(capsys, monkeypatch, "formats") == (130, "", "")


def test_what_fails_after_ctrl_c_fails_because_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> int:
        monkeypatch.setattr(ctrl_c, "is_pressed", True)
        raise FormatError("cannot be read (KeyboardInterrupt)", path="a.parquet")  # Polars, in the middle of its work

    monkeypatch.setattr(cli, "_invoke", interrupted)
    assert command(capsys, monkeypatch, "formats") == (130, "", "")


@pytest.mark.slow
def test_a_profiler_sees_the_end_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cProfile", "-m", "apframe", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("apframe ") and "function calls" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("evl", "No such command 'evl'; did you mean eval? (see `apframe --help`)"),
        ("--verison", "No such option: --verison; did you mean --version? (see `apframe --help`)"),
        ("compare --by --json", "--by needs a value, but is followed by --json (see `apframe compare --help`)"),
        ("compare a b --by --help", "--by needs a value, but is followed by --help (see `apframe compare --help`)"),
        ("what", "No such command 'what' (see `apframe --help`)"),
        ("--jso", "No such option: --jso; did you mean --json? (see `apframe --help`)"),
        ("formats --jso", "No such option: --jso; did you mean --json? (see `apframe formats --help`)"),
        ("formats -x", "No such option: -x (see `apframe formats --help`)"),
        ("formats a b", "Got unexpected extra argument"),
        ("compare --seed x a b", "Invalid value for '--seed': 'x' is not a valid integer (see `apframe compare --help`)"),
        ("compare --seed", "Option '--seed' requires an argument (see `apframe compare --help`)"),
        ("formats --json=yes", "Option '--json' does not take a value (see `apframe formats --help`)"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: str, problem: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = command(capsys, monkeypatch, *arguments.split())
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(f"error: {problem}")


@pytest.mark.slow
def test_only_the_module_of_the_verb_is_imported() -> None:
    script = """
import sys
from apframe.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    print(*sorted(name for name in sys.modules if name.startswith("apframe.cli.")))
"""
    for arguments, loaded in ((["--help"], set()), (["eval", "--help"], {"evaluate"}), (["formats"], {"catalogues"})):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        verbs = {name.removeprefix("apframe.cli.") for name in done.stdout.splitlines()[-1].split()}
        assert verbs & {home.partition(".")[0] for home in cli.app.verbs.values()} == loaded


def test_help_without_arguments_is_usage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = command(capsys, monkeypatch)
    assert code in (0, 2)
    assert "eval" in out + err and "sql" in out + err


def test_a_run_is_what_the_library_writes(run: Path) -> None:
    assert pl.read_parquet(run / "summary.parquet")["metric"].to_list() == METRICS


def test_a_message_has_an_end(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    truth, results = files(tmp_path, SMALL | {"x" * 100_000: 1, "images": []} | {"annotations": None})
    code, _, error = command(capsys, monkeypatch, "eval", truth, results)
    assert code == 1
    assert len(error) < 11_000
    assert error.endswith(" characters)\n")


def test_an_empty_name_in_a_list_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = command(capsys, monkeypatch, "eval", *files(tmp_path), "--by", "weather,,name")
    assert (code, out) == (2, "") and "'weather,,name' contains an empty name" in err


def test_json_and_csv_are_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--by", "name", "--json", "--csv", "--out", str(tmp_path / "out")]
    code, out, err = command(capsys, monkeypatch, "eval", *files(tmp_path), *options)
    assert (code, out, err) == (2, "", "error: --json and --csv cannot be combined\n")
    assert not (tmp_path / "out").exists()


def test_upgrade_rewrites_all_or_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    shutil.copytree(Path(__file__).parents[1] / "stored" / "0.5" / "detection", old)
    before = (old / "manifest.json").read_text()
    code, out, err = command(capsys, monkeypatch, "upgrade", str(old), str(tmp_path / "nowhere"))
    assert (code, out) == (1, "") and "nowhere: there is no such folder" in err
    assert (old / "manifest.json").read_text() == before
    assert command(capsys, monkeypatch, "upgrade", str(old)) == (0, f"{old}: rewritten\n", "")
    assert command(capsys, monkeypatch, "upgrade", str(old)) == (0, f"{old}: already up to date\n", "")


def test_a_manifest_that_is_cut_off_is_not_called_absent(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(run, cut)
    (cut / "manifest.json").write_text('{"format": ')
    code, out, err = command(capsys, monkeypatch, "sql", str(cut), "SELECT 1")
    assert (code, out) == (1, "") and err.startswith(f"error: {cut / 'manifest.json'}: not JSON, or cut off")


def test_other_ways_to_ask_for_help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for asked, usual in (("help", "--help"), ("--help-all", "--help"), ("help eval", "eval --help")):
        outcome = command(capsys, monkeypatch, *asked.split())
        assert outcome[0] == 0 and outcome == command(capsys, monkeypatch, *usual.split())

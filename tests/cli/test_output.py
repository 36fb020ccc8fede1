"""What the command prints where: encodings, full disks, readers that go away, names and arguments with any characters."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.cli import command as cli
from tests.cli.test_command import RESULTS, TRUTH, command, files
from tests.test_progress import Screen

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
SEARCH, STREET = (Path(__file__).resolve().parents[2] / "data" / name for name in ("search", "street"))
NAME = "été 中 … \x7f\x9b"
TRUTH_OF_NAMES = {
    "images": [{"id": 1, "weather": NAME}],
    "categories": [{"id": 1, "name": NAME, "supercategory": f"{NAME}s"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40]}],
}
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 30], "score": 0.9}]


def encoded(monkeypatch: Patch, encoding: str, *arguments: str) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of `main` in a terminal or pipe of another encoding."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n") for _ in range(2))
    with monkeypatch.context() as patched:
        patched.setattr("warnings.showwarning", None)
        patched.setattr("sys.stdout", out)
        patched.setattr("sys.stderr", err)
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code, out.buffer.getvalue(), err.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def named(tmp_path: Path) -> tuple[str, str, str]:
    """Ground truth and results with such names, and a set of them, in a folder beside which there is nothing."""
    folder = tmp_path / "named"
    folder.mkdir()
    truth, results = files(folder, TRUTH_OF_NAMES, FOUND)
    apf.evaluate(truth, results).write_parquet(folder / "set")
    return truth, results, str(folder / "set")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
def test_every_encoding_is_good_enough(encoding: str, named: tuple[str, str, str], monkeypatch: Patch, tmp_path: Path) -> None:
    truth, results, folder = named
    query = "SELECT name, [name] AS names FROM categories"
    for_people = [
        ["eval", truth, results], ["eval", truth, results, "--by", "weather"], ["sql", folder, query], ["formats"],
        ["check", truth, results], ["convert", truth, str(tmp_path / "out"), "--to", "voc"],
        ["rank", str(SEARCH / "qrels.txt"), str(SEARCH / "run_dense.txt"), "-m", "AP GMAP"],
    ]  # fmt: skip
    for arguments in for_people:
        code, out, err = encoded(monkeypatch, encoding, *arguments)
        assert (code, err) == (0, b""), (arguments, err)
        assert out.decode(encoding).endswith("\n")
    _, out, _ = encoded(monkeypatch, encoding, "sql", folder, query)
    name = NAME[:6].encode(encoding, "backslashreplace").decode(encoding)
    assert name in out.decode(encoding) and ("┌" in out.decode(encoding)) == (encoding in ("cp437", "utf-8"))
    _, out, _ = encoded(monkeypatch, encoding, "sql", folder, query, "--json")
    assert json.loads(out.decode(encoding)) == [{"name": NAME, "names": [NAME]}]
    code, _, err = encoded(monkeypatch, encoding, "eval", truth, results, "--by", NAME)
    assert code == 2 and err.decode(encoding).count("\n") == 1
    code, out, err = encoded(monkeypatch, encoding, "sql", folder, "SELECT name FROM categories", "--csv")
    if encoding == "utf-8":
        assert list(csv.reader(io.StringIO(out.decode()))) == [["name"], [NAME]]
    else:
        assert (code, out) == (1, b"") and b"set PYTHONIOENCODING=utf-8, or use --json\n" in err


FULL = Path("/dev/full")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [["eval", TRUTH, RESULTS], ["formats", "--json"], ["eval", "--help"]], ids=" ".join)
def test_no_space_for_the_output(arguments: list[str]) -> None:
    process = [sys.executable, "-m", "apframe", *arguments]
    with FULL.open("w") as full:
        done = subprocess.run(process, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "error: stdout: cannot be written (no space left on device)\n")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
def test_no_space_for_messages(tmp_path: Path) -> None:
    paths = files(tmp_path, results=[*FOUND, FOUND[0] | {"category_id": 9}])
    for arguments, code in ((["eval", *paths], 0), (["eval", "nowhere", "nowhere"], 1), (["evaluate"], 2)):
        process = [sys.executable, "-m", "apframe", *arguments]
        with FULL.open("w") as full:
            done = subprocess.run(process, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
        assert (done.returncode, len(done.stdout.splitlines())) == (code, 0 if code else 12)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes are a matter of Unix")
@pytest.mark.parametrize("arguments", [["eval", TRUTH, RESULTS], ["formats", "--json"], ["eval", "--help"]], ids=" ".join)
def test_reader_that_is_not_there_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = [sys.executable, "-m", "apframe", *arguments]
    done = subprocess.run(process, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the shell is one of Unix")
def test_no_output_at_all() -> None:
    assert subprocess.run(f"{sys.executable} -m apframe formats >&- 2>&-", shell=True, check=False).returncode == 0


def is_harmless(text: str) -> bool:
    """Whether a terminal shows a text as it is: no control characters but line ends, no halves of characters."""
    return not [each for each in text if each != "\n" and unicodedata.category(each) in ("Cc", "Cs")]


VALUES = [
    "", " ", "\0", "a\0b", "\n", "a\nb\rc", "\x1b[31mred\x1b[0m", "\x9b31m", "caf\udce9", "\ud800", "a" * 300, "b/" * 3000,
    "é" * 100_000, "https://example.org/a.json", "[red]x[/red]", "*", "^.*$", "-1", "nan", "1e999", "٣", "9" * 5000,
    "(" * 5000, "a," * 5000, "..", "/",
]  # fmt: skip
# the arguments of each command, and the options that it needs
BASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "eval": ({"truth": "truth.json", "results": "results.json"}, []),
    "check": ({"truth": "truth.json", "results": "results.json"}, []),
    "convert": ({"source": "truth.json", "target": "out"}, ["--to=voc"]),
    "rank": ({"qrels": "qrels", "runs": "run"}, []),
    "sql": ({"folder": "set", "query": "SELECT 1"}, []),
}
COMMANDS: dict[str, Any] = {verb: cli.app.get_command(None, verb) for verb in BASES}
PLACES = [(verb, each) for verb in BASES for each in COMMANDS[verb].params if not getattr(each, "is_flag", False)]


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "place"), PLACES, ids=lambda each: getattr(each, "name", each))
def test_arguments_may_have_any_characters(
    verb: str, place: Any, named: tuple[str, str, str], capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(Path(named[0]).parent)
    Path("qrels").write_text("1 0 a 1\n")
    Path("run").write_text("1 Q0 a 1 0.5 x\n")
    for value in VALUES:
        arguments, options = BASES[verb]
        if place.name in arguments:
            arguments = arguments | {place.name: value}
        else:
            options = [each for each in options if not each.startswith(place.opts[0])] + [f"{place.opts[0]}={value}"]
        code, out, err = command(capsys, monkeypatch, verb, *options, "--", *arguments.values())
        *warned, last = err.removesuffix("\n").split("\n")
        if code in (1, 2):
            assert last.startswith("error: ") and out == "", (value, err)
        else:
            assert code in (0, 3) and not last, (value, err)
        assert all(line.startswith("warning: ") for line in warned), (value, err)
        assert is_harmless(out + err), (value, err)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
@pytest.mark.parametrize("to", ["parquet", "arrow"])
def test_target_whose_name_is_no_text(
    to: str, named: tuple[str, str, str], tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    truth, results, _ = named
    before = sorted(tmp_path.iterdir())
    for source, options in ((truth, []), (results, ["--results-of", truth])):
        code, out, err = command(capsys, monkeypatch, "convert", source, str(tmp_path / "caf\udce9"), "--to", to, *options)
        assert (code, out, err.count("\n")) == (1, "", 1) and "the name is not UTF-8 text" in err
    assert sorted(tmp_path.iterdir()) == before


# --- names of the data ----------------------------------------------------------------------------------------------------

RED = "\x1b[31mred\x1b[0m\r\n\x9b2J\x07"
WRITTEN_OUT = r"\x1b[31mred\x1b[0m\r\n\x9b2J\x07"


def red(tmp_path: Path) -> tuple[str, str]:
    """Ground truth and results whose names and attributes would steer a terminal."""
    image = {"id": 1, "width": 40, "height": 40, "file_name": f"{RED}.jpg", "weather": RED, RED: RED}
    truth = {
        "images": [image, image | {"id": 2, "weather": "rain"}],
        "categories": [{"id": 1, "name": RED}, {"id": 2, "name": f"{RED} "}],
        "annotations": TRUTH_OF_NAMES["annotations"],
    }
    return files(tmp_path, truth, [*FOUND, {"image_id": 1, "category_id": 2, "bbox": [0, 0, -5, 5], "score": 0.5}])


@pytest.mark.slow
def test_names_do_not_steer_the_terminal(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth, results = red(tmp_path)
    good = str(tmp_path / "good.json")
    Path(good).write_text(json.dumps(FOUND))
    folder = str(tmp_path / RED)
    cases = {
        "slices": (["eval", truth, good, "--by", "weather"], 0),
        "an odd key": (["eval", truth, good, "--by", RED], 0),
        "no such key": (["eval", truth, good, "--by", "nothing"], 2),
        "a category": (["eval", truth, good, "--categories", "x"], 2),
        "findings": (["check", truth, results], 1),
        "an error": (["eval", truth, str(tmp_path / RED / "x")], 1),
        "a target": (["convert", truth, f"{folder}.json", "--to", "coco"], 0),
        "a set": (["eval", truth, good, "--out", folder], 0),
        "a query": (["sql", folder, "SELECT name, [name], {n: [name]} FROM categories"], 0),
        "a bad query": (["sql", folder, f'SELECT "{RED}" FROM categories'], 2),
        "a name": (["sql", folder, f'SELECT 1 AS "{RED}"'], 0),
        "a table": (["sql", folder, f'CREATE TABLE "{RED}" AS SELECT 1 AS "{RED}"; SHOW TABLES'], 0),
        "many": (["sql", f"{tmp_path}/*", "SELECT run FROM runs"], 0),
    }
    for case, (arguments, expected) in cases.items():
        code, out, err = command(capsys, monkeypatch, *arguments)
        assert code == expected, (case, err)
        assert is_harmless(out + err), (case, out, err)
        assert case in ("a set", "a category", "findings") or WRITTEN_OUT[:10] in out + err, (case, out, err)
        if code in (1, 2) and case != "findings":
            assert err.count("\n") == 1, (case, err)
    for option in ("--json", "--csv"):  # data for programs stay as they are
        _, out, _ = command(capsys, monkeypatch, "sql", folder, "SELECT name FROM categories LIMIT 1", option)
        name = json.loads(out)[0]["name"] if option == "--json" else list(csv.reader(io.StringIO(out, newline="")))[1][0]
        assert name == RED


@pytest.mark.slow
def test_data_in_a_terminal_do_not_steer_it(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth, _ = red(tmp_path)
    Path(tmp_path / "good.json").write_text(json.dumps(FOUND))
    apf.evaluate(truth, tmp_path / "good.json").write_parquet(tmp_path / "set")
    for option in ("--json", "--csv"):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        code, out, err = command(capsys, monkeypatch, "sql", str(tmp_path / "set"), "SELECT name FROM categories", option)
        assert (code, err) == (0, "") and is_harmless(out)


@pytest.mark.slow
def test_names_of_runs_and_queries(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("\x1b[31m 0 a 1\n2 0 \x1b[31m 1\n")
    for name in ("\x1b[31ma\nb", "other"):
        Path(name).write_text("\x1b[31m Q0 a 1 0.5 x\n2 Q0 a 1 0.5 x\n")
    for options in ([], ["-q"], ["--compare"]):
        code, out, err = command(capsys, monkeypatch, "rank", "qrels", "\x1b[31ma\nb", "other", "-m", "AP", *options)
        assert code == 0 and is_harmless(out + err) and r"\x1b[31m" in out
        assert len([line for line in out.splitlines() if line.startswith("b")]) == 0


@pytest.mark.slow
def test_tables_fit_the_terminal_and_are_whole_elsewhere(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth, _ = red(tmp_path)
    Path(tmp_path / "good.json").write_text(json.dumps(FOUND))
    apf.evaluate(truth, tmp_path / "good.json").write_parquet(tmp_path / "set")
    monkeypatch.setenv("COLUMNS", "60")
    query = "SELECT 'a long text that takes many columns' AS text, * FROM metrics LIMIT 2"
    _, whole, _ = command(capsys, monkeypatch, "sql", str(tmp_path / "set"), query)
    assert max(map(len, whole.splitlines())) > 60
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, fitting, _ = command(capsys, monkeypatch, "sql", str(tmp_path / "set"), query)
    assert max(map(len, fitting.splitlines())) <= 60 and "…" in fitting


COUNTS = [f"{count}_{name}" for name in "ab" for count in ("tp", "fp", "fn")]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("options", "columns"), [
    (["--level", "category"], ["name", "model_a", "model_b", "difference", "low", "high", "p"]),
    (["--by", "camera,weather"], ["camera", "weather", "model_a", "model_b", "difference", "low", "high", "p"]),
    (["--level", "image"], ["image_id", "influence", "share", *COUNTS]),
])  # fmt: skip
def test_comparisons_show_the_most_in_80_columns(
    options: list[str], columns: list[str], capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    models = [str(STREET / f"model_{name}.json") for name in "ab"]
    code, out, _ = command(capsys, monkeypatch, "compare", str(STREET / "instances.json"), *models, *options)
    lines = out.splitlines()
    assert code == 0 and max(map(len, lines)) <= 80
    assert [name.strip("│ ") for name in lines[1].split("┆")] == columns


@pytest.mark.slow
def test_slices_name_all_that_is_not_shown(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, out, _ = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--by", "weather")
    assert out.splitlines()[1].split("┆")[0].strip("│ ") == "weather"
    assert out.splitlines()[-1] == "not shown: AP75, AR1, AR10, AR100, ARs, ARm, ARl, n_detections, n_categories"


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 70, 80, 90, 100])
def test_comparisons_of_runs_show_both_ends_of_an_interval(width: int, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    search = STREET.parent / "search"
    runs = [str(search / f"run_{name}.txt") for name in ("lexical", "hybrid")]
    _, out, _ = command(capsys, monkeypatch, "rank", str(search / "qrels.txt"), *runs, "--compare", "-m", "AP")
    head = out.splitlines()[1]
    assert (" low " in head) == (" high " in head) and "difference" in head


@pytest.mark.slow
def test_spinner_shows_names_as_they_are(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    target = tmp_path / "[red]x[link=a]\x1b]0;title\x07"
    code, _, _ = command(capsys, monkeypatch, "convert", TRUTH, str(target), "--to", "voc")
    assert code == 0
    assert r"[red]x[link=a]\x1b]0;title\x07" in screen.getvalue()


def test_interruption_ends_the_command_with_130(capsys: Capture, monkeypatch: Patch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(apf, "evaluate", interrupted)
    assert command(capsys, monkeypatch, "eval", TRUTH, RESULTS) == (130, "", "")

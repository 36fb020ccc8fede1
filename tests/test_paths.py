"""Paths are names: what a file is called changes nothing, a pipe is read once, and what never ends is an error."""

from __future__ import annotations

import gzip
import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, OutputError, UnknownIdError
from apframe.formats.coco.scan import scan_results, scan_truth
from apframe.formats.image_sizes import read_image_sizes
from apframe.retrieval.trec import read_queries
from apframe.tables.table_files import not_deep
from tests.cli.test_command import FOUND, SMALL, command
from tests.formats.folders import written

BOX = {"x": [0.0], "y": [0.0], "width": [40.0], "height": [30.0]}
DETECTIONS = pl.DataFrame({"image_id": [1], "category_id": [1], "score": [0.9], **BOX})

# ---- a name is no pattern

# what Polars, DuckDB or glob take for a pattern, an address, a home folder or a column; and names that the patterns match
ODD = ["a[1]", "a*", "a?", "~", "a%31", "a=1", "s3:", "file:", "a#1", "a{1}"]
NEIGHBOURS = ["a1", "ab"]


def frame_to(path: Path, frame: pl.DataFrame) -> None:
    with path.open("wb") as file:
        if path.suffix == ".parquet":
            frame.write_parquet(file)
        elif path.suffix == ".csv":
            frame.write_csv(file)
        else:
            frame.write_ipc(file)


def results(path: Path, value: str) -> None:
    frame_to(path, DETECTIONS.with_columns(value=pl.lit(value)))


def judged(path: Path, value: str) -> None:
    frame_to(path, pl.DataFrame({"query_id": ["q"], "document_id": [value], "score": [1.0], "relevance": [1.0]}))


def queries(path: Path, value: str) -> None:
    frame_to(path, pl.DataFrame({"query_id": ["q"], "topic": [value]}))


def sizes(path: Path, value: str) -> None:
    frame_to(path, pl.DataFrame({"file_name": [f"{value}.jpg"], "image_width": [9], "image_height": [9]}))


def run_text(path: Path, value: str) -> None:
    content = f"q Q0 {value} 1 0.5 me\n".encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def truth(path: Path, value: str) -> None:
    path.write_text(json.dumps(SMALL | {"categories": [{"id": 1, "name": value}]}))


def set_of(ending: str) -> Callable[[Path, str], None]:
    def write(path: Path, value: str) -> None:
        path.mkdir()
        frame_to(path / f"images{ending}", pl.DataFrame({"image_id": [1]}))
        frame_to(path / f"categories{ending}", pl.DataFrame({"category_id": [1], "name": [value]}))
        frame_to(path / f"annotations{ending}", DETECTIONS.drop("score"))

    return write


def stored(path: Path, value: str) -> None:
    apf.evaluate(SMALL | {"categories": [{"id": 1, "name": value}]}, FOUND).write_parquet(path)


CASES: dict[str, tuple[str, Callable[[Path, str], None], Callable[[str], str]]] = {
    "results, Parquet": (".parquet", results, lambda path: apf.read_results(path)["value"].item()),
    "results, Arrow": (".arrow", results, lambda path: apf.read_results(path)["value"].item()),
    "run, text": (".txt", run_text, lambda path: apf.read_run(path)["document_id"].item()),
    "run, gzip": (".gz", run_text, lambda path: apf.read_run(path)["document_id"].item()),
    "run, Parquet": (".parquet", judged, lambda path: apf.read_run(path)["document_id"].item()),
    "judgements, Parquet": (".parquet", judged, lambda path: apf.read_qrels(path)["document_id"].item()),
    "queries, CSV": (".csv", queries, lambda path: read_queries(path)["topic"].item()),
    "queries, Parquet": (".parquet", queries, lambda path: read_queries(path)["topic"].item()),
    "image sizes, CSV": (".csv", sizes, lambda path: read_image_sizes(path)["image_id"].item()),
    "image sizes, Parquet": (".parquet", sizes, lambda path: read_image_sizes(path)["image_id"].item()),
    "COCO": (".json", truth, lambda path: apf.read_dataset(path).categories["name"].item()),
    "set, Parquet": ("", set_of(".parquet"), lambda path: apf.read_dataset(path).categories["name"].item()),
    "set, Arrow": ("", set_of(".arrow"), lambda path: apf.read_dataset(path).categories["name"].item()),
    "evaluation": ("", stored, lambda path: apf.read_evaluation(path).dataset.categories["name"].item()),
    "runs": ("", stored, lambda path: apf.scan_runs([path]).tables["categories"].collect()["name"].item()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("case", CASES)
def test_a_name_is_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, name: str) -> None:
    ending, write, read = CASES[case]
    monkeypatch.chdir(tmp_path)
    for neighbour in NEIGHBOURS:
        write(Path(neighbour + ending), "another")
    write(Path(name + ending), "meant")
    assert read(name + ending) == "meant"
    assert read(str(tmp_path / (name + ending))) == "meant"


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("case", ["results, Arrow", "results, Parquet", "run, text", "queries, CSV", "evaluation"])
def test_nor_is_that_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, name: str) -> None:
    ending, write, read = CASES[case]
    monkeypatch.chdir(tmp_path)
    for folder, value in {**dict.fromkeys(NEIGHBOURS, "another"), name: "meant"}.items():
        Path(folder).mkdir()
        write(Path(folder, f"b{ending}"), value)
    assert read(f"{name}/b{ending}") == "meant"


@pytest.mark.parametrize("name", ["a[1]", "a*", "a=1"])
def test_nor_that_of_the_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    scanned = scan_truth(json.dumps(SMALL).encode(), masks=False)
    assert scanned is not None
    assert scanned[1]["image_id"].to_list() == [1]
    assert scan_results(Path("a.json"), BytesIO(json.dumps(FOUND).encode())) is not None


@pytest.mark.slow
def test_a_run_whose_name_is_a_pattern_is_queried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a1", "a[1]"):
        stored(tmp_path / name, name)
    query = "SELECT name FROM categories"
    assert command(capsys, monkeypatch, "sql", str(tmp_path / "a[1]"), query, "--csv")[:2] == (0, "name\na[1]\n")
    code, printed, _ = command(capsys, monkeypatch, "sql", str(tmp_path / "a*"), query, "--csv")
    assert (code, sorted(printed.split())) == (0, ["a1", "a[1]", "name"])


# ---- patterns


def run_names(pattern: str | Path) -> list[str]:
    return apf.scan_runs(pattern).tables["runs"].collect()["run"].to_list()


@pytest.mark.slow
def test_links_that_lead_in_circles_end(tmp_path: Path) -> None:
    for name in ("one/a", "two/b"):
        (tmp_path / "runs" / name).parent.mkdir(parents=True)
        stored(tmp_path / "runs" / name, "cat")
    for folder in ("one", "two"):
        for number in range(4):
            (tmp_path / "runs" / folder / f"up{number}").symlink_to("..")
    (tmp_path / "runs" / "self").symlink_to("self")
    assert run_names(tmp_path / "runs" / "**") == ["a", "b"]
    assert run_names(tmp_path / "**" / "a") == ["a"]
    assert run_names(tmp_path / "**" / "**" / "?") == ["a", "b"]


@pytest.mark.slow
def test_two_stars_follow_links(tmp_path: Path) -> None:
    stored(tmp_path / "elsewhere" / "a", "a")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "disk").symlink_to(tmp_path / "elsewhere")
    assert run_names(tmp_path / "runs" / "**") == ["a"]
    assert run_names(f"{tmp_path}/runs/**/a") == ["a"]


# ---- pipes, devices and sockets

YOLO = {
    "data.yaml": "names: [cat]\nval: images\n",
    "images/a.jpg": "",
    "image_sizes.csv": "file_name,image_width,image_height\na,9,9\n",
}
XML = "<annotation></annotation>"
CSV = "ImageID,LabelName,XMin,XMax,YMin,YMax\na,cat,0,1,0,1\n"


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[..., Path]:
    """Makes a pipe with a name, into which something is written once."""

    def make(content: str | bytes, name: str = "pipe") -> Path:
        path = tmp_path / name
        os.mkfifo(path)
        data = content.encode() if isinstance(content, str) else content
        threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
        return path

    return make


@pytest.mark.slow
def test_pipes_are_read_to_their_end(
    pipe: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_truth, of_results = pipe(gzip.compress(json.dumps(SMALL).encode()), "truth"), pipe(json.dumps(FOUND), "results")
    code, printed, error = command(capsys, monkeypatch, "eval", str(of_truth), str(of_results), "--by", "name", "--csv")
    assert (code, printed.splitlines()[1][:4], error) == (0, "cat,", "")


def test_the_attributes_of_a_pipe_are_still_there_later(pipe: Callable[..., Path]) -> None:
    rows = [row | {"seen": "well"} for row in SMALL["annotations"]]  # type: ignore[union-attr]
    dataset = apf.read_dataset(pipe(json.dumps(SMALL | {"annotations": rows})))
    assert dataset.annotations["seen"].to_list() == ["well"]


def test_a_pipe_that_is_wrong_is_looked_at_no_further(pipe: Callable[..., Path]) -> None:
    with pytest.raises(UnknownIdError, match="image_id"):
        apf.evaluate(SMALL, pipe(json.dumps([row | {"image_id": 7} for row in FOUND])))


def test_pipes_are_checked(pipe: Callable[..., Path]) -> None:
    wrong = SMALL | {"annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, -1, 9]}]}
    findings = apf.check(pipe(json.dumps(wrong), "truth"), pipe(json.dumps([FOUND[0] | {"score": None}]), "results"))
    assert findings.filter(pl.col("severity") == "error")["check"].to_list() == ["invalid_value", "invalid_value"]


@pytest.mark.parametrize(
    "case", ["results, Parquet", "results, Arrow", "run, text", "run, gzip", "run, Parquet", "queries, CSV"]
)
def test_pipes_of_other_kinds_are_read_too(pipe: Callable[..., Path], tmp_path: Path, case: str) -> None:
    ending, write, read = CASES[case]
    write(tmp_path / f"file{ending}", "meant")
    assert read(str(pipe((tmp_path / f"file{ending}").read_bytes(), f"pipe{ending}"))) == "meant"


def test_an_empty_pipe_says_so(pipe: Callable[..., Path]) -> None:
    with pytest.raises(FormatError, match="the file is empty"):
        apf.read_results(pipe(b""))


@pytest.mark.parametrize("path", ["/dev/zero", "socket"])
def test_devices_and_sockets_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for read in (apf.read_dataset, apf.read_results, apf.read_qrels, read_queries, read_image_sizes):
            with pytest.raises(FormatError, match=f"^{path}: this is a device or a socket; name a file"):
                read(path)


@pytest.mark.parametrize(
    ("format_", "files", "place"),
    [
        ("voc", {"a.xml": XML}, "b.xml"),
        ("yolo", YOLO, "labels/a.txt"),
        ("yolo", YOLO, "images/b.jpg"),
        ("yolo", YOLO | {"data.yaml": "names: [cat]\nval: list.txt\n", "list.txt": "images/a.jpg\n"}, "labels/a.txt"),
        ("boxes", {"a.txt": "cat 0 0 9 9\n"}, "b.txt"),
        ("open_images", {"boxes.csv": CSV}, "images.csv"),
        ("arrow", {}, "images.arrow"),
        ("parquet", {}, "images.parquet"),
    ],
)
def test_what_is_no_file_is_refused_in_folders(tmp_path: Path, format_: str, files: dict[str, str], place: str) -> None:
    folder = written(tmp_path / "set", files)
    (folder / place).parent.mkdir(exist_ok=True)
    os.mkfifo(folder / place)
    for chosen in (format_, None):
        with pytest.raises(FormatError, match="this is a pipe where a file is expected; remove it"):
            apf.read_dataset(folder, chosen)
    (folder / place).unlink()
    (folder / place).symlink_to("/dev/zero")
    with pytest.raises(FormatError, match="this is a device or a socket where a file is expected; remove it"):
        apf.read_dataset(folder, format_)


def test_a_pipe_as_the_manifest_of_a_run(tmp_path: Path) -> None:
    os.mkfifo(written(tmp_path / "run", {"images.parquet": ""}) / "manifest.json")
    with pytest.raises(FormatError, match="this is a pipe where a file is expected"):
        apf.read_evaluation(tmp_path / "run")
    with pytest.raises(FormatError, match="this is a pipe where a file is expected"):
        apf.scan_runs(tmp_path / "*")


# ---- names that no file can have

NO_NAMES = {"too long": "a" * 10_000, "a part that is too long": "a/" * 3_000, "NUL": "a\0b"}
READERS: list[Callable[[str], object]] = [
    apf.read_dataset, apf.read_results, apf.read_evaluation, apf.scan_runs, apf.read_qrels, read_queries, read_image_sizes,
    lambda path: apf.read_run(f"{path}.parquet"), lambda path: read_image_sizes(f"{path}.parquet"), apf.read_coco,
]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES.values(), ids=NO_NAMES)
@pytest.mark.parametrize("read", READERS, ids=range(len(READERS)))
def test_no_file_has_such_a_name(read: Callable[[str], object], name: str) -> None:
    with pytest.raises(FormatError):
        read(name)


@pytest.mark.parametrize("name", NO_NAMES.values(), ids=NO_NAMES)
@pytest.mark.parametrize("files", [{"list.txt": "{}\n"}, {"list.txt": "{}.jpg\n"}, {"data.yaml": "names: [cat]\nval: '{}'\n"}])
def test_nor_do_files_that_are_listed(tmp_path: Path, files: dict[str, str], name: str) -> None:
    contents = {"data.yaml": "names: [cat]\nval: list.txt\n"} | {file: text.format(name) for file, text in files.items()}
    with pytest.raises(FormatError):
        apf.read_dataset(written(tmp_path, contents), "yolo")


def test_a_list_of_images_that_is_no_text(tmp_path: Path) -> None:
    contents = {"data.yaml": "names: [cat]\nval: list.txt\n", "list.txt": bytes(range(256)) * 20}
    with pytest.raises(FormatError, match=r"list.txt: line \d+ is not UTF-8 text"):
        apf.read_dataset(written(tmp_path, contents))


@pytest.mark.slow
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    for case in ("results, Parquet", "results, Arrow", "run, gzip", "run, Parquet", "queries, CSV", "COCO"):
        ending, write, read = CASES[case]
        write(tmp_path / f"a{ending}", "meant")
        (tmp_path / f"a{ending}").rename(folder / f"a{ending}")
        assert read(str(folder / f"a{ending}")) == "meant"
    (folder / "b.txt").write_text("cat 0 0 9 9\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        apf.read_run(folder / "b.txt")
    (folder / "b.txt").rename(folder / os.fsdecode(b"\xff.txt"))
    with pytest.raises(FormatError, match="not UTF-8"):
        apf.read_dataset(folder, "boxes")
    stored(tmp_path / "run", "cat")
    (tmp_path / "run").rename(folder / "run")
    with pytest.raises(FormatError, match="not UTF-8"):
        apf.read_evaluation(folder / "run")
    with pytest.raises(FormatError, match="not UTF-8"):
        apf.scan_runs(folder / "run")


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("name", [*NO_NAMES.values(), "circle/a", os.fsdecode(b"\xff")], ids=[*NO_NAMES, "circle", "not UTF-8"])
def test_nor_is_anything_written_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    dataset, place = apf.read_dataset(SMALL), tmp_path / name
    for write in (apf.evaluate(dataset, FOUND).write_parquet, apf.evaluate(dataset, FOUND).write_duckdb):
        with pytest.raises(OutputError):
            write(place)
    for format_ in ("coco", "voc", "parquet", "arrow") if name.isascii() else ():  # other formats can have the last name
        with pytest.raises(OutputError):
            apf.write_dataset(dataset, place, format_)


def test_json_that_is_nested_too_deep_for_polars() -> None:
    assert not_deep(b"[" * 100 + b"]" * 100)
    texts = b'{"a": "' + b"[" * 200 + b'"}'
    assert not_deep(texts) == texts  # brackets in a text open nothing
    for deep in (b"[" * 101 + b"]" * 101, b'{"a":' * 101 + b"1" + b"}" * 101, b"[[]," * 101 + b"1" + b"]" * 101):
        with pytest.raises(pl.exceptions.ComputeError, match="it is nested too deeply"):
            not_deep(deep)

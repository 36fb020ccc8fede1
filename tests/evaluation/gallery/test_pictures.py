"""Where the pictures of images are."""

from __future__ import annotations

import os
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from PIL import Image

from apframe.evaluation.gallery.pictures import SIDE, Pictures, PicturesInside
from apframe.exceptions import FormatError, ParameterError

ODD = "grüße #1 100% 'a' & \"b\".jpg"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some pictures, none of which can be read, in folders."""
    names = ["a.jpg", "b.svg", "val/c.png", "val/d.jpg", "train/d.jpg", "train/notes.txt", ODD, "scan.tif"]
    names += [
        "0001.left.jpg",
        "0001.right.jpg",
        "0001.jpg",
        "one/seq/1.png",
        "two/seq/1.png",
        "GRU\N{COMBINING DIAERESIS}SSE.png",
    ]
    for name in names:
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_text("x")
    return tmp_path / "images"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("seq/1.png", None),  # there are two
        ("one/seq/1.png", "one/seq/1.png"),
        ("/data/one/seq/1.png", "one/seq/1.png"),
        ("C:\\two\\seq\\1.jpg", "two/seq/1.png"),
        ("1.png", None),  # there are two
        ("0001.left", "0001.left.jpg"),  # which is no ending
        ("GRÜSSE.JPG", "GRU\N{COMBINING DIAERESIS}SSE.png"),  # as macOS writes it
        ("a.jpg", "a.jpg"),
        ("./a.jpg", "a.jpg"),
        ("b.jpg", "b.svg"),
        ("c.png", "val/c.png"),
        ("val2014/c.png", "val/c.png"),
        ("val2014\\c.jpg", "val/c.png"),
        ("val/d.jpg", "val/d.jpg"),
        ("a", "a.jpg"),
        ("d.jpg", None),  # there are two
        ("e.jpg", None),
        ("notes.jpg", None),
        (None, None),
    ],
)
def test_a_picture_is_found_by_its_name(folder: Path, name: str | None, file: str | None) -> None:
    assert Pictures(folder).find([name]) == [None if file is None else folder / file]


def test_links_are_relative_to_the_page_and_quoted(folder: Path) -> None:
    pictures = Pictures(folder, folder.parent / "reports")
    assert pictures.links(["a.jpg", "x", ODD])["href"].to_list() == [
        "../images/a.jpg",
        None,
        "../images/gr%C3%BC%C3%9Fe%20%231%20100%25%20%27a%27%20%26%20%22b%22.jpg",
    ]
    assert Pictures(folder).links(["a.jpg"])["href"].to_list() == [(folder / "a.jpg").as_uri()]
    assert Pictures(None).links(["a.jpg"])["href"].to_list() == [None]


@pytest.mark.slow
def test_thumbnails_are_small_and_what_cannot_be_read_is_missing(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGBA", (1000, 500)).save(folder / "large.png")
    image.new("L", (10, 20)).save(folder / "grey.png")
    image.effect_noise((640, 640), 100).save(folder / "noise.png")
    (folder / "large.svg").write_text("x" * 50_001)
    pictures = Pictures(folder, folder, embed=True)
    links = pictures.links(["large.png", "grey.png", "b.svg", "a.jpg", "large.svg", "noise.png"])
    large, grey, drawing, broken, _, noise = held(pictures, links["href"])
    assert drawing is not None and noise is not None
    sizes = [image.open(BytesIO(b64decode(str(each).partition(",")[2]))).size for each in (large, grey)]
    assert sizes == [(SIDE, SIDE // 2), (10, 20)]
    assert drawing.startswith("data:image/svg+xml;base64,")
    assert broken is None
    assert len(b64decode(noise.partition(",")[2])) < 20_000, "with a lower quality"
    assert links["missing"].to_list() == [None, None, None, "that cannot be read", "too large to be put into the page", None]


def held(pictures: Pictures, hrefs: pl.Series) -> list[str | None]:
    """What references stand for."""
    return [None if href is None else pictures.held[href.removeprefix("#")] for href in hrefs]


def test_equal_thumbnails_are_held_once(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("x1.png", "red"), ("x2.png", "red"), ("x3.png", "blue")):
        image.new("RGB", (10, 10), colour).save(folder / name)
    pictures = Pictures(folder, embed=True)
    hrefs = pictures.links(["x1.png", "x2.png", "x3.png", "x1.png", "none.png"])["href"].to_list()
    assert hrefs[0] == hrefs[1] == hrefs[3] != hrefs[2] and hrefs[4] is None
    assert [f"#{key}" for key in pictures.held] == [hrefs[0], hrefs[2]]
    assert all(each.startswith("data:image/jpeg;base64,") for each in pictures.held.values())


def test_links_to_what_has_gone_are_missing(folder: Path) -> None:
    (folder / "gone.jpg").symlink_to(folder / "nowhere.jpg")
    os.mkfifo(folder / "pipe.jpg")
    for embed in (False, True):
        links = Pictures(folder, folder, embed=embed).links(["gone.jpg", "pipe.jpg"])
        assert links.rows() == [(None, "that cannot be read")] * 2


def test_names_lead_nowhere_else(folder: Path) -> None:
    """Only files that the folder holds are linked, and an address cannot begin with a scheme or a host."""
    (folder.parent / "secret.jpg").write_text("x")
    (folder / "javascript:x.jpg").write_text("x")
    names = ["../secret.jpg", str(folder.parent / "secret.jpg"), (folder.parent / "secret.jpg").as_uri(), "//host/secret.jpg"]
    pictures = Pictures(folder, folder)
    assert pictures.links(names)["href"].to_list() == [None] * 4
    assert pictures.links(["javascript:x.jpg", "//host/a.jpg"])["href"].to_list() == ["javascript%3Ax.jpg", "a.jpg"]


def test_why_pictures_are_missing(folder: Path) -> None:
    names = ["x.jpg", "d.jpg", None, "", "scan.tif", "a.jpg"]
    assert Pictures(folder).links(names)["missing"].to_list() == [
        "not in the folder", "of which the folder has several", "without a file name", "without a file name",
        "in a format that browsers do not show", None,
    ]  # fmt: skip
    assert Pictures(None).links(["a.jpg"]).rows() == [(None, "not in the folder")]


def test_links_to_folders_are_followed_once(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "linked.jpg").touch()
    (folder / "more").symlink_to(folder.parent / "elsewhere")
    (folder / "again").symlink_to(folder)
    pictures = Pictures(folder, folder)
    assert pictures.links(["linked.jpg", "a.jpg"])["href"].to_list() == ["more/linked.jpg", "a.jpg"]


def test_folders_whose_names_are_no_text(tmp_path: Path) -> None:
    try:
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes text alone")
    (folder / "a.jpg").touch()
    assert Pictures(tmp_path, tmp_path).links(["a.jpg"])["href"].to_list() == ["%FF/a.jpg"]


def test_thumbnails_are_turned_and_grey_ones_of_16_bits_seen(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    exif = image.Exif()
    exif[0x0112] = 6  # a quarter turn
    image.new("RGB", (20, 10), "red").save(folder / "turned.jpg", exif=exif)
    image.new("I;16", (20, 10), 128 * 256).save(folder / "deep.png")
    pictures = Pictures(folder, embed=True)
    thumbnails = held(pictures, pictures.links(["turned.jpg", "deep.png"])["href"])
    turned, deep = (image.open(BytesIO(b64decode(str(each).partition(",")[2]))) for each in thumbnails)
    assert turned.size == (10, 20)
    assert deep.getpixel((5, 5)) == (128, 128, 128)


def test_errors_say_what_to_do(folder: Path) -> None:
    with pytest.raises(FormatError, match="is not there; name the folder"):
        Pictures(folder / "missing")
    with pytest.raises(FormatError, match="is a file, not a folder of pictures"):
        Pictures(folder / "a.jpg")
    with patch.dict("sys.modules", {"PIL": None, "PIL.Image": None}), pytest.raises(ParameterError, match='extra "report"'):
        Pictures(folder, embed=True)


def test_unknown_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    Image.new("RGB", (30, 20)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_text("no image")
    images = pl.DataFrame({"image_id": [1, 2, 3], "file_name": ["a.png", "b.png", "c.png"]})
    unknown = (None, None)
    assert Pictures(tmp_path).sizes(images).rows() == [(1, 30, 20), (2, *unknown), (3, *unknown)]
    sized_images = images.with_columns(image_width=pl.Series([9, None, 7]), image_height=pl.Series([8, None, 6]))
    assert Pictures(tmp_path).sizes(sized_images).rows() == [(1, 9, 8), (2, *unknown), (3, 7, 6)]


def test_whole_files_are_in_the_addresses(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"abc")
    (tmp_path / "b.svg").write_bytes(b"<svg/>")
    addresses = PicturesInside(tmp_path).links(["a.png", "b.jpg", "c.png"])["href"]
    assert addresses.to_list() == ["data:image/png;base64,YWJj", "data:image/svg+xml;base64,PHN2Zy8+", None]

"""Label maps: image files of every kind that holds numbers, and the pixels that two of them share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import FormatError
from apframe.tables.shapes.label_maps import INNER, count_labels, outlined, share_pixels
from tests.benchmarks.pixels.panoptic.panoptic_maps import boundary, write_map

NUMBERS = np.array([[0, 7, 7], [300, 300, 65_536 * 200 + 9]])


def test_a_fourth_channel_does_not_count(tmp_path: Path) -> None:
    paths = [write_map(tmp_path / "map.png", NUMBERS), str(tmp_path / "four.png")]
    Image.open(paths[0]).convert("RGBA").save(paths[1])
    shared = share_pixels(*([path] for path in paths))
    assert shared.drop("image").rows() == [(0, 0, 1), (7, 7, 2), (300, 300, 2), (NUMBERS[1, 2], NUMBERS[1, 2], 1)]


@pytest.mark.parametrize(("dtype", "mode"), [(np.uint8, "L"), (np.uint16, "I;16"), (np.uint8, "P")])
def test_numbers_of_one_channel(dtype: type, mode: str, tmp_path: Path) -> None:
    values = np.array([[0, 1, 255], [3, 3, 2]], dtype=dtype)
    image = Image.fromarray(values)
    if mode == "P":
        image.putpalette([5, 6, 7] * 256)
    assert image.mode == mode
    image.save(tmp_path / "map.png")
    counts = count_labels([str(tmp_path / "map.png")])
    assert counts.select("segment_id", "pixels").rows() == [(0, 1), (1, 1), (2, 1), (3, 2), (255, 1)]


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_pixels_are_the_same_without_imagecodecs(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = Image.effect_noise((7, 5), 90).convert(mode)
    image.save(tmp_path / "plain.png")
    image.convert("RGB").save(tmp_path / "transparent.png", transparency=image.convert("RGB").getpixel((0, 0)))
    paths = [str(tmp_path / name) for name in ("plain.png", "transparent.png")]
    counts, shared = count_labels(paths), share_pixels(*([path] for path in paths))
    monkeypatch.setitem(sys.modules, "imagecodecs", None)
    assert count_labels(paths).equals(counts)
    assert share_pixels(*([path] for path in paths)).equals(shared)


def test_pictures_that_are_too_large_are_left_to_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_map(tmp_path / "map.png", NUMBERS)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1)
    monkeypatch.setattr("apframe.tables.shapes.label_maps._LARGEST", 5)
    with pytest.raises(FormatError, match=r"map\.png: cannot be read as an image \(Image size \(6 pixels\) exceeds limit"):
        count_labels([str(path)])


@pytest.mark.parametrize("mode", ["1", "LA", "CMYK", "F"])
def test_other_pixels_are_refused(mode: str, tmp_path: Path) -> None:
    Image.new(mode, (3, 2)).save(tmp_path / "map.tiff")
    with pytest.raises(FormatError, match=f"has pixels of the kind {mode}"):
        count_labels([str(tmp_path / "map.tiff")])


@pytest.mark.slow
def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such label map"):
        count_labels([str(tmp_path / "none.png")])
    path = Path(write_map(tmp_path / "cut.png", np.arange(4096).reshape(64, 64) * 4097 % (1 << 24)))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FormatError, match=r"cut\.png: cannot be read as an image"):
        count_labels([str(path)])
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(FormatError, match=r"text\.png: cannot be read as an image"):
        count_labels([str(tmp_path / "text.png")])
    with pytest.raises(FormatError, match=r"has the number 16777216; numbers of segments are below 2\^24"):
        Image.fromarray(np.full((2, 2), 1 << 24, dtype=np.int32)).save(tmp_path / "large.tiff")
        count_labels([str(tmp_path / "large.tiff")])


def test_labels_are_counted(tmp_path: Path) -> None:
    paths = [write_map(tmp_path / "a.png", NUMBERS), write_map(tmp_path / "b.png", NUMBERS.T)]
    counts = count_labels(paths)
    assert counts.select("image", "segment_id", "pixels").rows() == [
        (k, number, n) for k in (0, 1) for number, n in ((0, 1), (7, 2), (300, 2), (65_536 * 200 + 9, 1))
    ]
    assert counts.group_by("image", maintain_order=True).first()["image_height", "image_width"].rows() == [(2, 3), (3, 2)]
    assert count_labels([]).is_empty()


def test_shared_pixels_in_a_plain_loop(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    maps = [[rng.integers(0, 3, (9, 12)) * 70_000 for _ in range(2)] for _ in range(5)]
    paths = [[write_map(tmp_path / f"{k}{side}.png", pair[side]) for k, pair in enumerate(maps)] for side in (0, 1)]
    expected = {}
    for k, (a, b) in enumerate(maps):
        for both in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
            expected[k, *both] = expected.get((k, *both), 0) + 1
    for threads in (1, 2):
        apf.set_threads(threads)
        shared = share_pixels(*paths)
        assert {row[:3]: row[3] for row in shared.rows()} == expected
    apf.set_threads(None)
    assert shared.select(pl.struct("image", "annotated", "detected").is_unique().all()).item()


def test_maps_of_different_sizes_are_refused(tmp_path: Path) -> None:
    paths = [write_map(tmp_path / "a.png", NUMBERS), write_map(tmp_path / "b.png", NUMBERS.T)]
    with pytest.raises(FormatError, match=r"b\.png: is 2 x 3 pixels, but the annotated one is 3 x 2 .*a\.png"):
        share_pixels(paths[:1], paths[1:])


@pytest.mark.parametrize("dilation", [0.02, 0.1, 0.2])
def test_outlines_are_the_boundaries_of_each_segment(dilation: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        values = np.kron(rng.integers(0, 4, (3, 4)), np.ones((rng.integers(1, 9), rng.integers(1, 9)), dtype=int))
        outlines = outlined(values.astype(np.uint32), dilation)
        for number in (1, 2, 3):
            assert ((outlines == number) == boundary(values == number, dilation)).all()
        assert ((outlines == INNER) == ((values > 0) & (outlines != values))).all()
        assert ((outlines == 0) == (values == 0)).all()


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are a matter of Unix")
def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(FormatError, match="this is a pipe where a file is expected"):
        count_labels([str(tmp_path / "a.png")])

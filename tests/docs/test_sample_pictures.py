"""The sample pictures: made from the annotations, the same bytes each time, small, and found by the names of the images."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import apframe as apf
from apframe.evaluation.gallery.pictures import Pictures

DATA = Path(__file__).parents[2] / "data"
STREET = DATA / "street"
MOST_BYTES = 1_500_000
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.slow
def test_the_same_bytes_are_made_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(DATA / "generate_pictures.py"), "--out", str(tmp_path)], check=True)
    pictures, kept = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (tmp_path, STREET / "images"))
    assert pictures == kept
    assert sum(map(len, kept.values())) <= MOST_BYTES


@pytest.mark.slow
def test_every_image_has_a_picture_of_its_size() -> None:
    images = apf.read_dataset(STREET / "instances.json").images
    paths = Pictures(STREET / "images").find(images["file_name"])
    assert len(set(paths)) == images.height
    for path, width, height in zip(paths, images["image_width"], images["image_height"], strict=True):
        assert path is not None
        root = ET.parse(path).getroot()
        assert root.get("viewBox") == f"0 0 {width} {height}"


@pytest.mark.slow
def test_every_object_is_drawn_where_its_box_is() -> None:
    """Those that go on beyond the picture are drawn whole, and crowds are drawn as several."""
    truth = apf.read_dataset(STREET / "instances.json")
    files = dict(truth.images.select("image_id", "file_name").rows())
    plain = truth.annotations.filter(~truth.annotations["is_crowd"], ~truth.annotations["truncated"])
    places = {}
    for image_id, name in files.items():
        uses = ET.parse(STREET / "images" / Path(name).with_suffix(".svg")).getroot().iter(f"{SVG}use")
        places[image_id] = {tuple(float(use.get(side, "")) for side in ("x", "y", "width", "height")) for use in uses}
    for image_id, x, y, width, height in plain.select("image_id", "x", "y", "width", "height").iter_rows():
        box = (float(f"{x:.0f}"), float(f"{y:.0f}"), float(f"{width:.1f}"), float(f"{height:.1f}"))
        assert box in places[image_id]

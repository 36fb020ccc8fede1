"""The picture of the README: errors on the report of the sample set. `python -m tests.docs.picture` takes it anew."""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path

import apframe as apf
from tests.report.browser import opened

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "report.png"
SIZE = {"width": 1180, "height": 760}


def write_page(folder: Path) -> Path:
    """The report that the picture shows."""
    street = ROOT / "data" / "street"
    models = [apf.evaluate(street / "instances.json", street / f"{name}.json") for name in ("model_a", "model_b")]
    return apf.write_report(folder / "report.html", *models, by="weather", images=street / "images")


def take(page: Path) -> bytes:
    """A picture of the section with the errors, with few colours."""
    from PIL import Image

    with opened(page, viewport=SIZE) as tab:
        tab.evaluate("document.querySelector('#look').scrollIntoView()")
        tab.wait_for_function("[...document.images].slice(0, 9).every((each) => each.complete)")
        shot = Image.open(BytesIO(tab.screenshot()))
    small = BytesIO()
    shot.convert("RGB").quantize(255, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_bytes(take(write_page(Path(folder))))

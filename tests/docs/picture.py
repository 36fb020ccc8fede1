"""The pictures of the README and of the guide to the report. `python -m tests.docs.picture` takes them anew."""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path

import apframe as apf
from tests.report.browser import opened, running, wait_until

ROOT = Path(__file__).parents[2]
PICTURE, SHOWN = ROOT / "docs" / "report.png", ROOT / "docs" / "show.png"
STREET = ROOT / "data" / "street"
SIZE = {"width": 1180, "height": 760}


def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


def write_page(folder: Path) -> Path:
    """The report that the picture of the README shows."""
    return apf.write_report(folder / "report.html", *models(), by="weather", images=STREET / "images")


def take(page: Path) -> bytes:
    """A picture of the section with the errors, with few colours."""
    from PIL import Image

    with running() as browser, opened(browser, page, viewport=SIZE) as tab:
        tab.evaluate("document.querySelector('#gallery').scrollIntoView()")
        wait_until(tab, "[...document.images].slice(0, 9).every((each) => each.complete)")
        shot = Image.open(BytesIO(tab.screenshot()))
    small = BytesIO()
    shot.convert("RGB").quantize(255, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def take_shown(folder: Path) -> bytes:
    """What a notebook shows of one image."""
    a, b = models()
    page = folder / "show.html"
    page.write_text(f'<meta charset="utf-8"><body style="font:14px sans-serif">{a.show(935, b, images=STREET / "images").html}')
    with running() as browser, opened(browser, page, viewport={"width": 900, "height": 620}) as tab:
        return bytes(tab.locator("body > div").screenshot())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_bytes(take(write_page(Path(folder))))
        SHOWN.write_bytes(take_shown(Path(folder)))

"""`make docs` is strict: what leads nowhere fails the build, no page needs the network, and the search finds its pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.site import build
from tests.report.browser import opened, running, wait_until

pytest.importorskip("mkdocs")
pytestmark = pytest.mark.slow


# what people type into the search, and the page that answers
TYPED = {
    "confusion matrix": "guides/confusion",
    "calibration": "guides/calibration",
    "are my scores calibrated": "guides/calibration",
    "TIDE": "guides/error_analysis",
    "false positives": "guides/error_analysis",
    "nms": "guides/error_analysis",
    "label errors": "guides/label_errors",
    "wrong labels in my dataset": "guides/label_errors",
    "threshold": "guides/thresholds",
    "f1 score": "guides/thresholds",
    "mAP different": "coming_from/ultralytics",
    "why is my mAP lower than yolo val": "coming_from/ultralytics",
    "ultralytics": "coming_from/ultralytics",
    "yolo": "guides/formats",
    "wandb": "guides/loggers",
    "log to wandb": "guides/loggers",
    "mlflow": "guides/loggers",
    "tensorboard": "guides/loggers",
    "lightning": "get_started/training_loop",
    "small objects": "guides/slices",
    "AP per class": "guides/slices",
    "plot": "guides/charts",
    "precision recall curve": "guides/charts",
    "html report": "guides/report",
    "duckdb": "guides/sql",
    "merge datasets": "guides/checking_data",
    "confidence interval": "concepts/intervals",
    "is model B better than model A": "guides/compare",
    "bootstrap": "guides/compare",
    "p-value": "guides/compare",
    "significance": "guides/compare",
    "leaderboard": "guides/many_runs",
    "github actions": "guides/ci_gate",
    "crowd": "concepts/matching",
    "ignore": "concepts/matching",
    "average precision": "concepts/average_precision",
    "kitti": "guides/driving",
    "keypoints": "guides/people",
    "segmentation": "guides/panoptic",
    "rotated boxes": "guides/aerial",
    "custom metric": "guides/custom_protocols",
    "ndcg": "guides/retrieval",
    "mrr": "guides/retrieval",
    "out of memory": "guides/larger_than_memory",
    "ray": "guides/clusters",
    "multiprocessing": "guides/clusters",
    "pycocotools": "coming_from/pycocotools",
    "fiftyone": "coming_from/fiftyone",
    "trec_eval": "coming_from/search_tools",
    "install": "index",
}


def test_the_site_is_built_and_its_search_finds_pages() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.docs.site"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    hits = first_hits(ROOT / "site", list(TYPED))
    assert {words: hits[words] for words, page in TYPED.items() if page not in hits[words]} == {}


def first_hits(site: Path, typed: list[str], n_pages: int = 3) -> dict[str, list[str]]:
    """The first pages that the search box of the site shows for these words."""
    hits = {}
    with running() as browser, opened(browser, site / "index.html") as page:
        result = "document.querySelector('.md-search-result__meta').innerText"
        page.locator("label.md-header__button[for=__search]").evaluate("(button) => button.click()")
        box = page.locator(".md-search__input")
        for words in typed:
            for text, answer in (("", "Type to start"), (words, "matching doc")):
                box.fill(text)
                box.press("End")  # the box is read when a key is released
                wait_until(page, f"{result}.includes('{answer}')")
            links = page.locator(".md-search-result__item > a").evaluate_all("(links) => links.map((link) => link.pathname)")
            pages = [link.removeprefix(f"{site.as_posix()}/").removesuffix(".html") for link in links]
            hits[words] = list(dict.fromkeys(pages))[:n_pages]
    return hits


def build_page(text: str, folder: Path) -> int:
    """Build a site of one page with the settings of the real one."""
    (folder / "pages").mkdir()
    (folder / "pages" / "index.md").write_text(text)
    configuration = folder / "mkdocs.yml"
    configuration.write_text(f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: pages\nsite_dir: site\nnav: [index.md]\n")
    return build(configuration)


def test_a_page_without_faults(tmp_path: Path) -> None:
    assert build_page("# One\n\n[There](#one)\n", tmp_path) == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert re.findall(r'(?:src|href)="https?://[^"]*"', page) == []


@pytest.mark.parametrize("fault", ["[gone](gone.md)", "[gone](#gone)", "[gone][apframe.gone]", "::: apframe.gone"])
def test_what_leads_nowhere_fails(fault: str, tmp_path: Path) -> None:
    assert build_page(f"# One\n\n{fault}\n", tmp_path) != 0

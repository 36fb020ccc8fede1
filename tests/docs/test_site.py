"""`make docs` is strict: what leads nowhere fails the build, and no page needs the network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.site import build

pytest.importorskip("mkdocs")
pytestmark = pytest.mark.slow


def test_the_site_is_built() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.docs.site"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    assert (ROOT / "site" / "index.html").is_file()


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

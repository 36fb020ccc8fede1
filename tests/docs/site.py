"""`python -m tests.docs.site` builds the site: docs/ with charts drawn, the reference made and the notebooks as pages."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

from tests.docs.pages import DOCS, ROOT, page_run, sample_folder
from tests.docs.reference import reference, undocumented

STAGE = ROOT / "build" / "docs"


def stage(folder: Path) -> None:
    """Write the pages as the site generator reads them."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py"))
    for path in sorted(DOCS.rglob("*.md")):
        _write(folder / path.relative_to(DOCS), _with_charts(path, folder))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        _write(folder / "notebooks" / f"{path.stem}.md", _notebook_page(path, folder / "notebooks"))
    with tempfile.TemporaryDirectory() as scratch, sample_folder(Path(scratch)):
        for name, text in reference().items():
            _write(folder / "reference" / name, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _with_charts(path: Path, folder: Path) -> str:
    """The page with each chart below the code that draws it; only pages that draw charts are run."""
    text = path.read_text()
    if "chart" not in text or "apf.plot." not in text:
        return text
    with tempfile.TemporaryDirectory() as scratch:
        page = page_run(text, Path(scratch))
    text = page.text
    for number, (place, chart) in reversed(list(enumerate(page.charts, start=1))):
        name = f"{path.stem}-{number}.svg"
        chart.save(folder / path.parent.relative_to(DOCS) / name)
        text = f"{text[:place]}\n\n![The chart that the code above draws]({name})\n{text[place:]}"
    return text


def _notebook_page(path: Path, folder: Path) -> str:
    """A notebook with its stored outputs as Markdown."""
    folder.mkdir(exist_ok=True)
    parts, cells = [], nbformat.read(path, as_version=4).cells
    for number, cell in enumerate(cells, start=1):
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        picture = folder / f"{path.stem}-{number}.png"
        parts += [_output_of_cell(output, picture) for output in cell.get("outputs", ())]
    return "\n\n".join(parts).replace(".ipynb)", ".md)") + "\n"  # links to other notebooks


def _output_of_cell(output: Any, picture: Path) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![The chart that the code above draws]({picture.name})"
    text = output.text if output.output_type == "stream" else data["text/plain"]
    return f"```text\n{text.rstrip()}\n```"


def build(configuration: Path) -> int:
    """Run the generator; 0 if it has nothing to warn about."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(configuration)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # see docs/decisions/engineering.md
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def main() -> None:
    if missing := undocumented():
        sys.exit(f"public names without documentation: {', '.join(missing)}")
    stage(STAGE)
    sys.exit(build(ROOT / "mkdocs.yml"))


if __name__ == "__main__":
    main()

"""`python -m tests.docs.outputs` writes the outputs of the README and of the pages of docs/ anew; with paths, only of these."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, page_run


def main() -> None:
    for path in [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        with tempfile.TemporaryDirectory() as folder:
            text = page_run(path.read_text(), Path(folder)).text
        if text != path.read_text():
            path.write_text(text)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()

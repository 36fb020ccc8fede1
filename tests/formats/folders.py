"""Folders of files for the tests of formats."""

from __future__ import annotations

from pathlib import Path


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    """A folder with these files, by their paths in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def text_folder(path: Path, **files: str | bytes) -> Path:
    """A folder with these text files, by their names without .txt."""
    return written(path, {f"{name}.txt": content for name, content in files.items()})

"""Execute the notebooks of this folder and store them with their outputs.

    python notebooks/execute.py                   all of them
    python notebooks/execute.py 02_slices         those that are named

What says nothing about the data is left out of the files: times, versions, ids made up at random.
"""

from __future__ import annotations

import argparse
import base64
import struct
import tempfile
import zlib
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run in this folder; a cell that fails is an error."""
    resources = {"metadata": {"path": str(folder)}}
    with tempfile.TemporaryDirectory() as sockets:
        # files, not ports, of which two kernels that start at once may take the same
        connection = {"transport": "ipc", "ip": f"{sockets}/kernel", "connection_file": f"{sockets}/kernel.json"}
        client = NotebookClient(
            notebook, config=Config({"KernelManager": connection}), kernel_name="python3", timeout=300, startup_timeout=300,
            resources=resources, record_timing=False, coalesce_streams=True,
        )  # fmt: skip
        return normalised(client.execute())


def normalised(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with the metadata that every one has, and cells that are named by their place."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for place, cell in enumerate(notebook.cells, start=1):
        cell.metadata = nbformat.from_dict({})
        cell.id = f"cell-{place:02}"
        if cell.cell_type == "code":  # a bar that went away leaves an empty output, on slow machines only
            cell.outputs = [output for output in cell.outputs if output.get("data") != {"text/plain": ""}]
        for data in (output.data for output in cell.get("outputs", ()) if "image/png" in output.get("data", ())):
            data["image/png"] = base64.b64encode(repacked(base64.b64decode(data["image/png"]))).decode()
    return notebook


def repacked(png: bytes) -> bytes:
    """The same picture, compressed as far as it goes: vl-convert is content with thrice the size."""
    chunks, at = [], 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += 12 + length
    pixels = zlib.compress(zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT")), 9)
    first = next(place for place, (kind, _) in enumerate(chunks) if kind == b"IDAT")
    others = [chunk for chunk in chunks if chunk[0] != b"IDAT"]
    parts = [*others[:first], (b"IDAT", pixels), *others[first:]]
    return png[:8] + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute the notebooks and store them with their outputs.")
    parser.add_argument("names", nargs="*", help="without .ipynb; all by default")
    names = parser.parse_args().names
    for path in [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(nbformat.read(path, as_version=4), FOLDER), path)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()

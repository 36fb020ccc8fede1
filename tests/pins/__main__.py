"""Write the pins anew: `python -m tests.pins`."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

from tests.pins.numbers import arrays, frames
from tests.pins.surface import HERE, TEXTS


def write() -> None:
    with redirect_stdout(io.StringIO()):  # the lines of summarize
        digests = list(arrays())
    for name, lines in TEXTS.items():
        (HERE / f"{name}.txt").write_text("\n".join(lines()) + "\n")
    (HERE / "arrays.txt").write_text("".join(f"{name} {digest}\n" for name, digest in digests))
    (HERE / "frames").mkdir(exist_ok=True)
    for name, frame in frames():
        frame.write_parquet(HERE / "frames" / f"{name}.parquet", compression="zstd")


if __name__ == "__main__":
    write()

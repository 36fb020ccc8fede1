"""Opening, unpacking and writing files, with errors that say what is wrong with them."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from apframe.exceptions import FormatError, OutputError

_GZIP = b"\x1f\x8b"


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked when it is gzip (told by its content, not its name)."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        opened: IO[bytes] = gzip.open(path) if is_packed else path.open("rb")  # type: ignore[assignment]
        with opened:
            yield opened
    except FileNotFoundError:
        raise FormatError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise FormatError(f"{path}: this is a folder, a file is needed") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{path}: the gzip file is damaged or cut off ({error})") from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error


@contextmanager
def unpacked_file(path: Path) -> Iterator[Path]:
    """The path of a plain file with the same content: itself, or a temporary one when it is gzip."""
    with open_unpacked(path) as file:
        if not isinstance(file, gzip.GzipFile):
            yield path
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "unpacked"
            with plain.open("wb") as target:
                shutil.copyfileobj(file, target, 1 << 20)
            yield plain


@contextmanager
def written_whole(path: Path) -> Iterator[IO[str]]:
    """A text file that appears under its name only when all of it is written; packed when the name ends in .gz."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        opened = gzip.open(part, "wt") if path.suffix == ".gz" else part.open("w")
        with opened as file:
            yield file  # type: ignore[misc]
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        part.unlink(missing_ok=True)


def stamp(path: Path) -> tuple[int, int]:
    """Tells a file from a later version of it: the time of its last change, and its size."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def ends_with(path: Path, mark: bytes) -> bool:
    """Whether the last bytes of a file, but for white space, are these."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 4096, 0))
        return file.read().rstrip().endswith(mark)

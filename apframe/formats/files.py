"""Opening, unpacking and writing of files, with errors that say what is wrong with them."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import polars as pl

from apframe.exceptions import ApframeError, FormatError, OutputError
from apframe.paths import opened
from apframe.wording import reason

_GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_USUAL, _MOST = 1 << 30, 100  # bytes that any file may unpack to; larger contents may have this many times the file's size
_LARGEST = 1 << 31  # bytes that no file may exceed
_PIECE = 1 << 26  # bytes that are unpacked at once


def read_unpacked(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if its content is gzip, whatever its name.

    A file that unpacks to more than 1 GB and 100 times its size, or to more than 2 GB, is a `FormatError` before memory runs
    out: malicious files do this.
    """
    with reading(path) as file:
        content = file.read()
        return _unpacked(path, content) if content.startswith(_GZIP) else content


@contextmanager
def reading_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file whose bytes are those of `read_unpacked`; a plain file is not read immediately."""
    with reading(path) as file:
        head = file.read(len(_GZIP))
        file.seek(0)
        yield BytesIO(_unpacked(path, file.read())) if head == _GZIP else file


def _unpacked(path: Path, content: bytes) -> bytes:
    max_size, size, pieces = min(max(_USUAL, _MOST * len(content)), _LARGEST), 0, []
    while content:  # a file may have several parts, and zeros after the last
        unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not unpacker.eof:
            pieces.append(unpacker.decompress(content, _PIECE))
            content = unpacker.unconsumed_tail
            size += len(pieces[-1])
            if size > max_size:
                raise FormatError(f"unpacks to more than {max_size:,} bytes", "unpack it yourself if you trust it", path=path)
            if not pieces[-1] and not unpacker.eof:
                raise EOFError("it ends before its end-of-stream marker")
        content = unpacker.unused_data.lstrip(b"\0")
    return b"".join(pieces)


def is_packed(path: Path) -> bool:
    """Return True if the file is gzip."""
    with reading(path) as file:
        return file.read(len(_GZIP)) == _GZIP


def read_ends(path: Path, size: int = 1 << 16) -> tuple[bytes, bytes, bool]:
    """Return the first bytes of a file, unpacked if gzip, without a byte order mark; as many last bytes; and if it is gzip.

    The last bytes are not unpacked, and empty if the file cannot be read from its end. All are empty if it cannot be read.
    """
    try:
        with opened(path) as file:
            is_gzip = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            head = (gzip.GzipFile(fileobj=file) if is_gzip else file).read(size).removeprefix(BOM)
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - len(head)))
            return head, file.read(len(head)), is_gzip
    except (OSError, EOFError, zlib.error):
        return b"", b"", False


def read_text(path: Path) -> str:
    """Read a text file, unpacked if gzip, without a byte order mark; an error names the first line that is not UTF-8."""
    return decoded(path, read_unpacked(path))


def decoded(path: Path, content: bytes) -> str:
    """Decode bytes that were read from the path, like `read_text`."""
    content = content.removeprefix(BOM)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(f"line {line} is not UTF-8 text ({error.reason})", "convert the file", path=path) from error


@contextmanager
def reading_from(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system in this context into a FormatError that names the path and the problem."""
    try:
        yield
    except ApframeError:
        raise  # an OutputError is an OSError too
    except FileNotFoundError:
        raise FormatError("there is no such file", path=path) from None
    except IsADirectoryError:
        raise FormatError("this is a folder, but a file is needed", path=path) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"the gzip file is damaged or cut off ({error})", path=path) from error
    except OSError as error:
        raise FormatError(f"cannot be read ({reason(error)})", path=error.filename or path) from error


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file; errors while opening or reading it become a `FormatError`. A pipe is read to its end first."""
    with reading_from(path), opened(path) as file:
        yield file


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system and of Polars in this context into an OutputError with the path and the reason."""
    try:
        yield
    except ApframeError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"cannot be written ({reason(error)})", path=path) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 with unchanged line ends; compress it if the name ends with .gz."""
    content = text.encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)

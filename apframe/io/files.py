"""Opening, unpacking and writing files, with errors that say what is wrong with them."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from apframe.exceptions import FormatError, OutputError
from apframe.paths import opened

_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_USUAL, _MOST = 1 << 30, 100  # bytes that any file may unpack to; beyond these, so many times its own size


def read_unpacked(path: Path) -> bytes:
    """The file's bytes, unpacked when it is gzip (told by its content, not its name).

    A file that unpacks to more than 1 GB and 100 times its size is a `FormatError`, before the memory is full: data never
    do, files that were made to fill a disk do.
    """
    with reading(path) as file:
        content = file.read()
        return _unpacked(path, content) if content.startswith(_GZIP) else content


def _unpacked(path: Path, content: bytes) -> bytes:
    most, size, parts = max(_USUAL, _MOST * len(content)), 0, []
    while content:  # a file may have several parts, and zeros after the last
        unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        parts.append(unpacker.decompress(content, most - size + 1))
        size += len(parts[-1])
        if size > most:
            raise FormatError(f"{path}: unpacks to more than {most:,} bytes; unpack it yourself if these are data")
        if not unpacker.eof:
            raise EOFError("it ends before its end-of-stream marker")
        content = unpacker.unused_data.lstrip(b"\0")
    return b"".join(parts)


def is_packed(path: Path) -> bool:
    """Whether the file is gzip."""
    with reading(path) as file:
        return file.read(len(_GZIP)) == _GZIP


def read_head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked when it is gzip, without a byte order mark; none where it cannot be read."""
    try:
        with opened(path) as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            return (gzip.GzipFile(fileobj=file) if is_packed else file).read(size).removeprefix(_BOM)
    except (OSError, EOFError, zlib.error):
        return b""


def read_text(path: Path) -> str:
    """A text file, unpacked when it is gzip, without a byte order mark; an error names the line that is no UTF-8."""
    return decoded(path, read_unpacked(path))


def decoded(path: Path, content: bytes) -> str:
    """What `read_text` gives, of bytes that were read from the path."""
    content = content.removeprefix(_BOM)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}: line {line} is not UTF-8 text ({error.reason}); convert the file") from error


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """The open file; what goes wrong while it is opened or read is a `FormatError`. A pipe is read to its end first."""
    try:
        with opened(path) as file:
            yield file
    except FileNotFoundError:
        raise FormatError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise FormatError(f"{path}: this is a folder, a file is needed") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{path}: the gzip file is damaged or cut off ({error})") from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, lines as they are; packed when the name ends in .gz."""
    content = text.encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def write_whole(path: Path, text: str) -> None:
    """The same of a file that appears under its name only when all of it is written."""
    part = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        write_text(part, text)
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A new hidden folder beside the path, where something is written before it takes the path's place; gone at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stamp(path: Path) -> tuple[int, int] | None:
    """Tells a file from a later version of it: the time of its last change, and its size; None when it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size

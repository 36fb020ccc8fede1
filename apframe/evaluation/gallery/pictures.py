"""Where the pictures of images are: links to their files, or thumbnails that need no file."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

import polars as pl

from apframe.exceptions import FormatError, InputError, ParameterError, import_optional
from apframe.formats.image_sizes import measure_images
from apframe.lazily import cached_property
from apframe.paths import kind_at
from apframe.tables.schemas import SIZE
from apframe.threads import pool

SIDE = 320  # of thumbnails: pixels of the longer side
_QUALITIES = (70, 60, 50, 40, 30, 20)  # of JPEG: the first one with which a thumbnail is small enough
_LARGEST = 13_000  # bytes of a thumbnail: a page with 300 cards has at most 8 MB then
_LARGEST_DRAWING = 50_000  # bytes of an SVG file that is put into a page
_TYPES = {  # that browsers show, the usual ones first
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
    ".bmp": "image/bmp", ".avif": "image/avif", ".svg": "image/svg+xml",
}  # fmt: skip


class Pictures:
    """The pictures in a folder and in the folders inside it, which is listed once.

    A picture is found by the name of its image, then by ever fewer of the folders in that name, then in the same way whatever
    its ending. What is looked for may be the end of one path only: a wrong picture is worse than none.

    Browsers turn pictures as their EXIF data say, and so are thumbnails: annotations are drawn as made on the picture as people
    see it. If they were made on the pixels as stored, they are beside their objects; remove the EXIF data then.

    Parameters
    ----------
    folder
        where the pictures are; None if there are none
    relative_to
        the folder of the page that links them; None gives absolute addresses
    embed
        hold thumbnails for the page instead of links: JPEG of at most 320 pixels and 13 kB. SVG files stay as they are, up to
        50 kB

    Attributes
    ----------
    folder
        where the pictures are
    embeds
        whether the page holds thumbnails instead of links
    held
        the thumbnails that `links` has referred to, by their ids: addresses that hold the whole picture. A page has each once

    Raises
    ------
    FormatError
        the folder does not exist, or is a file
    ParameterError
        thumbnails are wanted, and Pillow is not installed
    """

    def __init__(self, folder: str | Path | None, relative_to: str | Path | None = None, *, embed: bool = False) -> None:
        self.folder = None if folder is None else Path(folder).resolve()
        self._relative_to = None if relative_to is None else Path(relative_to).resolve()
        self._pillow: Any = None
        self._made: dict[str | None, tuple[str | None, str | None]] = {}
        self.held: dict[str, str] = {}
        if self.folder is None:
            return
        if (kind := kind_at(self.folder)) != "folder":
            problem = "is not there" if kind is None else f"is a {kind}, not a folder of pictures"
            raise FormatError(problem, "name the folder that holds the pictures", path=folder)
        if embed:
            self._pillow = import_optional("PIL.Image", "thumbnails need Pillow", "pillow", "report")

    @property
    def embeds(self) -> bool:  # noqa: D102 - see the class
        return self._pillow is not None

    def find(self, file_names: Iterable[str | None]) -> list[Path | None]:
        """The file of each name; None where there is none."""
        return [self._find(name)[0] for name in file_names]

    def links(self, file_names: Iterable[str | None]) -> pl.DataFrame:
        """Where the pictures of these names are.

        Returns
        -------
        href: where the picture is, a link, or "#" and the id of one of `held`. missing: why there is none; one of both is null.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Pictures(folder).links(["a.jpg"]).rows()
        [(None, 'not in the folder')]
        """
        names = list(file_names)
        new = [name for name in dict.fromkeys(names) if name not in self._made]
        if self._pillow is None:
            self._made |= {name: self._link_or_reason(name) for name in new}
        else:
            with pool() as others:
                made = [(self._hold(address), reason) for address, reason in others.map(self._link_or_reason, new)]
            self._made |= dict(zip(new, made, strict=True))
        rows = [self._made[name] for name in names]
        return pl.DataFrame(rows, schema={"href": pl.String, "missing": pl.String}, orient="row")

    def sizes(self, images: pl.DataFrame) -> pl.DataFrame:
        """image_id, image_width, image_height of images with a file_name; where a size is not known, that of the file.

        Pillow reads files. Without it, and where a file is missing or no image, the size stays null.
        """
        size = [pl.col(name) if name in images.columns else pl.lit(None, pl.Int64).alias(name) for name in SIZE]
        known = images.select("image_id", "file_name", *size)
        unknown = known.filter(pl.any_horizontal(pl.col(SIZE).is_null()))
        measured = [None if path is None else _measured(path) for path in self.find(unknown["file_name"])]
        of_files = [dict(zip(SIZE, pair or (None, None), strict=True)) for pair in measured]
        found = unknown.select("image_id").hstack(pl.DataFrame(of_files, schema=dict.fromkeys(SIZE, pl.Int64)))
        return known.drop("file_name").update(found, on="image_id")

    def _hold(self, address: str | None) -> str | None:
        """Keep a thumbnail, and return a reference to it, which is the same for the same thumbnail."""
        if address is None:
            return None
        key = f"picture-{sha256(address.encode()).hexdigest()[:16]}"
        self.held[key] = address
        return f"#{key}"

    def _link_or_reason(self, name: str | None) -> tuple[str | None, str | None]:
        path, reason = self._find(name)
        if path is None:
            return None, reason
        suffix = _suffix(path.name)
        try:
            if kind_at(path) != "file":  # such as a link to what has gone
                return None, "that cannot be read"
            if self._pillow is not None and suffix != ".svg":
                return self._thumbnail(path), None
            if suffix not in _TYPES:
                return None, "in a format that browsers do not show"
            if self._pillow is None:
                return self._link(path, _TYPES[suffix]), None
            if path.stat().st_size > _LARGEST_DRAWING:
                return None, "too large to be put into the page"
            return _inside(path, _TYPES[suffix]), None
        except Exception:  # of a damaged file, Pillow raises whatever its readers come upon
            return None, "that cannot be read"

    def _link(self, path: Path, media_type: str) -> str:  # noqa: ARG002 - for those who put the file inside
        if self._relative_to is None:
            return path.as_uri()
        try:
            return quote(os.fsencode(PurePath(os.path.relpath(path, self._relative_to)).as_posix()))
        except ValueError:  # on another drive
            return path.as_uri()

    def _thumbnail(self, path: Path) -> str:
        from PIL import ImageOps

        with self._pillow.open(path) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG is decoded in a smaller size
            small = ImageOps.exif_transpose(image)
        if small.mode.startswith("I"):
            small = small.convert("I").point(lambda value: value / 256).convert("L")  # 16 bits, as browsers show them
        small = small.convert("RGB")
        small.thumbnail((SIDE, SIDE))
        for quality in _QUALITIES:
            content = BytesIO()
            small.save(content, "JPEG", quality=quality, optimize=True)
            if content.tell() <= _LARGEST:
                break
        return _data("image/jpeg", content.getvalue())

    def _find(self, name: str | None) -> tuple[Path | None, str]:
        """The file of a name, or why there is none."""
        if not name:
            return None, "without a file name"
        ends = list(_ends(normalize("NFC", name).replace("\\", "/")))
        found = [self._paths.get(end, "") for end in ends]
        if not any(found):
            found += [self._stems.get(stem, "") for end in ends for stem in (end, _stem(end))]
        path = next(filter(None, found), None)
        if path is not None and self.folder is not None:
            return self.folder / path, ""
        return None, "not in the folder" if None not in found else "of which the folder has several"

    @cached_property
    def _files(self) -> list[str]:
        """The paths of all files inside the folder, sorted. Links to folders are followed, to each folder once."""
        files, seen = list[str](), set[str]()
        if self.folder is None:
            return files
        for folder, folders, names in os.walk(self.folder, followlinks=True):
            if (place := os.path.realpath(folder)) in seen:
                folders.clear()
                continue
            seen.add(place)
            folders.sort()
            inside = os.path.relpath(folder, self.folder).replace(os.sep, "/")
            files += names if inside == "." else [f"{inside}/{name}" for name in names]
        return sorted(files)

    @cached_property
    def _paths(self) -> dict[str, str | None]:
        """The file of each path and of each end of one; None where several files have that end."""
        return _by_ends({path: path for path in self._files})

    @cached_property
    def _stems(self) -> dict[str, str | None]:
        """The same for pictures without their ending. Where several differ in that alone, the usual one has it."""
        usual = {suffix: number for number, suffix in enumerate(_TYPES)}
        pictures = [path for path in self._files if _suffix(path) in usual]
        pictures.sort(key=lambda path: usual[_suffix(path)], reverse=True)
        return _by_ends({_stem(path): path for path in pictures})


class PicturesInside(Pictures):
    """Pictures whose addresses hold the whole files, for notebooks: these cannot follow links to files everywhere."""

    def _link(self, path: Path, media_type: str) -> str:
        return _inside(path, media_type)


def _measured(path: Path) -> tuple[int, int] | None:
    try:
        return measure_images([path])[0]
    except (InputError, ParameterError):  # no image, or no Pillow
        return None


def _inside(path: Path, media_type: str) -> str:
    return _data(media_type, path.read_bytes())


def _data(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(content).decode()}"


def _by_ends(files: Mapping[str, str]) -> dict[str, str | None]:
    """Files by their keys, which are paths, and by the ends of these; None where several have an end and it is no key."""
    known: dict[str, str | None] = {}
    whole = {normalize("NFC", key): path for key, path in files.items()}
    for key, path in whole.items():
        for end in _ends(key):
            known[end] = None if end in known else path
    return known | whole


def _ends(path: str) -> Iterator[str]:
    """A path, then with ever fewer of its folders.

    >>> list(_ends("a/b/c.jpg"))
    ['a/b/c.jpg', 'b/c.jpg', 'c.jpg']
    """
    while path:
        yield path
        path = path.partition("/")[2]


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()  # noqa: PTH122 - of many names


def _stem(path: str) -> str:
    return os.path.splitext(path)[0]  # noqa: PTH122 - of many names

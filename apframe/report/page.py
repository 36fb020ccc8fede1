"""The page: sections in one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile

from apframe.exceptions import OutputError
from apframe.formats.files import writing
from apframe.formats.replacing import write_whole
from apframe.paths import kind_at, to_write
from apframe.report.section import Block, Chart, Details, Section, Table
from apframe.report.tables import minus, table_markup
from apframe.show import drawings
from apframe.show.elements import Markup, element, scrolling

POLICY = "default-src 'none'; img-src 'self' file: data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_GENERATOR = element("meta", name="generator", content="apframe report")
_SCRIPTS = ("base", "tables", "gallery", "viewer")  # in this order: each uses what is above it
_HEAD = 2_000  # bytes within which a page says what made it


def page(title: str, sections: Sequence[Section], pictures: Mapping[str, str] | None = None) -> str:
    """Return the whole page as HTML. The same sections give the same text.

    `pictures` are those that drawings refer to, by their ids: addresses that hold a whole picture. The page has each once.

    >>> text = page("a and b", [Section("better", "Is b better?", ("No.",))])
    >>> '<section id="better"' in text, "://" in text
    (True, False)
    """
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        _GENERATOR,
        element("title", title),
        element("style", _resource("style.css"), Markup(drawings.style())),
    ]
    links = [element("li", element("a", section.heading, href=f"#{section.key}")) for section in sections]
    body = [
        element("a", "Skip to the first section", href="#main", class_="skip"),
        element("header", element("h1", title)),
        element("nav", element("ol", links), aria_label="Sections"),
        element("main", [_section(section) for section in sections], id="main"),
        Markup(drawings.definitions(pictures)) if pictures else None,
        element("footer", element("p", f"Made with apframe {version('apframe')}.")),
        [element("script", _resource(f"scripts/{name}.js")) for name in _SCRIPTS],
    ]
    whole = element("html", element("head", head), element("body", body), lang="en")
    return f"<!doctype html>\n{whole}\n"


def write_page(path: str | Path, text: str) -> Path:
    """Write the page, whole or not at all, and return its path. A file that apframe did not write stays as it is.

    Raises
    ------
    OutputError
        there is something else at the path, or it cannot be written
    """
    target = free_path(path)
    write_whole(target, text)
    return target


def free_path(path: str | Path) -> Path:
    """Return the whole path of a report, links followed, if one may be written there: nothing is there, or a report of apframe.

    Raises
    ------
    OutputError
        a folder, a file that apframe did not write, or no folder to write into, or one in which no file can be made
    """
    target = to_write(path)
    kind = kind_at(target)
    if kind not in (None, "file"):
        raise OutputError(f"is a {kind}", "choose another name for the report", path=target)
    if kind_at(target.parent) != "folder":
        raise OutputError("there is no such folder", "make it, or name another place for the report", path=target.parent)
    with writing(target), TemporaryFile(dir=target.parent):
        pass  # a file can be made there
    if kind is None:
        return target
    with writing(target), target.open("rb") as file:
        head = file.read(_HEAD)
    if _GENERATOR.encode() not in head:
        raise OutputError("is a file that apframe did not write", "choose another name, or remove the file", path=target)
    return target


def _section(section: Section) -> Markup:
    heading = element("h2", section.heading, id=f"{section.key}-heading")
    answer = [element("p", minus(sentence), class_="answer") for sentence in section.sentences]
    notes = [element("p", note, class_="note") for note in section.notes]
    blocks = [_block(block) for block in section.blocks]
    return element("section", heading, answer, blocks, notes, id=section.key, aria_labelledby=f"{section.key}-heading")


def _block(block: Block) -> Markup:
    if isinstance(block, Table):
        return table_markup(block)
    if isinstance(block, Chart):
        drawn = scrolling(block.svg, "wide", block.caption) if block.scrolls else block.svg
        return element("figure", drawn, element("figcaption", block.caption))
    if isinstance(block, Details):
        return element("details", element("summary", block.summary), [_block(each) for each in block.blocks])
    return block.markup


def _resource(name: str) -> Markup:
    return Markup(files("apframe.report").joinpath(name).read_text(encoding="utf-8"))

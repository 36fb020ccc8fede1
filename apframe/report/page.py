"""The page: sections in one self-contained HTML file."""

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
from apframe.report.first_screen import FirstScreen, first_screen_markup
from apframe.report.html_tables import minus, table_markup
from apframe.report.marks import link_to, listed, number_text
from apframe.report.operating_point import OperatingPoint
from apframe.report.section import NEXT, Block, Chart, Details, Section, Steps, Table
from apframe.show import colours, drawings
from apframe.show.elements import Markup, element, scrolling

POLICY = "default-src 'none'; img-src 'self' file: data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_GENERATOR = element("meta", name="generator", content="apframe report")
_SCRIPTS = ("base", "tables", "slider", "gallery", "viewer")  # in this order: each uses what is above it
_HEAD = 2_000  # bytes within which a page names its generator


def page(
    title: str,
    sections: Sequence[Section],
    pictures: Mapping[str, str] | None = None,
    first: FirstScreen | None = None,
    slider: Markup | None = None,
) -> str:
    """Return the whole page as HTML. The same sections give the same text.

    Parameters
    ----------
    title, sections
        the heading and the sections of the page
    pictures
        the pictures of the drawings by id, as data addresses, each of which the page contains once
    first
        the first screen
    slider
        the slider of the score threshold, see `slider_markup`

    >>> text = page("a and b", [Section("comparison", "Is b better?", ("No.",))])
    >>> '<section id="comparison"' in text, "://" in text
    (True, False)
    """
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        _GENERATOR,
        element("title", title),
        element("style", Markup(colours.variables()), _resource("style.css"), Markup(drawings.style())),
    ]
    links = [element("li", element("a", section.heading, href=f"#{section.key}")) for section in sections]
    bar = element("nav", element("ol", links), aria_label="Sections")
    body = [
        element("a", "Skip to the first section", href="#main", class_="skip"),
        first_screen_markup(title, first),
        element("div", bar, slider, class_="sections"),
        element("main", [_section(section) for section in sections], id="main"),
        Markup(drawings.definitions(pictures)) if pictures else None,
        element("footer", element("p", f"Made with apframe {version('apframe')}.")),
        element("script", [_resource(f"scripts/{name}.js") for name in _SCRIPTS]),
    ]
    whole = element("html", element("head", head), element("body", body), lang="en")
    return f"<!doctype html>\n{whole}\n"


def slider_markup(point: OperatingPoint, names: Sequence[str]) -> Markup:
    """Return the slider of the score threshold, which only the page's script shows.

    >>> markup = slider_markup(OperatingPoint([0.42], [0.5, 1.0], (0.0, 1.0), []), ["new"])
    >>> 'data-scores="[[&quot;0.42&quot;, &quot;0.5&quot;, &quot;1.0&quot;]]"' in markup
    True
    >>> '<input type="range" min="1" max="2" value="1"' in markup, '>best F1</output>' in markup
    (True, True)
    """
    scores = [[number_text(score) for score in point.scores(k)] for k in range(len(names))]
    best = "best F1 of each" if len(names) > 1 else "best F1"
    nearest = min(range(len(point.even)), key=lambda k: (abs(point.even[k] - min(point.best)), k)) + 1
    knob = element("input", type="range", min=1, max=len(point.even), value=nearest, autocomplete="off")
    return element(
        "form",
        element("label", "Threshold", knob),
        element("output", best, aria_live="polite"),
        element("button", "Best F1", type="reset"),
        class_="slider",
        aria_label="Score threshold",
        data_names=listed(names),
        data_scores=listed(scores),
        data_best=best,
        hidden=True,
    )


def write_page(path: str | Path, text: str) -> Path:
    """Write the page, completely or not at all, and return its path. A file that apframe did not write is left alone.

    Raises
    ------
    OutputError
        the path holds something else, or cannot be written
    """
    target = free_path(path)
    write_whole(target, text)
    return target


def free_path(path: str | Path) -> Path:
    """Return the full path of a report, with links resolved, if nothing or a report of apframe is there.

    Raises
    ------
    OutputError
        it is a folder or a file that apframe did not write, or its folder is missing or not writable
    """
    target = to_write(path)
    kind = kind_at(target)
    if kind not in (None, "file"):
        raise OutputError(f"is a {kind}", "choose another name for the report", path=target)
    if kind_at(target.parent) != "folder":
        raise OutputError("there is no such folder", "create it, or choose another path for the report", path=target.parent)
    with writing(target), TemporaryFile(dir=target.parent):
        pass  # a file can be created there
    if kind is None:
        return target
    with writing(target), target.open("rb") as file:
        head = file.read(_HEAD)
    if _GENERATOR.encode() not in head:
        raise OutputError("is a file that apframe did not write", "choose another name, or remove the file", path=target)
    return target


def _section(section: Section) -> Markup:
    scope = [" ", element("small", section.scope)] if section.scope else None
    heading = element("h2", section.heading, scope, id=f"{section.key}-heading")
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
    if isinstance(block, Steps):
        items = [element("li", link_to(step.mark, step.action), ": ", minus(step.reason)) for step in block.steps]
        return element("div", element("h3", NEXT), element("ol", items), class_="next")
    return block.markup


def _resource(name: str) -> Markup:
    return Markup(files("apframe.report").joinpath(name).read_text(encoding="utf-8"))

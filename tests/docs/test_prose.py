"""What people read is plain: short sentences, short lines, first lines that make sense on their own."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

import apframe as apf
from apframe.cli.command import app
from tests.names import HOMES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
LONGEST_SENTENCE, LONGEST_LINE = 40, 128
CODE = ROOT / "apframe"
PACKAGES = sorted({path.relative_to(CODE).parts[0] for path in CODE.rglob("*.py")})

# a section of named entries up to its first empty line; and entries at the margin with descriptions, which may have lists
SECTION = re.compile(r"^ *(?:Parameters|Attributes|Raises|Warns)\n *-{3,}\n((?:.+\n?)+)", re.MULTILINE)
ENTRIES = re.compile(r"(?:\S.*\n(?: {4}(?: {2})?\S.*(?:\n|$))+)+")

# phrases of an earlier private dialect: nobody says these aloud
RIDDLES = re.compile(
    "|".join(
        [
            r"nothing, if it shows",
            r"where (?:its|the) path does not tell",
            r"have not the ids",
            r"; give it, or remove",
            r"\btells? of columns",
            r"taken at its word",
            r"is not what it seems",
            r"\bheld by\b",
            r"\bwhat is of it\b",
            r"\bover so many\b",
            r"\bat most so many\b",
            r"\bby exactly\b",
            r"\bas the file has them\b",
            r"\bwhere these do not tell\b",
            r"\bis heard within\b",
            r"\bwhat became of\b",
            r"\bgoes by\b",
            r"\bin the place of\b",
        ]
    )
)

# what the tables of good and bad sentences replaced; and words of ours for which the field has others
PAGE_RIDDLES = re.compile(
    "|".join(
        [
            r"\bwhat they make of\b",
            r"\bso many as\b",
            r"\ball that matters of\b",
            r"\bnot as similar\b",
            r"\bcalled (?:as|by its)\b",
            r"\btold from them\b",
            r"\bcome back equal\b",
            r"\bwhat no argument can be\b",
            r"\bis not evaluated; there are\b",
            r"\bbut the interval includes 0\b",
            r"\bOne way to make\b",
            r"\bis taken for\b",
            r"\bfound in any case\b",
            r"\bwhat bec[ao]mes? of\b",
            r"\bas your benchmark has them\b",
            r"\bin no certain order\b",
            r"\bis no (?:function|protocol|data set|category)\b",
            r"\beven so\.",
            r"\bSomebody\b",
            r"\bhonest\b",
            r"\bkinds? of errors?\b",
            r"\bwrong place\b",
            r"\bfound as\b",
            r"\bwhere nothing is\b",
            r"\btaking turns\b",
            r"\bless (?:those|that|one)\b",
            r"\bneeds? to have\b",
            r"\banything where there are no\b",
            r"\brefuse[sd]?\b",
        ]
    )
)


def without_code(text: str) -> str:
    """Markdown without code, comments and addresses; each code span counts as one word."""
    text = re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "code", text)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of Markdown; a paragraph, an item of a list, a heading and a cell of a table end one too."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#>|!]|\d+\.)\s?)", without_code(text)):
        for cell in paragraph.split("|"):
            yield from (sentence.strip() for sentence in re.split(r"(?<=[.!?:])\s+", " ".join(cell.split())))


def too_long(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(sentence.split()) > LONGEST_SENTENCE]


def public_docstrings() -> Iterator[tuple[str, str]]:
    """The docstrings of all public names, and of the methods and properties of public classes."""
    for name in HOMES:
        value = attrgetter(name)(apf)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, inspect.getdoc(value) or ""
        if inspect.isclass(value):
            for member, _ in inspect.getmembers(value):
                own = vars(value).get(member)
                if not member.startswith("_") and (inspect.isfunction(own) or isinstance(own, (property, classmethod))):
                    yield f"{name}.{member}", inspect.getdoc(getattr(value, member)) or ""


def leading_prose(docstring: str) -> str:
    """What stands above the sections and examples of a docstring; a row of names of measures counts as one word."""
    prose = re.split(r"\n\w+\n-{3,}|>>>", docstring)[0]
    return re.sub(r"(?:\b[A-Z]\w*(?:@\S+)?,?\s+){3,}", "names ", prose)


def help_texts() -> Iterator[tuple[str, str]]:
    for name in app.verbs:
        command = app.get_command(None, name)
        assert command is not None
        yield f"apframe {name}", command.help or ""
        for parameter in command.params:
            yield f"apframe {name}: {parameter.name}", getattr(parameter, "help", None) or ""


def notebook_texts() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            if cell["cell_type"] == "markdown":
                yield f"{path.name} cell {number}", "".join(cell["source"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_short_sentences_and_lines(page: Path) -> None:
    text = page.read_text()
    assert too_long(text) == []
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = [
        line for line in prose.splitlines() if len(line) > LONGEST_LINE and not line.startswith(("|", "[")) and "](" not in line
    ]
    assert lines == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_speak_plainly(page: Path) -> None:
    text = without_code(page.read_text())
    assert RIDDLES.findall(text) == []
    assert page.parent == ROOT or PAGE_RIDDLES.findall(text) == []


def test_notebooks_have_short_sentences() -> None:
    assert {place: found for place, text in notebook_texts() if (found := too_long(text) + RIDDLES.findall(text))} == {}


def test_first_lines_of_docstrings_make_sense_on_their_own() -> None:
    first_lines = {name: text.split("\n")[0] for name, text in public_docstrings()}
    assert {name: line for name, line in first_lines.items() if not line or re.match(r"(What|See|The same)\b", line)} == {}


def misplaced_entries(docstring: str) -> list[str]:
    """The sections of a docstring with an entry, or a description, that is indented too much or too little."""
    return [body for body in SECTION.findall(docstring) if not ENTRIES.fullmatch(body)]


def docstrings(package: str) -> Iterator[tuple[str, str]]:
    """All docstrings of a package or module, private ones too, each with its place."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in sorted((CODE / package).rglob("*.py")) or [CODE / package]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, documented) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(CODE)}:{getattr(node, 'lineno', 1)}", text


@pytest.mark.parametrize("package", PACKAGES)
def test_entries_of_docstrings_stand_at_the_margin(package: str) -> None:
    assert [(place, body) for place, text in docstrings(package) if (body := misplaced_entries(text))] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_a_statement(package: str) -> None:
    begun = re.compile(r"(?:What|Which|Whether|How|Where)\b.*")
    assert {place: found[0] for place, text in docstrings(package) if (found := begun.match(text))} == {}


@pytest.mark.slow
def test_docstrings_and_help_speak_plainly() -> None:
    texts = [*public_docstrings(), *help_texts()]
    assert {name: found for name, text in texts if (found := RIDDLES.findall(text))} == {}
    assert {name: found for name, text in texts if (found := too_long(leading_prose(text)))} == {}


def test_the_checks_find_what_they_look_for() -> None:
    assert too_long("word " * 41 + ".") != [] == too_long("word " * 39 + "word.\n\n" + "`a b` " * 40)
    assert RIDDLES.findall("the ids are taken at its word") != []
    assert PAGE_RIDDLES.findall("names of classes are found in any case") != []
    section = "Save.\n\nRaises\n------\n{}OSError\n{}no space"
    assert misplaced_entries(section.format("", " " * 4)) == []
    for entry, description in ((4, 8), (0, 8), (0, 0), (4, 4)):
        assert misplaced_entries(section.format(" " * entry, " " * description)) != []

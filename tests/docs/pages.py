"""The pages of docs/: their code blocks run from top to bottom, and the outputs shown are the real ones.

A block of `python` runs in the page's namespace; its output is what it prints and the value of its last expression. A block of
`console` holds commands after `$ `; those of apframe run. The block of `text` right below a block of `python` is its output, as
are the lines below a command. Blocks of other languages are shown and do not run. `python -m tests.docs.outputs` rewrites the
outputs.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from apframe.cli.command import main
from apframe.exceptions import ApframeError, ApframeWarning

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WIDTH = 100
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


@dataclass
class Page:
    """A page as it should be: its text with the real outputs, and its charts with the places in the text where they belong."""

    text: str = ""
    charts: list[tuple[int, Any]] = field(default_factory=list)


@contextmanager
def sample_folder(folder: Path) -> Iterator[None]:
    """Work in a folder with a copy of the sample data, at a fixed width; what is patched is put back."""
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("*.py"))
    width, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), str(WIDTH)
    modules = dict(sys.modules)
    try:
        with chdir(folder), pl.Config(tbl_width_chars=WIDTH):
            yield
    finally:
        for name in [each for each in sys.modules if each.partition(".")[0] == "pycocotools"]:
            del sys.modules[name]
        sys.modules.update((name, module) for name, module in modules.items() if name.startswith("pycocotools"))
        os.environ.pop("COLUMNS")
        if width is not None:
            os.environ["COLUMNS"] = width


def page_run(text: str, folder: Path) -> Page:
    """Run the blocks of a page in this empty folder."""
    with sample_folder(folder):
        return _run_blocks(text)


def _run_blocks(text: str) -> Page:
    page, namespace, at, output = Page(), dict[str, Any](__name__="page"), 0, ""
    for block in FENCE.finditer(text):
        between = text[at : block.start()]
        indent, language, body = block["indent"], block["language"], textwrap.dedent(block["body"])
        shown = language == "text" and not between.strip()
        _refuse_new_errors(output, body if shown else "")
        if shown:
            body = output
        elif language == "console":
            old, body = body, "".join(map(_command_run, re.split(r"^(?=\$ )", body, flags=re.MULTILINE)))
            _refuse_new_errors(body, old)
        output = ""
        page.text += f"{between}{indent}```{language}\n{textwrap.indent(body, indent)}{indent}```"
        at = block.end()
        if language == "python":
            output, value = _code_run(body, namespace)
            if _is_chart(value):
                page.charts.append((len(page.text), value))
    _refuse_new_errors(output, "")
    page.text += text[at:]
    return page


def _refuse_new_errors(output: str, old: str) -> None:
    """An error or a warning is shown only where the page has one of its name already."""
    names, known = (set(re.findall(r"^(\w*Error|\w*Warning|error|warning):\s", each, re.MULTILINE)) for each in (output, old))
    assert names <= known, f"not on the page: {output}"


def _code_run(code: str, namespace: dict[str, Any]) -> tuple[str, Any]:
    """What the code prints, with its warnings and error, and the value of its last expression."""
    printed, value = io.StringIO(), None
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ApframeWarning)
        try:
            exec(compile(tree, "<page>", "exec", dont_inherit=True), namespace)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace)  # type: ignore[attr-defined]
        except ApframeError as error:
            print(f"{type(error).__name__}: {error}")
    if value is not None and not _is_chart(value):
        print(repr(value), file=printed)
    messages = "".join(f"{each.category.__name__}: {each.message}\n" for each in warned)
    return _tidied(messages + printed.getvalue()), value


def _is_chart(value: Any) -> bool:
    return type(value).__module__.startswith("altair.")


def _command_run(text: str) -> str:
    """A command with what it prints; one of another program stays as it is."""
    if not text.startswith("$ apframe"):
        return text
    lines = text.splitlines(keepends=True)
    n_lines = next(n for n, line in enumerate(lines, start=1) if not line.endswith("\\\n"))
    command = "".join(lines[:n_lines])
    blank = "\n" if text.endswith("\n\n") else ""
    return command + command_output(_words(command[2:].replace("\\\n", " "))[1:]) + blank


def command_output(arguments: list[str]) -> str:
    """What `apframe` prints with these arguments, errors included."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings(), suppress(SystemExit):
        main(arguments)
    return _tidied(printed.getvalue())


def _words(command: str) -> list[str]:
    """The words of a command, with patterns outside of quotes expanded, as a shell does it."""
    words = []
    for word in shlex.split(command, posix=False):
        plain = "".join(shlex.split(word))
        words += sorted(map(str, Path().glob(plain))) if "*" in plain and plain == word else [plain]
    return words


def _tidied(output: str) -> str:
    """Without blanks at the ends of lines, and with times, which differ in each run, replaced."""
    lines = [re.sub(r"\(t=\d+\.\d+s\)", "(t=0.05s)", line.rstrip()) for line in output.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)

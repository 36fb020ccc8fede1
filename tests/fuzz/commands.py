"""One case: mutate a copy of valid files, run a command in this process, and say what is wrong with how it ended."""

from __future__ import annotations

import io
import os
import shutil
import traceback
import warnings
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random, randrange

from apframe.cli import command as cli
from tests.fuzz.mutations import mutate

N_CASES = int(os.environ.get("APFRAME_CASES", "200"))
FIRST_CASE = randrange(10**9) if "APFRAME_NEW_EXAMPLES" in os.environ else 0
CASES = range(FIRST_CASE, FIRST_CASE + N_CASES)


def problem_of(arguments: Sequence[str]) -> str | None:
    """What is wrong with how a command ends: it may only exit with 0 to 3, and with one line of error for bad data or usage."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace")
    shown, code = warnings.showwarning, None
    try:
        with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
            cli.main(list(arguments))
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        raise
    except BaseException:  # a panic of Polars is no Exception
        return traceback.format_exc()
    finally:
        warnings.showwarning = shown
    for stream in (out, err):
        stream.flush()
    lines = [line for line in err.buffer.getvalue().decode().split("\n")[:-1] if not line.startswith("warning: ")]
    n_errors = sum(line.startswith("error: ") for line in lines)
    report = arguments[0] == "check" and code == 1 and out.buffer.getvalue()  # its report is what it prints
    if code not in (0, 1, 2, 3) or len(lines) != n_errors or (n_errors != (code in (1, 2)) and not report):
        return f"exit code {code}, on stderr: {lines}"
    return None


def run_case(name: str, number: int, valid: Path, folder: Path, commands: Sequence[Sequence[str]]) -> str | None:
    """Copy the valid files to a folder, mutate them there and run a command; a report of what is wrong, if anything is.

    `{}` stands for the folder in the commands.
    """
    random = Random(f"{name} {number}")
    shutil.copytree(valid, folder)
    changes = [mutate(folder, random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    arguments = [word.replace("{}", str(folder)) for word in random.choice(commands)]
    problem = problem_of(arguments)
    if problem is None:
        shutil.rmtree(folder)
        return None
    return f"{name}, case {number}, {'; '.join(changes)!a}\napframe {' '.join(arguments)}\n{problem}"


def run_cases(
    name: str, numbers: Iterable[int], sets: Sequence[tuple[Path, Sequence[Sequence[str]]]], folder: Path
) -> list[str]:
    """The problems of these cases, which take the folders of valid files, with their commands, in turn."""
    problems = []
    for number in numbers:
        valid, commands = sets[number % len(sets)]
        problem = run_case(name, number, valid, folder / f"case{number}", commands)
        problems += [] if problem is None else [problem]
    return problems


def report(problems: Sequence[str]) -> str:
    """The first few of the problems."""
    return f"{len(problems)} of {N_CASES} cases:\n\n" + "\n".join(problems[:5])

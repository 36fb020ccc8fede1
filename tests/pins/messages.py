"""The messages about bad input and bad calls, of the cases that the tests of the fronts list."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apframe as apf
from apframe.cli import main
from apframe.exceptions import ApframeError
from tests import test_bad_input as bad
from tests.cli import test_command, test_convert
from tests.protocols import test_protocol_values
from tests.retrieval import test_evaluation as retrieval

ROOT = Path(__file__).parents[2]
# whose words are those of other libraries
LEFT_OUT = {"frame, columns of two lengths", "apframe sql, bad SQL", "apframe sql, no such table"}


def messages() -> Iterator[str]:
    """The error of every case, with other names for the folders of this machine."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in _cases(Path(folder)):
            if name in LEFT_OUT:
                continue
            try:
                outcome = call()
            except ApframeError as error:
                outcome = f"{type(error).__name__}: {error}"
            yield f"{name}: {outcome if isinstance(outcome, str) else 'no error'}".replace(folder, "FOLDER").replace(
                str(ROOT), "ROOT"
            )


def _cases(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, (fields, *_) in bad.BAD_RESULTS.items():
        yield f"results, {name}", partial(apf.evaluate, bad.GROUND_TRUTH, bad.changed(bad.RESULTS, 1, fields))
    for name, (table, fields, *_) in bad.BAD_TRUTH.items():
        changed = {table: bad.changed(bad.GROUND_TRUTH[table], 1, fields)}
        yield f"ground truth, {name}", partial(apf.read_coco, bad.GROUND_TRUTH | changed)
    for name, (columns, *_) in bad.BAD_FRAMES.items():
        frame = {key: value for key, value in (bad.DETECTIONS | columns).items() if value is not bad.GONE}
        yield f"frame, {name}", partial(apf.evaluate, bad.GROUND_TRUTH, frame)
    for name, (options, _) in bad.BAD_OPTIONS.items():
        yield f"evaluate, {name}", partial(apf.evaluate, bad.GROUND_TRUTH, bad.RESULTS, **options)
    evaluation = apf.evaluate(bad.GROUND_TRUTH, bad.RESULTS, iou_thresholds=[0.5, 0.75])
    for name, (options, _) in bad.NOT_EVALUATED.items():
        yield f"matches, {name}", partial(evaluation.matches, **options)
    for name, (choices, _) in test_protocol_values.WRONG.items():
        yield f"Protocol, {name}", partial(apf.Protocol, **({"name": "MINE", "citation": ""} | choices))
    for name in retrieval.BAD_MEASURES:
        yield f"measure {name!r}", partial(apf.evaluate_run, retrieval.QRELS, retrieval.RUN, name)
    for name, (judgements, run, *_) in retrieval.BAD_INPUT.items():
        yield f"evaluate_run, {name}", partial(apf.evaluate_run, judgements, run)
    others = folder / "others"
    paths = {"run": folder / "run", "folder": others, "file": others / "file", "lines": others / "a.jsonl"}
    evaluation.write_parquet(paths["run"])
    others.mkdir()
    paths["file"].write_text("hello")
    paths["lines"].write_text("".join(f"{json.dumps(row)}\n" for row in 2 * test_command.FOUND))
    calls = {name: arguments for name, (arguments, *_) in (test_command.BAD | test_convert.BAD).items()} | test_command.USAGE
    for name, arguments in calls.items():
        filled = [text.format(**paths) if "{" in text else text for text in arguments]
        yield f"apframe {arguments[0]}, {name}", partial(_printed, filled)


def _printed(arguments: list[str]) -> str:
    """What the command prints as an error."""
    printed = io.StringIO()
    with redirect_stderr(printed), redirect_stdout(printed), warnings.catch_warnings(), suppress(SystemExit):
        main(arguments)
    return printed.getvalue().strip()

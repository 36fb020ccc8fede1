"""Checks of the arguments of `write_report`, before any work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.slices.keys import Bins
from apframe.exceptions import ParameterError
from apframe.option_values import whole_number
from apframe.report.section import Section
from apframe.retrieval.evaluation import RunEvaluation
from apframe.wording import option_name, shown

_LONGEST = 60  # characters of a value in a message


def split_evaluations(evaluations: Sequence[Any]) -> tuple[list[Evaluation], list[RunEvaluation]]:
    """Return the evaluations of detections and those of search runs; there must be at least one, all of one kind.

    Raises
    ------
    ParameterError
        no evaluation, something else among them, or both kinds

    >>> split_evaluations(["model_b.json"])
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: a report is about evaluations, not 'model_b.json'; call evaluate or evaluate_run first
    """
    if not evaluations:
        raise ParameterError("there is nothing to report on", "pass at least one evaluation")
    models = [each for each in evaluations if isinstance(each, Evaluation)]
    runs = [each for each in evaluations if isinstance(each, RunEvaluation)]
    if len(models) + len(runs) < len(evaluations):
        other = next(each for each in evaluations if not isinstance(each, (Evaluation, RunEvaluation)))
        if isinstance(other, (list, tuple)) and any(isinstance(each, (Evaluation, RunEvaluation)) for each in other):
            raise ParameterError("a list of evaluations is given where single ones are needed", "put a * in front of the list")
        problem = f"a report is about evaluations, not {shown(other, _LONGEST)}"
        raise ParameterError(problem, "call evaluate or evaluate_run first")
    if models and runs:
        raise ParameterError("detections and search runs cannot be in one report", "write a report for each")
    return models, runs


def check_page(embed: Any, images: Any, max_images: Any, title: Any, sections: Any, tables: Any) -> None:
    """Raise an error if an option of the page has an invalid value."""
    whole_number("max_images", max_images, 0)
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"is a text or None, not {shown(title, _LONGEST)}", option="title")
    for option, value in (("embed", embed), ("tables", tables)):
        if not isinstance(value, bool):
            raise ParameterError(f"is True or False, not {shown(value, _LONGEST)}", option=option)
    if embed and images is None:
        raise ParameterError(f"needs the folder of the pictures, {option_name('images', '')}", option="embed")
    if not isinstance(sections, (list, tuple)) or not all(isinstance(each, Section) for each in sections):
        raise ParameterError("is a list of Section", "see apframe.report.section", option="sections")


def keys_of_slices(by: Any) -> list[Any]:
    """Return the keys of slices of detections as a list.

    >>> keys_of_slices("weather"), keys_of_slices(["weather", ["city", "weather"]])
    (['weather'], ['weather', ['city', 'weather']])
    """
    if isinstance(by, (str, Mapping, Bins)):
        return [by]
    if not isinstance(by, (list, tuple)):
        raise ParameterError(f"is a key of slices or a list of them, not {shown(by, _LONGEST)}", option="by")
    return list(by)


def columns_of_queries(by: Any) -> list[str]:
    """Return the columns of the queries by which search runs are sliced as a list.

    >>> columns_of_queries("topic")
    ['topic']
    """
    columns = [by] if isinstance(by, str) else by
    if not isinstance(columns, (list, tuple)) or not all(isinstance(name, str) for name in columns):
        problem = f"is a column of the queries or a list of columns for search runs, not {shown(by, _LONGEST)}"
        raise ParameterError(problem, option="by")
    return list(columns)

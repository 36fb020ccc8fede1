"""What evaluations are called beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from apframe.exceptions import ParameterError
from apframe.paths import names_of
from apframe.wording import counted, listed, shown


def names_beside(evaluations: Sequence[Any], names: Sequence[str] | None = None) -> list[str]:
    """Return a name for each evaluation, all different.

    These are `names` if they are given, otherwise the evaluations' own. Names of files that are the same in two folders get the
    folder in front, other equal names a number. An evaluation without a name is called by the letter of its place: a, b, c.

    Raises
    ------
    ParameterError
        `names` is not a list with a text for each evaluation, or has a text twice

    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> one, two = evaluate(truth, []), evaluate(truth, [], name="tuned")
    >>> names_beside([one, two]), names_beside([two, two]), names_beside([one, two], ["old", "new"])
    (['a', 'tuned'], ['tuned', 'tuned (2)'], ['old', 'new'])
    """
    kind = type(evaluations[0])  # that of an evaluation, which users may give anything to compare with
    for each in evaluations:
        if not isinstance(each, kind):
            if isinstance(each, (list, tuple)) and any(isinstance(one, kind) for one in each):
                raise ParameterError("a list of evaluations is given where one is needed", "call it for each of them")
            raise ParameterError(
                f"an evaluation is compared with evaluations, not with {shown(each, 60)}", "call evaluate first"
            )
    if names is not None:
        return _checked(names, len(evaluations))
    letters = [ascii_lowercase[k] if k < len(ascii_lowercase) else f"model {k + 1}" for k in range(len(evaluations))]
    found = [getattr(each, "name", None) or letter for each, letter in zip(evaluations, letters, strict=True)]
    paths = [_path_alone(each) for each in evaluations]
    told = list(dict.fromkeys(path for path in paths if path is not None))
    longer = dict(zip(told, names_of(told), strict=True))
    twice = Counter(found)
    found = [longer[path] if path is not None and twice[name] > 1 else name for name, path in zip(found, paths, strict=True)]
    taken: set[str] = set()
    for k, name in enumerate(found):
        number = 1
        while found[k] in taken:
            number += 1
            found[k] = f"{name} ({number})"
        taken.add(found[k])
    return found


def _checked(names: Any, n: int) -> list[str]:
    given = [] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if not (given and all(isinstance(name, str) and name for name in given)):
        raise ParameterError(f"is a list of texts, one for each evaluation, not {names!r}", option="names")
    if len(given) != n:
        raise ParameterError(f"has {counted(len(given), 'name')} for {counted(n, 'evaluation')}", option="names")
    if twice := [name for name, times in Counter(given).items() if times > 1]:
        raise ParameterError(f"has {listed(twice)} twice", "give each evaluation a name of its own", option="names")
    return given


def _path_alone(self: Any) -> Path | None:
    """The path that an evaluation is called by; None if it has a name, or no path."""
    path = getattr(self, "_path", None)
    return Path(path) if path is not None and self._label is None else None

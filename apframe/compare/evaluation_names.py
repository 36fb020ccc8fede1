"""Names for several evaluations that are shown together."""

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

    `names` come first, then the evaluations' own names. File names that are the same in two folders get the folder in front,
    other equal names get a number. An evaluation without a name is named by the letter of its position: a, b, c.

    Raises
    ------
    ParameterError
        `names` is not a list with one text for each evaluation, or repeats a text

    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> one, two = evaluate(truth, []), evaluate(truth, [], name="tuned")
    >>> names_beside([one, two]), names_beside([two, two]), names_beside([one, two], ["old", "new"])
    (['a', 'tuned'], ['tuned', 'tuned (2)'], ['old', 'new'])
    """
    kind = type(evaluations[0])  # the type of an evaluation: users may compare with anything
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
    chosen_names = [getattr(each, "name", None) or letter for each, letter in zip(evaluations, letters, strict=True)]
    paths = [_path_alone(each) for each in evaluations]
    known_paths = list(dict.fromkeys(path for path in paths if path is not None))
    longer = dict(zip(known_paths, names_of(known_paths), strict=True))
    times = Counter(chosen_names)
    chosen_names = [
        longer[path] if path is not None and times[name] > 1 else name for name, path in zip(chosen_names, paths, strict=True)
    ]
    used_names: set[str] = set()
    for k, name in enumerate(chosen_names):
        number = 1
        while chosen_names[k] in used_names:
            number += 1
            chosen_names[k] = f"{name} ({number})"
        used_names.add(chosen_names[k])
    return chosen_names


def _checked(names: Any, n: int) -> list[str]:
    texts = [] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if not (texts and all(isinstance(name, str) and name for name in texts)):
        raise ParameterError(f"is a list of texts, one for each evaluation, not {names!r}", option="names")
    if len(texts) != n:
        raise ParameterError(f"has {counted(len(texts), 'name')} for {counted(n, 'evaluation')}", option="names")
    if repeated := [name for name, times in Counter(texts).items() if times > 1]:
        raise ParameterError(f"has {listed(repeated)} twice", "give each evaluation a name of its own", option="names")
    return texts


def _path_alone(self: Any) -> Path | None:
    """Return the path that names an evaluation; None if it has a name of its own, or no path."""
    path = getattr(self, "_path", None)
    return Path(path) if path is not None and self._label is None else None

"""Data in shards in place of ground truth and results, as `apframe eval --shards` accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from apframe.exceptions import ParameterError
from apframe.folders import matching
from apframe.paths import is_folder, is_pattern


def hint_at_shards(truth: Path, results: Path | None) -> None:
    """Raise an error if --shards is missing: the ground truth is a shard or a folder of shards, or a path is a pattern.

    A folder of tables without detections, together with results, is ground truth.

    Raises
    ------
    ParameterError
        --shards is missing
    """
    if is_folder(truth):
        from apframe.scale.shards import has_listing, is_shard

        with_detections = results is not None and not (is_folder(results) and is_shard(str(results)))
        if has_listing(str(truth)) or is_shard(str(truth), with_detections=with_detections):
            raise ParameterError(f"{truth} has data in shards", f"evaluate them with apframe eval --shards {quote(str(truth))}")
    named = [truth] if results is None else [truth, results]
    for name, path in zip(("GT", "DT"), named, strict=False):
        # a ? in an address is no pattern, nor is a ? or [ in a path that does not exist
        if is_pattern(path) and ":/" not in str(path) and ("*" in str(path) or matching(path)):
            paths = " ".join(quote(str(each)) for each in named)
            what = "pairs of files" if results else "data in shards"
            problem = f"{path} is a pattern, but {name} is one file or folder"
            raise ParameterError(problem, f"evaluate {what} with apframe eval --shards {paths}")


def hint_at_out(path: Path, command: str) -> None:
    """Raise an error if a command for stored evaluations gets shards, whose evaluation has to be stored first.

    Raises
    ------
    ParameterError
        it says so
    """
    from apframe.scale.addresses import expand
    from apframe.scale.shards import has_listing, is_shard

    first = expand(str(path))[:1]
    if any(has_listing(each) or (is_pattern(path) and is_shard(each)) for each in first):
        store = f"store their evaluation with apframe eval --shards {quote(str(path))} --out DIR"
        raise ParameterError(f"{path} has data in shards", f"{store}, then name DIR to apframe {command}")


def as_shards(truth: Path, results: Path | None, more: Sequence[Path]) -> tuple[Any, Any]:
    """Return the first two arguments of `evaluate_shards`.

    Two paths are ground truth and detections, unless the second one is a shard too. Three or more are shards: the shell expands
    a pattern without quotes to them, and to the files next to the shards.

    Raises
    ------
    ParameterError
        there are three or more paths, and none of them is a folder

    >>> as_shards(Path("gt/*.json"), Path("dt/*.json"), [])
    (PosixPath('gt/*.json'), PosixPath('dt/*.json'))
    """
    if results is None:
        return truth, None
    paths = [truth, results, *more]
    if more:
        if not any(is_folder(path) or _is_of_shards(path) for path in paths):
            raise ParameterError(
                f"{len(paths):,} files were named, and none of them is a folder with a shard",
                "write patterns in quotes: apframe eval --shards 'gt/*.json' 'dt/*.json'",
            )
        return paths, None
    return (paths, None) if _is_of_shards(results) else (truth, results)


def _is_of_shards(path: Path) -> bool:
    """Return True if the first match of a path or a pattern is a shard, or a folder of shards."""
    from apframe.scale.addresses import expand
    from apframe.scale.shards import has_listing, is_shard

    return any(is_shard(address) or has_listing(address) for address in expand(str(path))[:1])

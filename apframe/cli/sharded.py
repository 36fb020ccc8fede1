"""Data in shards in place of ground truth and results, as `apframe eval --shards` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from apframe.exceptions import ParameterError
from apframe.folders import matching
from apframe.paths import is_folder, is_pattern


def hint_at_shards(truth: Path, results: Path | None) -> None:
    """An error if the ground truth is a folder of shards or a shard, or either is a pattern of files: --shards is missing.

    A folder of tables without detections, beside results, is ground truth.

    Raises
    ------
    ParameterError
        it says so
    """
    if is_folder(truth):
        from apframe.scale.shards import has_listing, is_shard

        beside = results is not None and not (is_folder(results) and is_shard(str(results)))
        if has_listing(str(truth)) or is_shard(str(truth), with_detections=beside):
            raise ParameterError(f"{truth} has data in shards", f"evaluate them with apframe eval --shards {quote(str(truth))}")
    named = [truth] if results is None else [truth, results]
    for name, path in zip(("GT", "DT"), named, strict=False):
        # the ? of an address is none, nor is a ? or [ in a name of nothing
        if is_pattern(path) and ":/" not in str(path) and ("*" in str(path) or matching(path)):
            paths = " ".join(quote(str(each)) for each in named)
            what = "pairs of files" if results else "data in shards"
            problem = f"{path} is a pattern, but {name} is one file or folder"
            raise ParameterError(problem, f"evaluate {what} with apframe eval --shards {paths}")


def hint_at_out(path: Path, command: str) -> None:
    """An error if a command that takes a stored evaluation is given shards: their evaluation has to be stored first.

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
    """The first two arguments of `evaluate_shards`.

    Two paths are ground truth and detections, unless the second one is a shard too. Three and more are shards: the shell makes
    them of a pattern without quotes, with the files beside the shards among them.

    Raises
    ------
    ParameterError
        three or more paths, of which none is a folder

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
    """Whether the first thing that a path or a pattern stands for is a shard, or a folder of shards."""
    from apframe.scale.addresses import expand
    from apframe.scale.shards import has_listing, is_shard

    return any(is_shard(address) or has_listing(address) for address in expand(str(path))[:1])

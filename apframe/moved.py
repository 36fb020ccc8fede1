"""Import paths from before version 0.6, which work for one more version, with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# the longest name that fits counts: what is inside a package that moved keeps its own name there
MOVED = {
    "adapters.torchmetrics": "training.torchmetrics",
    "analysis": "detection.slices",
    "analysis.comparison": "compare.comparison",
    "analysis.overlaps": "detection.diagnose.overlaps",
    "analysis.patches": "retrieval.patches",
    "analysis.per_image": "detection.diagnose.per_image",
    "analysis.thresholds": "detection.diagnose.thresholds",
    "counting": "detection.prepare.counting",
    "evaluation": "detection.evaluation",
    "evaluator": "detection.evaluator",
    "inputs": "detection.prepare.inputs",
    "io": "file_formats",
    "io.formats": "file_formats.catalogue",
    "io.parquet": "store.parquet",
    "io.trec": "retrieval.trec",
    "matching.hierarchy": "detection.prepare.hierarchy",
    "matching.judged": "detection.prepare.judged",
    "pipeline": "detection.pipeline",
    "prompt": "cli.prompt",
    "protocols": "rule_sets",
    "ranking.expressions": "lists.expressions",
    "ranking.hits": "lists.relevance",
    "ranking.list_curves": "lists.list_curves",
    "ranking.losses": "training.losses",
    "ranking.measures": "lists.measures",
    "ranking.ranked_lists": "lists.ranked_lists",
    "ranking.torch_losses": "training.torch_losses",
    "ranking.vl_pr": "lists.vl_pr",
    "reidentification": "retrieval.reidentification",
    "run_sets": "runs.run_sets",
    "similarity.boundaries": "shapes.boundaries",
    "similarity.extents": "detection.prepare.extents",
    "similarity.mask_columns": "shapes.mask_columns",
    "similarity.polygons": "shapes.polygons",
    "similarity.run_lengths": "shapes.run_lengths",
    "similarity.runs": "shapes.runs",
    "sql": "store.sql",
}


def new_name(name: str) -> str | None:
    """Return the new name of a module; None if it has not moved.

    >>> new_name("apframe.io.ids"), new_name("apframe.matching.order")
    ('apframe.file_formats.ids', None)
    """
    parts = name.removeprefix("apframe.").split(".")
    for n in range(len(parts), 0, -1):
        moved = MOVED.get(".".join(parts[:n]))
        if moved is not None:
            return ".".join(["apframe", moved, *parts[n:]])
    return None


class OldNames(MetaPathFinder, Loader):
    """Finder for the modules in `MOVED`; it comes first, so that a moved package finds its modules under both names."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        """Find the spec of an old name: see `MetaPathFinder.find_spec`."""
        moved = fullname.startswith("apframe.") and new_name(fullname)
        return ModuleSpec(fullname, self, is_package=True) if moved else None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module with the moved one: see `Loader.exec_module`."""
        name = module.__name__
        moved = new_name(name)
        assert moved is not None
        sys.modules[name] = import_module(moved)
        warnings.warn(f"{name} is now {moved}; the old name will be removed in the next version", DeprecationWarning, 2)

"""The parts of pycocotools 2.0.11 that training code imports, under the same names, computed on apframe's tables.

`from apframe.pycocotools import COCO, COCOeval, mask` instead of pycocotools' own, or `patch_pycocotools()` before the
code that imports them. Numbers come from `apframe.evaluate`; dictionaries are created at their first use, and are the data
from then on.
"""

from __future__ import annotations

import sys
from importlib import import_module

from apframe.pycocotools.coco import COCO
from apframe.pycocotools.cocoeval import COCOeval, Params

__all__ = ["COCO", "COCOeval", "Params", "patch_pycocotools"]


def patch_pycocotools() -> None:
    """Replace `pycocotools` and its modules `coco`, `cocoeval` and `mask` by apframe's in this process.

    Call it before other code imports them: names that were imported earlier do not change.

    >>> import sys
    >>> before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pycocotools"}
    >>> patch_pycocotools()
    >>> from pycocotools.cocoeval import COCOeval
    >>> COCOeval.__module__
    'apframe.pycocotools.cocoeval'
    >>> for name in ("pycocotools", "pycocotools.coco", "pycocotools.cocoeval", "pycocotools.mask"):
    ...     _ = sys.modules.pop(name)
    >>> sys.modules.update(before)
    """
    modules = {name: import_module(f"{__name__}.{name}") for name in ("coco", "cocoeval", "mask")}
    sys.modules["pycocotools"] = sys.modules[__name__]
    sys.modules.update({f"pycocotools.{name}": module for name, module in modules.items()})

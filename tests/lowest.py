"""Print the lowest version that pyproject.toml admits of every requirement, as constraints for pip: see `make test-lowest`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def lowest_versions() -> list[str]:
    """Every requirement of the package and its extras, pinned to its lower bound.

    >>> "polars==2.1" in lowest_versions()
    True
    """
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    bounds = (re.match(r"([\w-]+)(?:\[[\w,-]+\])?[>=]=([\d.]+)", text) for text in requirements)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    print("\n".join(lowest_versions()))

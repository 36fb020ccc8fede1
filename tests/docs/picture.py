"""The picture of the README: AP by weather and time of day on the sample set. `python -m tests.docs.picture` draws it anew."""

from __future__ import annotations

from pathlib import Path

import apframe as apf

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "slices.svg"


def slices() -> apf.Evaluation:
    """The evaluation that the picture shows."""
    return apf.evaluate(ROOT / "data/street/instances.json", ROOT / "data/street/model_a.json")


if __name__ == "__main__":
    apf.plot_slice_heatmap(slices().by("weather", "time_of_day"), "time_of_day", "weather").save(str(PICTURE))

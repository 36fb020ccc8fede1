"""What is drawn, and the numbers of each draw."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.evaluation.comparison.sampling import Sampling, chosen_lines, image_draws, sample
from apframe.exceptions import ParameterError


@pytest.fixture(scope="module")
def ev() -> apf.Evaluation:
    return apf.evaluate("data/street/instances.json", "data/street/model_a.json")


def test_numbers_of_draws(ev: apf.Evaluation) -> None:
    numbers = sample([ev, ev], Sampling(metrics=["AP50", "ARs"], by="weather", n_resamples=7))
    assert [each.metric for each in numbers] == ["AP50", "ARs"]
    assert numbers[0].draws.shape == (2, 4, 7)
    assert numbers[0].table.columns == ["weather"]
    assert numbers[0].only(2, "fog").draws.shape == (2, 1, 7)


def test_names_of_metrics(ev: apf.Evaluation) -> None:
    assert [line.metric for line in chosen_lines(ev, ["ap50", "AP", "AP50"])] == ["AP50", "AP"]
    assert len(chosen_lines(ev, None)) == 12
    with pytest.raises(ParameterError, match="no metric 'APx'"):
        chosen_lines(ev, "APx")


def test_units_are_the_images_in_the_order_of_their_ids(ev: apf.Evaluation) -> None:
    assert image_draws(ev, None, None, 1, 0).unit.tolist() == list(range(300))
    assert image_draws(ev, "file_name", None, 1, 0).n_units == 300

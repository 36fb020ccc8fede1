"""What is drawn, and the numbers of each draw."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.evaluation.comparison.sampling import Sampling, chosen_lines, image_draws, sample
from apframe.evaluation.comparison.study import ResampledNumbers
from apframe.exceptions import ParameterError


@pytest.fixture(scope="module")
def ev() -> apf.Evaluation:
    return apf.evaluate("data/street/instances.json", "data/street/model_a.json")


@pytest.mark.slow
def test_numbers_of_draws(ev: apf.Evaluation) -> None:
    drawn = sample([ev, ev], Sampling(metrics=["AP50", "ARs"], by="weather", n_resamples=40, method="bootstrap"))
    assert [each.metric for each in drawn] == ["AP50", "ARs"]
    first, fog = drawn[0], drawn[0].only(2, "fog")
    assert isinstance(first, ResampledNumbers)
    assert first.table.columns == ["weather"]
    assert isinstance(fog, ResampledNumbers)
    assert (first.draws.shape, fog.draws.shape) == ((2, 4, 40), (2, 1, 40))


def test_names_of_metrics(ev: apf.Evaluation) -> None:
    assert [line.metric for line in chosen_lines(ev, ["ap50", "AP", "AP50"])] == ["AP50", "AP"]
    assert len(chosen_lines(ev, None)) == 12
    with pytest.raises(ParameterError, match="no metric 'APx'"):
        chosen_lines(ev, "APx")


def test_units_are_the_images_in_the_order_of_their_ids(ev: apf.Evaluation) -> None:
    assert image_draws(ev, None, None, 1, 0).unit.tolist() == list(range(300))
    assert image_draws(ev, "file_name", None, 1, 0).n_units == 300

"""Soft average precision: values against loops and by hand, gradients against differences, and what must not matter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import InputError, ParameterError, RowError
from apframe.training import losses
from apframe.training.losses import DifferentiableAP, fast_ap, quantized_ap, smooth_ap
from apframe.training.torch_losses import ap_loss

Objective = Callable[..., DifferentiableAP]
SEEDS = st.integers(0, 2**32 - 1)
# each with the range its scores are drawn from
OBJECTIVES: dict[str, tuple[Objective, float, float]] = {
    "quantized": (quantized_ap, -1, 1),
    "fast": (fast_ap, 0, 4),
    "smooth": (partial(smooth_ap, temperature=0.2), -1, 1),
}
every_objective = pytest.mark.parametrize(("objective", "low", "high"), OBJECTIVES.values(), ids=OBJECTIVES)


def batch(seed: int, low: float, high: float, shape: tuple[int, ...] = (5, 12)) -> tuple[np.ndarray, np.ndarray]:
    """Random scores, and relevant items: at least one of each query."""
    random = np.random.default_rng(seed)
    scores, relevant = random.uniform(low, high, shape), random.random(shape) < 0.4
    relevant[..., 0] = True
    return scores, relevant


def step_ap(similarity: np.ndarray, relevant: np.ndarray) -> float:
    """The exact average precision of one query: the mean of the precisions at its relevant items."""
    hits, precisions = 0, []
    for rank, item in enumerate(np.argsort(-similarity), start=1):
        if relevant[item]:
            hits += 1
            precisions.append(hits / rank)
    return sum(precisions) / hits


def binned_ap(scores: np.ndarray, relevant: np.ndarray, centres: np.ndarray) -> float:
    """The formula of one query as it is written, over centres in ranking order."""
    width = abs(centres[1] - centres[0])
    total = hits = above = 0.0
    for centre in centres:
        in_bin = [max(1 - abs(score - centre) / width, 0) for score in scores]
        hits_in_bin = sum(part for part, is_relevant in zip(in_bin, relevant, strict=True) if is_relevant)
        hits, above = hits + hits_in_bin, above + sum(in_bin)
        if above > 0:
            total += hits / above * hits_in_bin / relevant.sum()
    return total


def differences(objective: Objective, scores: np.ndarray, relevant: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central finite differences of each query's value by each of its scores."""
    gradient = np.zeros(scores.shape)
    for item in range(scores.shape[1]):
        shift = np.zeros(scores.shape[1])
        shift[item] = h
        gradient[:, item] = (objective(scores + shift, relevant).value - objective(scores - shift, relevant).value) / (2 * h)
    return gradient


def between_centres(seed: int, low: float, high: float, n_intervals: int) -> tuple[np.ndarray, np.ndarray]:
    """A batch whose scores keep off the bin centres, where the derivative jumps."""
    part, relevant = batch(seed, 0.05, 0.95)
    interval = np.random.default_rng(seed).integers(0, n_intervals, part.shape)
    return low + (interval + part) * (high - low) / n_intervals, relevant


def test_quantized_ap_by_hand() -> None:
    # centres 1, 0.5, 0; relevant in the bins: 0.5, 1, 0.5; all in the bins: 0.5, 2, 0.5; precision 1, 3/5, 2/3
    ap = quantized_ap(np.array([[0.75, 0.5, 0.25]]), np.array([[True, False, True]]), n_bins=3, low=0, high=1)
    assert ap.value == pytest.approx([(0.5 * 1 + 1 * 3 / 5 + 0.5 * 2 / 3) / 2])
    # by place in bins: relevant 3/5 - 1 - 1 + 1 * 1; other 2/5 * 3/5; relevant 2/3 - 3/5 - 2/5 + 2/5 * 3/5; then / 2, and
    # 2 places are 1 of similarity, downwards
    assert ap.gradient[0] == pytest.approx([0.4, -0.24, 7 / 75])


def test_fast_ap_counts_intervals() -> None:
    # centres 0, 2, 4: the bins of the test above
    ap = fast_ap(np.array([[1.0, 2.0, 3.0]]), np.array([[1, 0, 1]]), n_bins=2)
    assert ap.value == pytest.approx([(0.5 * 1 + 1 * 3 / 5 + 0.5 * 2 / 3) / 2])
    assert ap.gradient[0] == pytest.approx([-0.4 / 4, 0.24 / 4, -7 / 75 / 4])


def test_smooth_ap_by_hand() -> None:
    # sigmoid(log 3) = 3/4, sigmoid(-log 3) = 1/4, sigmoid(0) = 1/2
    ap = smooth_ap(np.array([[log(3), 0.0, 0.0]]), np.array([[1, 1, 0]]), temperature=1)
    assert ap.value == pytest.approx([((1 + 1 / 4) / (1 + 1 / 4 + 1 / 4) + (1 + 3 / 4) / (1 + 3 / 4 + 1 / 2)) / 2])
    # one relevant item, 4/7: the derivative of 1 / (1 + s) is -(4/7)² times that of the sigmoid, 3/4 * 1/4
    ap = smooth_ap(np.array([[0.0, log(3)]]), np.array([[1, 0]]), temperature=1)
    assert ap.value == pytest.approx([4 / 7])
    assert ap.gradient[0] == pytest.approx([3 / 49, -3 / 49])


@given(SEEDS, st.integers(2, 30))
def test_bins_as_the_formula_says(seed: int, n_bins: int) -> None:
    similarity, relevant = batch(seed, -1, 1)
    ap = quantized_ap(similarity, relevant, n_bins=n_bins)
    centres = np.linspace(1, -1, n_bins)
    assert ap.value == pytest.approx([binned_ap(s, r, centres) for s, r in zip(similarity, relevant, strict=True)])
    distance, relevant = batch(seed, 0, 4)
    ap = fast_ap(distance, relevant, n_bins=n_bins)
    centres = np.linspace(0, 4, n_bins + 1)
    assert ap.value == pytest.approx([binned_ap(d, r, centres) for d, r in zip(distance, relevant, strict=True)])


@given(SEEDS)
def test_fast_ap_is_quantized_ap_of_negated_distances(seed: int) -> None:
    distance, relevant = batch(seed, -0.5, 4.5)
    fast, quantized = fast_ap(distance, relevant), quantized_ap(-distance, relevant, n_bins=11, low=-4, high=0)
    assert fast.value == pytest.approx(quantized.value)
    assert fast.gradient == pytest.approx(-quantized.gradient)


@given(SEEDS, st.integers(1, 25))
def test_cold_smooth_ap_is_the_exact_one(seed: int, n_items: int) -> None:
    scores, relevant = batch(seed, 0, 1, (3, n_items))
    similarity = scores.argsort(axis=1) / 10.0  # 0.1 apart or more
    ap = smooth_ap(similarity, relevant, temperature=0.001)
    assert ap.value == pytest.approx([step_ap(s, r) for s, r in zip(similarity, relevant, strict=True)], abs=1e-12)


@given(SEEDS, st.integers(1, 25))
def test_fine_bins_are_exact_on_centres_and_bounded_between(seed: int, n_items: int) -> None:
    part, relevant = batch(seed, 0, 1, (3, n_items))
    place = part.argsort(axis=1) * 10.0
    exact = np.array([step_ap(s, r) for s, r in zip(place, relevant, strict=True)])
    fine = partial(quantized_ap, relevant=relevant, n_bins=20_001, low=-10_000, high=10_000)  # centres 1 apart
    assert fine(place).value == pytest.approx(exact)
    below = exact - fine(place + part).value
    assert (below >= -1e-12).all()
    assert (below <= (3 - 8**0.5) / 2 + 1e-12).all()


def test_what_two_parts_of_an_item_cost_at_most() -> None:
    # the second of two items, `part` below a centre, costs part * (1 - part) / (2 * (2 - part)); this is the dearest place
    part = 2 - 2**0.5
    ap = quantized_ap(np.array([[10.0, 1 - part]]), np.array([[0, 1]]), n_bins=21, low=-10, high=10)
    assert 1 / 2 - ap.value == pytest.approx([(3 - 8**0.5) / 2])


@pytest.mark.slow
@given(SEEDS, st.integers(2, 12))
def test_gradients_of_bins_against_differences(seed: int, n_intervals: int) -> None:
    similarity, relevant = between_centres(seed, -1, 1, n_intervals)
    quantized = partial(quantized_ap, n_bins=n_intervals + 1)
    expected = differences(quantized, similarity, relevant)
    assert quantized(similarity, relevant).gradient == pytest.approx(expected, rel=1e-5, abs=1e-7)
    distance, relevant = between_centres(seed, 0, 4, n_intervals)
    fast = partial(fast_ap, n_bins=n_intervals)
    assert fast(distance, relevant).gradient == pytest.approx(differences(fast, distance, relevant), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("temperature", "spread"), [(0.01, 0.02), (0.2, 1), (5, 1)])
@given(SEEDS)
def test_gradients_of_smooth_ap_against_differences(temperature: float, spread: float, seed: int) -> None:
    similarity, relevant = batch(seed, -spread, spread)
    smooth = partial(smooth_ap, temperature=temperature)
    expected = differences(smooth, similarity, relevant, h=1e-5 * temperature)
    assert smooth(similarity, relevant).gradient == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_beyond_the_range_is_at_its_end_with_no_gradient() -> None:
    relevant = np.array([[0, 1, 1, 0, 1]])
    beyond = quantized_ap(np.array([[1.5, 2.0, 0.33, 0.3, -7.0]]), relevant)
    at_end = quantized_ap(np.array([[1.0, 1.0, 0.33, 0.3, -1.0]]), relevant)
    assert beyond.value == pytest.approx(at_end.value)
    assert beyond.gradient[0, [0, 1, 4]].tolist() == [0, 0, 0]
    assert beyond.gradient[0, [2, 3]].tolist() == at_end.gradient[0, [2, 3]].tolist()
    assert (beyond.gradient[0, [2, 3]] != 0).all()


def test_on_a_centre_the_derivative_is_the_one_down_the_ranking() -> None:
    similarity, relevant = np.array([[1.0, 0.5, 0.0]]), np.array([[0, 1, 0]])  # on centres 1, 0.5, 0, of which 0 is the last
    ap = partial(quantized_ap, relevant=relevant, n_bins=3, low=0)
    down = [(ap(similarity).value - ap(similarity - 1e-7 * one).value)[0] / 1e-7 for one in np.eye(3)]
    assert ap(similarity).gradient[0] == pytest.approx(down, abs=1e-6)
    assert ap(similarity).gradient[0, 2] == 0


@every_objective
@given(SEEDS, st.permutations(range(12)))
def test_shuffling_items_permutes_the_gradient(
    objective: Objective, low: float, high: float, seed: int, order: list[int]
) -> None:
    scores, relevant = batch(seed, low, high)
    before, after = objective(scores, relevant), objective(scores[:, order], relevant[:, order])
    assert after.value == pytest.approx(before.value)
    assert after.gradient == pytest.approx(before.gradient[:, order])


@every_objective
@given(SEEDS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_items_that_are_not_valid_might_as_well_be_missing(
    objective: Objective, low: float, high: float, seed: int, kept: list[bool]
) -> None:
    keep = np.array(kept)
    scores, relevant = batch(seed, low, high)
    removed = objective(scores[:, keep], relevant[:, keep])
    scores[:, ~keep] = np.nan
    masked = objective(scores, relevant, valid=np.tile(keep, (5, 1)))
    assert masked.value == pytest.approx(removed.value, nan_ok=True)
    assert masked.gradient[:, keep] == pytest.approx(removed.gradient)
    assert (masked.gradient[:, ~keep] == 0).all()


@every_objective
@given(SEEDS)
def test_queries_do_not_know_each_other(objective: Objective, low: float, high: float, seed: int) -> None:
    scores, relevant = batch(seed, low, high)
    together = objective(scores, relevant)
    for query in range(5):
        alone = objective(scores[query], relevant[query])  # one query as a 1-D array
        assert alone.value.shape == ()
        assert alone.gradient.shape == (12,)
        assert alone.value == pytest.approx(together.value[query])
        assert alone.gradient == pytest.approx(together.gradient[query])


@pytest.mark.parametrize("block", [1, 24, 60])
def test_smooth_ap_does_not_depend_on_its_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, relevant = batch(7, -1, 1)
    whole = smooth_ap(scores, relevant, temperature=0.2)
    monkeypatch.setattr(losses, "BLOCK", block)
    parts = smooth_ap(scores, relevant, temperature=0.2)
    assert parts.value == pytest.approx(whole.value)
    assert parts.gradient == pytest.approx(whole.gradient)


@every_objective
def test_queries_without_relevant_items_are_left_out_of_the_mean(objective: Objective, low: float, high: float) -> None:
    scores, relevant = batch(3, low, high, (3, 6))
    relevant[1] = False
    ap = objective(scores, relevant)
    assert np.isnan(ap.value).tolist() == [False, True, False]
    assert (ap.gradient[1] == 0).all()
    assert ap.n_queries == 2
    assert ap.mean == pytest.approx((ap.value[0] + ap.value[2]) / 2)
    assert ap.mean_gradient == pytest.approx(ap.gradient / 2)


@every_objective
@pytest.mark.parametrize("shape", [(3, 4), (3, 0), (0, 4), (0, 0), (0,)])
def test_nothing_to_find(objective: Objective, low: float, high: float, shape: tuple[int, ...]) -> None:
    ap = objective(np.full(shape, (low + high) / 2), np.zeros(shape))
    assert (ap.n_queries, ap.value.shape, ap.gradient.shape) == (0, shape[:-1], shape)
    assert np.isnan(ap.mean)
    assert np.isnan(ap.value).all()
    assert (ap.mean_gradient == 0).all()


@every_objective
def test_all_relevant_is_perfect_wherever_the_items_are(objective: Objective, low: float, high: float) -> None:
    ap = objective(*batch(5, low, high)[:1], np.ones((5, 12)))
    assert ap.value == pytest.approx(np.ones(5))
    assert ap.gradient == pytest.approx(np.zeros((5, 12)))


@pytest.mark.parametrize("objective", [quantized_ap, fast_ap, smooth_ap])
def test_huge_scores_do_not_overflow(objective: Objective) -> None:
    ap = objective(np.array([[1.7e308, -1.7e308, 3e5]]), np.array([[1, 1, 0]]))
    assert ((ap.value > 0) & (ap.value <= 1)).all()
    assert np.isfinite(ap.gradient).all()


ONE = np.array([[1.0, 0.5]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@every_objective
def test_scores_that_are_not_finite(objective: Objective, low: float, high: float, bad: float) -> None:
    scores, relevant = batch(1, low, high)
    scores[[0, 3], [2, 11]] = bad
    with pytest.raises(RowError, match=r"NaN or infinite for \(query, item\) \(0, 2\), \(3, 11\); .*valid=") as caught:
        objective(scores, relevant)
    assert caught.value.rows == [(0, 2), (3, 11)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: smooth_ap(ONE, [[1, 2]]), RowError, r"relevant: neither 0 nor 1 for \(query, item\) \(0, 1\)"),
        (lambda: smooth_ap(ONE[0], [1, np.nan]), RowError, r"relevant: neither 0 nor 1 for \(query, item\) \(0, 1\)"),
        (lambda: fast_ap(ONE, [[1, 0]], valid=[[1, -1]]), RowError, "valid: neither 0 nor 1"),
        (lambda: fast_ap([["a", "b"]], [[1, 0]]), InputError, "distance must be numbers"),
        (lambda: smooth_ap([[1.0], [1.0, 2.0]], [[1, 0]]), InputError, "similarity must be numbers in rows of the same length"),
        (lambda: smooth_ap(ONE, [1, 0]), ParameterError, r"relevant has shape \(2,\), the scores \(1, 2\)"),
        (lambda: smooth_ap(ONE, [[1, 0]], valid=[[1]]), ParameterError, r"valid has shape \(1, 1\), the scores \(1, 2\)"),
        (
            lambda: smooth_ap(np.float64(1), 1),
            ParameterError,
            r"similarity has shape \(\); its shape must be \(queries, items\)",
        ),
        (lambda: quantized_ap(ONE, [[1, 0]], n_bins=1), ParameterError, "n_bins is a whole number of at least 2, not 1"),
        (lambda: fast_ap(ONE, [[1, 0]], n_bins=2.5), ParameterError, "n_bins is a whole number of at least 2, not 2.5"),
        (lambda: quantized_ap(ONE, [[1, 0]], low=1, high=1), ParameterError, "low must lie below high, got low=1, high=1"),
        (lambda: fast_ap(ONE, [[1, 0]], high=np.nan), ParameterError, "low must lie below high, got low=0.0, high=nan"),
        (lambda: smooth_ap(ONE, [[1, 0]], temperature=0), ParameterError, "temperature must be a number above 0, not 0"),
        (lambda: smooth_ap(ONE, [[1, 0]], temperature=np.nan), ParameterError, "temperature must be a number above 0, not nan"),
    ],
)
def test_messages(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_without_torch_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ParameterError, match=r'pip install torch, or the extra "torch"'):
        ap_loss(ONE, [[1, 0]])


@pytest.mark.parametrize(("name", "options"), [("quantized", {}), ("fast", {"n_bins": 7}), ("smooth", {"temperature": 0.2})])
def test_torch_gradients(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    function, low, high = OBJECTIVES[name]
    scores, relevant = batch(11, low, high)
    relevant[2] = False
    valid = np.ones(scores.shape, dtype=bool)
    valid[:, 3] = False
    tensor = torch.tensor(scores, requires_grad=True)
    options |= {"objective": name, "valid": torch.tensor(valid)}

    loss = ap_loss(tensor, torch.tensor(relevant), **options)
    (3 * loss).backward()
    ap = function(scores, relevant, valid=valid, **({"n_bins": 7} if name == "fast" else {}))
    assert loss.item() == pytest.approx(1 - ap.mean)
    assert tensor.grad.numpy() == pytest.approx(-3 * ap.mean_gradient)
    assert torch.autograd.gradcheck(partial(ap_loss, relevant=torch.tensor(relevant), **options), (tensor,))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_torch_dtype_is_kept(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    similarity = torch.tensor([0.75, 0.5, 0.25], dtype=getattr(torch, dtype), requires_grad=True)
    loss = ap_loss(similarity, [1, 0, 1], n_bins=3, low=0, high=1)
    loss.backward()
    assert (loss.dtype, loss.shape, similarity.grad.dtype) == (similarity.dtype, (), similarity.dtype)
    assert similarity.grad.tolist() == pytest.approx([-0.4, 0.24, -7 / 75], rel=0.01)


def test_a_step_without_relevant_items_changes_nothing() -> None:
    torch = pytest.importorskip("torch")
    similarity = torch.zeros(2, 3, requires_grad=True)
    loss = ap_loss(similarity, torch.zeros(2, 3))
    loss.backward()
    assert loss.isnan()
    assert (similarity.grad == 0).all()


def test_torch_bad_input() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ParameterError, match="no objective 'exact'; there are quantized, smooth, fast"):
        ap_loss(torch.zeros(1, 2), [[1, 0]], objective="exact")
    with pytest.raises(ParameterError, match="similarity must be a float tensor"):
        ap_loss(ONE, [[1, 0]])
    with pytest.raises(ParameterError, match="similarity must be a float tensor"):
        ap_loss(torch.zeros(1, 2, dtype=torch.int64), [[1, 0]])
    with pytest.raises(RowError, match=r"similarity: NaN or infinite for \(query, item\) \(0, 0\)"):
        ap_loss(torch.full((1, 2), torch.nan), [[1, 0]])

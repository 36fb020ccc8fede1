"""The soft average precisions of `apframe.training.losses` as a loss in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from apframe.exceptions import ParameterError, import_optional
from apframe.option_values import one_of
from apframe.training.losses import DifferentiableAP, fast_ap, quantized_ap, smooth_ap

OBJECTIVES: dict[str, Callable[..., DifferentiableAP]] = {"quantized": quantized_ap, "smooth": smooth_ap, "fast": fast_ap}


def ap_loss(similarity: Any, relevant: Any, *, objective: str = "quantized", **options: Any) -> Any:
    """Compute the loss `1 - mean average precision` as a torch scalar that can be minimized.

    Parameters
    ----------
    similarity
        A float tensor of shape (queries, items) or (items,), on any device; for "fast" it holds distances.
    relevant
        A tensor or array of the same shape, bool or 0 and 1.
    objective
        "quantized", "smooth" or "fast": the functions `quantized_ap`, `smooth_ap` and `fast_ap`.
    **options
        Options of that function, such as `n_bins`, `temperature` or `valid` (a tensor or an array).

    Returns
    -------
    A scalar of the dtype and device of `similarity`. If no query has a relevant item it is NaN, with gradient 0.

    Raises
    ------
    ParameterError
        PyTorch is not installed, `similarity` is not a float tensor, or an option is invalid.
    RowError
        A score is NaN or infinite, or a flag is not 0 or 1.

    Value and gradient are computed together, in float64 by NumPy on the CPU: the (queries, items) scores are copied there
    and the gradient is copied back, which is small compared with the model. There is no second derivative.

    >>> similarity = torch.tensor([[0.75, 0.5, 0.25]], requires_grad=True)  # doctest: +SKIP
    >>> loss = ap_loss(similarity, torch.tensor([[1, 0, 1]]), n_bins=3, low=0, high=1)  # doctest: +SKIP
    >>> loss.backward()  # doctest: +SKIP
    >>> loss, similarity.grad  # doctest: +SKIP
    (tensor(0.2833, grad_fn=<LossBackward>), tensor([[-0.4000,  0.2400, -0.0933]]))
    """
    torch = import_optional("torch", "ap_loss needs PyTorch", "torch", "torch")
    one_of("objective", objective, list(OBJECTIVES))
    if not isinstance(similarity, torch.Tensor) or not similarity.is_floating_point():
        raise ParameterError(
            "must be a floating-point torch tensor", "for arrays use apframe.training.losses", option="similarity"
        )
    return _loss(torch).apply(similarity, relevant, objective, options)


@cache
def _loss(torch: Any) -> Any:
    """Return the autograd function, created at the first use because its base class is torch's."""

    def array(value: Any) -> Any:
        return value.detach().cpu().double().numpy() if isinstance(value, torch.Tensor) else value

    class Loss(torch.autograd.Function):  # type: ignore[misc]  # torch may be absent: Any
        @staticmethod
        def forward(ctx: Any, similarity: Any, relevant: Any, objective: str, options: dict[str, Any]) -> Any:
            options = {name: array(value) for name, value in options.items()}
            ap = OBJECTIVES[objective](array(similarity), array(relevant), **options)
            ctx.save_for_backward(torch.as_tensor(-ap.mean_gradient, dtype=similarity.dtype, device=similarity.device))
            return similarity.new_tensor(1 - ap.mean)

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, upstream: Any) -> Any:
            (gradient,) = ctx.saved_tensors
            return upstream * gradient, None, None, None

    return Loss

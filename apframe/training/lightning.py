"""A callback that evaluates the validation epochs of Lightning, which is imported when the first callback is created."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any, Unpack

import polars as pl

from apframe.adapters.torchvision import from_torchvision, targets_from_torchvision
from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.evaluator import Evaluator
from apframe.evaluation.options import Options, choose
from apframe.exceptions import ParameterError, import_optional
from apframe.formats.input_types import TruthLike
from apframe.keywords import refuse_unknown
from apframe.option_values import one_of
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.tables.dataset import Dataset

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


class AveragePrecisionCallback:
    """Evaluate each validation epoch of Lightning, and log the headline numbers.

    It is a `Callback` of `lightning` or `pytorch_lightning`, whichever is imported. The numbers are logged with `log_dict` when
    the epoch ends, so that checkpoints and early stopping can monitor them as "val/AP". The sanity check is not evaluated.
    Several processes exchange their detections; images that the sampler repeats count once.

    Parameters
    ----------
    truth
        ground truth as for `evaluate`; None if it comes with the batches
    protocol, and all others
        as for `evaluate`
    read_batch
        a function of the return value of `validation_step` and of the batch that returns the detections: anything that
        `Evaluator.update` accepts, such as `{image_id: {"boxes": ..., "labels": ..., "scores": ...}}`; without `truth`, a
        pair `(targets, outputs)` of lists as torchvision's detectors accept and return them, with `image_id` in each
        target. By default `validation_step` itself must return this
    prefix
        prefix of the names of logged numbers
    per_category
        also log the first metric of each category
    count_images
        "all" images of the ground truth, or only the "seen" ones, as with `limit_val_batches`; see `Evaluator.compute`
    dataloader_idx
        index of the validation data loader to evaluate; for several loaders, use a callback with its own prefix for each

    Attributes
    ----------
    evaluation
        evaluation of the last validation epoch; None before the first

    Raises
    ------
    ParameterError
        Lightning is not installed, an option is unknown, or nothing is returned for a batch
    InputError
        the errors of `evaluate`

    >>> callback = AveragePrecisionCallback("instances.json")  # doctest: +SKIP
    >>> trainer = Trainer(callbacks=[callback])  # doctest: +SKIP
    >>> trainer.fit(model)  # doctest: +SKIP
    >>> callback.evaluation.by("name")  # doctest: +SKIP
    """

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Create an instance of a subclass that is also a callback of Lightning."""
        own: Any = cls
        return object.__new__(_as_callback(own, _bases()))

    def __init__(
        self,
        truth: TruthLike | None = None,
        protocol: Protocol | str = COCO,
        *,
        read_batch: Callable[[Any, Any], Any] | None = None,
        prefix: str = "val/",
        per_category: bool = False,
        count_images: str = "all",
        dataloader_idx: int = 0,
        **options: Unpack[Options],
    ) -> None:
        refuse_unknown(options, [*_OWN, *Options.__annotations__])
        _ = choose(protocol, **options)  # raise errors now, not at the end of an epoch
        self._protocol, self._options, self._read_batch = protocol, options, read_batch
        self._prefix, self._per_category, self._dataloader_idx = prefix, per_category, dataloader_idx
        self._images = one_of("count_images", count_images, ("all", "seen"))
        self._evaluator = None if truth is None else Evaluator(truth, protocol, **options)
        self._batches: list[tuple[Dataset, pl.DataFrame]] = []  # used if the ground truth comes with the batches
        self.evaluation: Evaluation | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle, which recreates the class with Lightning's base."""
        return _new, (getattr(type(self), "_plain", type(self)),), self.__dict__

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002 - as Lightning calls it
        """Forget the last epoch."""
        self._batches = []
        if self._evaluator is not None:
            self._evaluator.reset()

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,
    ) -> None:
        """Add the detections of a batch."""
        if trainer.sanity_checking or dataloader_idx != self._dataloader_idx:
            return
        batch_results = outputs if self._read_batch is None else self._read_batch(outputs, batch)
        if batch_results is None:
            step = "validation_step" if self._read_batch is None else "read_batch"
            what = "detections" if self._evaluator is not None else "(targets, outputs)"
            remedy = f"return {what}{'' if self._read_batch else ', or give read_batch'}"
            raise ParameterError(f"{step} returned None", remedy)
        if self._evaluator is not None:
            self._evaluator.update(batch_results)
            return
        targets, detections = batch_results
        truth = targets_from_torchvision(targets)
        self._batches.append((truth, from_torchvision(detections, truth.images["image_id"].to_list())))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Evaluate the epoch, and log its numbers."""
        if trainer.sanity_checking:
            return
        evaluator = self._of_batches(trainer) if self._evaluator is None else self._evaluator
        if self._evaluator is not None:
            for state in _of_others(trainer, self._evaluator.state()):
                evaluator.merge(state)
        self.evaluation = evaluator.compute(self._images)
        numbers = self.evaluation.to_dict(self._prefix, per_category=self._per_category)
        pl_module.log_dict(numbers, sync_dist=trainer.world_size > 1)  # all processes have the same numbers

    def _of_batches(self, trainer: Any) -> Evaluator:
        """Return an evaluator with the detections of all processes and the ground truth of their batches."""
        batches = [*self._batches, *(batch for batches in _of_others(trainer, self._batches) for batch in batches)]
        evaluator = Evaluator(_merged(batches), self._protocol, **self._options)
        for truth, detections in batches:
            evaluator.update(detections, truth.images["image_id"].to_list())
        return evaluator


_OWN = [*signature(AveragePrecisionCallback.__init__).parameters][1:-1]


def _merged(batches: list[tuple[Dataset, pl.DataFrame]]) -> Dataset:
    """Merge the ground truth of all batches; a repeated image counts once, with the annotations of its first batch.

    Categories are all labels of annotations or detections.

    >>> one = targets_from_torchvision([{"boxes": [[0.0, 0, 9, 9]], "labels": [3], "image_id": 42}])
    >>> detections = pl.DataFrame({"category_id": [7]})
    >>> _merged([(one, detections), (one, detections)])
    Dataset(1 image, 2 categories, 1 annotation)
    """
    if not batches:
        return Dataset({}, {}, {})
    by_batch = [pl.lit(number).alias("batch") for number in range(len(batches))]
    truths = [truth for truth, _ in batches]
    pairs = list(zip(truths, by_batch, strict=True))
    images = pl.concat([each.images.with_columns(batch) for each, batch in pairs], how="diagonal_relaxed")
    images = images.unique("image_id", keep="first", maintain_order=True)
    rows = [each.annotations.drop("annotation_id").with_columns(batch) for each, batch in pairs]
    annotations = pl.concat(rows, how="diagonal_relaxed").join(images, on=["image_id", "batch"], how="semi")
    labels = pl.concat([annotations["category_id"], *(detections["category_id"] for _, detections in batches)])
    return Dataset(images.drop("batch"), {"category_id": labels.unique().sort()}, annotations.drop("batch"))


def _of_others(trainer: Any, own: Any) -> list[Any]:
    """Collect a value from all other processes; every process must call this."""
    if trainer.world_size == 1:
        return []
    states = [None] * trainer.world_size
    import_module("torch.distributed").all_gather_object(states, own)
    return [state for rank, state in enumerate(states) if rank != trainer.global_rank]


def _bases() -> tuple[type, ...]:
    """Return `Callback` of the imported packages, or else of the installed one."""
    imported = [name for name in _PACKAGES if name in sys.modules]
    installed = [name for name in _PACKAGES if imported or find_spec(name.partition(".")[0]) is not None]
    names = imported or [*installed, *_PACKAGES][:1]
    return tuple(import_optional(name, "the callback needs Lightning", "lightning").Callback for name in names)


@cache
def _as_callback(cls: Any, bases: tuple[type, ...]) -> Any:
    """Return a class with these bases, or the class itself if it has one of them."""
    if issubclass(cls, bases):
        return cls
    return type(cls.__name__, (cls, *bases), {"__module__": cls.__module__, "__doc__": cls.__doc__, "_plain": cls})


def _new(cls: Any) -> Any:
    return cls.__new__(cls)

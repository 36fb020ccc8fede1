"""A callback that evaluates each validation of Ultralytics; the library itself is not imported."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl

from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.evaluator import Evaluator
from apframe.evaluation.options import Options, choose
from apframe.exceptions import InputError
from apframe.formats.image_sizes import measure_images
from apframe.keywords import refuse_unknown
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.tables.dataset import Dataset
from apframe.wording import listed

if TYPE_CHECKING:
    from apframe.formats.input_types import TruthLike

_EVENTS = ("on_train_epoch_start", "on_val_batch_start", "on_val_batch_end", "on_val_end", "on_fit_epoch_end")


class AveragePrecisionCallback:
    """Evaluate the results of each validation of Ultralytics, and add the numbers to those that its loggers log.

    It reads the rows that `save_json=True` collects, and their images. `predictions.json` is not written, and Ultralytics' own
    numbers do not change. During training, the numbers are in `trainer.metrics` when `on_fit_epoch_end` reaches the loggers of
    Ultralytics (TensorBoard, MLflow, Weights & Biases); they are not in its results.csv. With several GPUs, the first process
    evaluates the results of all, if this version of Ultralytics gathers them.

    Parameters
    ----------
    truth
        ground truth as for `evaluate`; images and classes are matched by name. Defaults to the boxes of the validated labels.
        For masks, keypoints and rotated boxes, pass the data.yaml or another file, and the `iou_type` or protocol.
    protocol, and all others
        as for `evaluate`; "ultralytics" for the rules of Ultralytics
    prefix
        prefix of the names of logged numbers
    per_category
        also log the first metric of each category

    Attributes
    ----------
    evaluation
        evaluation of the last validation; None before the first

    Raises
    ------
    ParameterError
        an option is unknown
    InputError
        two images have the same name, by which Ultralytics' results are matched, and the errors of `evaluate`

    >>> callback = AveragePrecisionCallback(protocol="ultralytics")
    >>> callback.add_to(model)  # doctest: +SKIP
    >>> model.train(data="street.yaml", epochs=3)  # doctest: +SKIP
    >>> callback.evaluation.by("name")  # doctest: +SKIP
    """

    def __init__(
        self,
        truth: TruthLike | None = None,
        protocol: Protocol | str = COCO,
        *,
        prefix: str = "metrics/",
        per_category: bool = False,
        **options: Unpack[Options],
    ) -> None:
        refuse_unknown(options, [*_OWN, *Options.__annotations__])
        self._reads_labels, self._prefix, self._per_category = truth is None, prefix, per_category
        by_name: Options = {"join_by_name": ["images", "categories"]}
        self._protocol, self._options = protocol, by_name | options
        _ = choose(protocol, **self._options)  # raise errors now, not in the first validation
        self._evaluator = None if truth is None else Evaluator(truth, protocol, **self._options)
        self._validated: Any = None  # the labels, and the names of their files by the ids of Ultralytics
        self._files: dict[int | str, str] = {}
        self._switches = False
        self._numbers: dict[str, float] = {}
        self.evaluation: Evaluation | None = None

    def add_to(self, model: Any) -> None:
        """Add the callback to a model, trainer or validator; a model accepts several callbacks with different prefixes."""
        for event in _EVENTS:
            model.add_callback(event, getattr(self, event))

    def on_val_batch_start(self, validator: Any) -> None:
        """Have the results of the batch collected, and prepare the ground truth before the first one."""
        labels = validator.dataloader.dataset.labels
        if self._validated is not labels:
            self._files, self._validated = _files(labels), labels
            if self._reads_labels:
                self._evaluator = Evaluator(_labelled(labels, validator.names), self._protocol, **self._options)
        # only until the batch ends, so that the validator neither writes the rows nor evaluates them itself
        self._switches, validator.args.save_json = not validator.args.save_json, True

    def on_val_batch_end(self, validator: Any) -> None:
        """Restore the setting of the validator."""
        if self._switches:  # this callback switched it on, not another one
            validator.args.save_json = False

    def on_val_end(self, validator: Any) -> None:
        """Evaluate the results of all batches."""
        if self._evaluator is None or self._validated is None:  # nothing was validated
            return
        names = {category_id: validator.names[number] for number, category_id in enumerate(validator.class_map)}
        rows = [row | {"file_name": self._files[row["image_id"]], "name": names[row["category_id"]]} for row in validator.jdict]
        self._evaluator.reset()
        self._evaluator.update(rows, image_ids=list(self._files.values()))
        self.evaluation = self._evaluator.compute()
        self._numbers = self.evaluation.to_dict(self._prefix, per_category=self._per_category)

    def on_fit_epoch_end(self, trainer: Any) -> None:
        """Add the numbers to those that are logged."""
        if trainer.metrics is not None:  # it is None in all processes but the first
            trainer.metrics.update(self._numbers)

    def on_train_epoch_start(self, trainer: Any) -> None:
        """Remove the numbers: an epoch without validation keeps the metrics of the last one, and results.csv its columns."""
        for name in self._numbers:
            trainer.metrics.pop(name, None)
        self._numbers = {}


_OWN = [*signature(AveragePrecisionCallback.__init__).parameters][1:-1]


def _files(labels: list[dict[str, Any]]) -> dict[int | str, str]:
    """Return the names of the image files by the ids that Ultralytics gives to their results.

    >>> _files([{"im_file": "val/0042.jpg"}, {"im_file": "val/cat.jpg"}])
    {42: '0042.jpg', 'cat': 'cat.jpg'}
    """
    paths = [Path(label["im_file"]) for label in labels]
    files = {int(path.stem) if path.stem.isnumeric() else path.stem: path.name for path in paths}
    if len(files) < len(paths):
        names = pl.Series([path.stem.lstrip("0") for path in paths])
        repeated = names.filter(names.is_duplicated()).unique(maintain_order=True)
        problem = f"images have the same name, by which results of Ultralytics are matched: {listed(repeated.to_list())}"
        raise InputError(problem, "rename them", table="images")
    return files


def _labelled(labels: list[dict[str, Any]], names: Any) -> Dataset:
    """Return the labelled boxes of a dataset of Ultralytics; categories are its classes, from 0."""
    paths = [Path(label["im_file"]) for label in labels]
    stems = [path.stem for path in paths]
    sizes = np.array(measure_images(paths), dtype=np.float64).reshape(-1, 2)
    n_boxes = [len(label["cls"]) for label in labels]
    classes = np.concatenate([np.zeros(0), *(label["cls"].ravel() for label in labels)]).astype(np.int64)
    fractions = np.concatenate([np.zeros((0, 4)), *(label["bboxes"] for label in labels)])
    x, y, width, height = (fractions * np.repeat(np.tile(sizes, 2), n_boxes, axis=0)).T
    boxes = {"x": x, "y": y, "width": width, "height": height}
    return Dataset(
        {
            "image_id": stems,
            "file_name": [path.name for path in paths],
            "image_width": sizes[:, 0].astype(np.int64),
            "image_height": sizes[:, 1].astype(np.int64),
        },
        {"category_id": list(range(len(names))), "name": [names[number] for number in range(len(names))]},
        {"image_id": np.repeat(stems, n_boxes), "category_id": classes} | boxes,
        box_format="cxcywh",
    )

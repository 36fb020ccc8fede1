"""Data sets as training loops hold them: a dict of arrays for each image, in 32 bits; and tensors of no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pycocotools import mask

from tests.protocols.generated import HEIGHT, WIDTH, references_at_work

Row = dict[str, Any]
Item = dict[str, np.ndarray]


class Tensor:
    """What adapters may rely on of a tensor: it has to be detached and moved before NumPy sees it."""

    def __init__(self, values: Any, state: str = "on a device, with gradients") -> None:
        self._values, self._state = np.asarray(values), state

    def detach(self) -> Tensor:
        return Tensor(self._values, "on a device")

    def cpu(self) -> Tensor:
        assert self._state == "on a device"
        return Tensor(self._values, "here")

    def numpy(self) -> np.ndarray:
        assert self._state == "here"
        if self._values.dtype == np.float16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._values

    def float(self) -> Tensor:
        return Tensor(self._values.astype(np.float32), self._state)

    def tolist(self) -> Any:
        return self._values.tolist()

    def item(self) -> Any:
        return self._values.item()

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def as_tensors(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: Tensor(values) for name, values in item.items()} for item in items]


def items_of(rows: Sequence[Row], image_ids: Sequence[Any]) -> list[Item]:
    """COCO's rows as a dict of arrays for each image: boxes are two corners, masks are bitmaps."""
    places = {image_id: place for place, image_id in enumerate(image_ids)}
    of_image: list[list[Row]] = [[] for _ in image_ids]
    for row in rows:
        of_image[places[row["image_id"]]].append(row)
    return [_item(own, rows) for own in of_image]


def _item(rows: Sequence[Row], every_row: Sequence[Row]) -> Item:
    item = {"labels": np.array([row["category_id"] for row in rows], dtype=np.int64)}
    if "score" in every_row[0]:
        item["scores"] = np.array([row["score"] for row in rows], dtype=np.float32)
    if "area" in every_row[0]:
        item["area"] = np.array([row["area"] for row in rows], dtype=np.float32)
        item["iscrowd"] = np.array([row.get("iscrowd", 0) for row in rows], dtype=np.int64)
    if "bbox" in every_row[0]:
        boxes = np.array([row["bbox"] for row in rows], dtype=np.float32).reshape(-1, 4)
        item["boxes"] = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    if "segmentation" in every_row[0]:
        masks = [bitmap(row["segmentation"]) for row in rows]
        item["masks"] = np.stack([*masks, np.zeros((HEIGHT, WIDTH), dtype=bool)])[: len(rows)]
    if "keypoints" in every_row[0]:
        item["keypoints"] = np.array([row["keypoints"] for row in rows], dtype=np.float32).reshape(
            len(rows), len(every_row[0]["keypoints"]) // 3, 3
        )
    return item


def bitmap(segmentation: Any) -> np.ndarray:
    with references_at_work():
        if isinstance(segmentation, list):
            segmentation = mask.merge(mask.frPyObjects(segmentation, HEIGHT, WIDTH))
        elif isinstance(segmentation["counts"], list):
            segmentation = mask.frPyObjects(segmentation, HEIGHT, WIDTH)
        return mask.decode(segmentation).astype(bool)


def results_of(items: Sequence[Mapping[str, Any]], image_ids: Sequence[Any], iou_type: str) -> list[Row]:
    """COCO's results, as the evaluation script of torchvision makes them of what a detector returns."""
    rows = []
    for image_id, item in zip(image_ids, items, strict=True):
        shapes = {"bbox": ("bbox", _boxes), "segm": ("segmentation", _masks), "keypoints": ("keypoints", _keypoints)}
        name, shaped = shapes[iou_type]
        for shape, label, score in zip(shaped(item), item["labels"].tolist(), item["scores"].tolist(), strict=True):
            rows.append({"image_id": image_id, "category_id": label, name: shape, "score": score})
    return rows


def truth_of(items: Sequence[Mapping[str, Any]], image_ids: Sequence[Any]) -> dict[str, list[Row]]:
    """COCO's ground truth, as the evaluation script of torchvision makes it of a data set's targets."""
    annotations = []
    for image_id, item in zip(image_ids, items, strict=True):
        columns = {"category_id": item["labels"].tolist(), "area": item["area"].tolist(), "iscrowd": item["iscrowd"].tolist()}
        columns |= {"bbox": _boxes(item)} if "boxes" in item else {}
        columns |= {"segmentation": _masks(item)} if "masks" in item else {}
        columns |= {"keypoints": _keypoints(item)} if "keypoints" in item else {}
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(columns, values, strict=True))
            if "keypoints" in row:
                row["num_keypoints"] = sum(visibility != 0 for visibility in row["keypoints"][2::3])
            annotations.append(row | {"image_id": image_id, "id": len(annotations) + 1})
    labels = sorted({row["category_id"] for row in annotations})
    images = [{"id": image_id, "height": HEIGHT, "width": WIDTH} for image_id in image_ids]
    return {"images": images, "categories": [{"id": label} for label in labels], "annotations": annotations}


def _boxes(item: Mapping[str, Any]) -> list[list[float]]:
    boxes = item["boxes"]
    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1).tolist()


def _masks(item: Mapping[str, Any]) -> list[Row]:
    inside = item["masks"] > 0.5
    inside = inside[:, 0] if inside.ndim == 4 else inside
    with references_at_work():
        encodings = [mask.encode(np.asfortranarray(each.astype(np.uint8))) for each in inside]
    return [{"size": each["size"], "counts": each["counts"].decode()} for each in encodings]


def _keypoints(item: Mapping[str, Any]) -> list[list[float]]:
    return [points.ravel().tolist() for points in item["keypoints"]]

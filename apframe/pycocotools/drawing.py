"""Annotations drawn with matplotlib, for `COCO.showAnns`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from apframe.exceptions import ParameterError, import_optional

_CROWD = (0.01, 0.65, 0.4)


def draw(
    annotations: Sequence[dict[str, Any]],
    with_boxes: bool,
    to_bitmap: Callable[[dict[str, Any]], np.ndarray],
    categories: Callable[[Any], list[dict[str, Any]]],
) -> None:
    """Draw masks, keypoints and boxes onto the current axes, each annotation in its own colour, or print captions.

    `to_bitmap` maps an annotation to its mask, and `categories` an id to categories: `annToMask` and `loadCats` of a `COCO`.

    Raises
    ------
    ParameterError
        matplotlib is not installed; the annotations are neither objects nor captions
    """
    first = annotations[0]
    if not {"segmentation", "keypoints"} & first.keys():
        if "caption" not in first:
            raise ParameterError("showAnns: the annotations have no segmentation, keypoints or caption")
        for annotation in annotations:
            print(annotation["caption"])  # noqa: T201 - as pycocotools does
        return
    plt = import_optional("matplotlib.pyplot", "showAnns draws with matplotlib", "matplotlib")
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Polygon

    axes, polygons, colours = plt.gca(), [], []
    axes.set_autoscale_on(False)
    for annotation in annotations:
        colour = tuple(np.random.random(3) * 0.6 + 0.4)
        segmentation = annotation.get("segmentation")
        shapes = [np.reshape(polygon, (-1, 2)) for polygon in segmentation] if isinstance(segmentation, list) else []
        if isinstance(segmentation, dict):
            pixels = to_bitmap(annotation)[:, :, None]
            filling = np.broadcast_to(_CROWD if annotation.get("iscrowd") else colour, (*pixels.shape[:2], 3))
            axes.imshow(np.concatenate([filling, pixels * 0.5], axis=2))
        if with_boxes:
            x, y, width, height = annotation["bbox"]
            shapes.append(np.array([[x, y], [x, y + height], [x + width, y + height], [x + width, y]]))
        if isinstance(annotation.get("keypoints"), list):
            _draw_keypoints(axes, annotation, categories(annotation["category_id"])[0]["skeleton"], colour)
        polygons += [Polygon(shape) for shape in shapes]
        colours += [colour] * len(shapes)
    axes.add_collection(PatchCollection(polygons, facecolor=colours, linewidths=0, alpha=0.4))
    axes.add_collection(PatchCollection(polygons, facecolor="none", edgecolors=colours, linewidths=2))


def _draw_keypoints(axes: Any, annotation: dict[str, Any], skeleton: Any, colour: Any) -> None:
    x, y, visibility = np.reshape(annotation["keypoints"], (-1, 3)).T
    for bone in np.array(skeleton) - 1:
        if (visibility[bone] > 0).all():
            axes.plot(x[bone], y[bone], linewidth=3, color=colour)
    for threshold, edge in ((0, "k"), (1, colour)):  # visible ones have no dark edge
        is_drawn = visibility > threshold
        axes.plot(x[is_drawn], y[is_drawn], "o", markersize=8, markerfacecolor=colour, markeredgecolor=edge, markeredgewidth=2)

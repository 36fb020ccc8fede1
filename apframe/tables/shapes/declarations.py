"""Declarations of all shapes. A new shape requires a `Shape` here, and a module with its functions.

The module of a shape is imported when one of its functions is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from apframe.columns import Column
from apframe.registry import imported
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.tables.shapes.shape import Shape

CUBOID = ("cuboid_x", "cuboid_y", "cuboid_z", "cuboid_length", "cuboid_width", "cuboid_height", "cuboid_yaw")
EDGES = tuple(f"{side}_{name}" for side in ("subject", "object") for name in BOX)
INTERVAL = ("start_time", "end_time")
RELATION = (*EDGES, "subject_name", "object_name")
ULTRALYTICS = ("poly", "rbox")
"""Lists in which Ultralytics writes rotated boxes: the corners, and the centre, width, height and angle."""
OVERLAPS = pl.List(pl.Struct({"segment_id": pl.Int64, "pixels": pl.Int64, "boundary_iou": pl.Float64}))
LABEL_MAP = Column(
    "label_map",
    pl.String,
    "path of the image file that has the number of a segment in each pixel, R + 256 G + 65536 B in color",
    standard=False,
)


def _of(home: str) -> Callable[[str, Any], Any]:
    """Return a function that imports the module of a shape when it is called."""
    return lambda table, value: imported(f"apframe.tables.shapes.{home}")(table, value)


MASKS = Shape(
    iou_type="segm",
    words="mask (segmentation in JSON)",
    columns=(
        Column(
            "mask",
            None,
            "COCO's segmentation as JSON text, polygons as lists, RLE as structs, or bitmaps as lists",
            standard=False,
        ),
    ),
    needs=("mask",),
    check=_of("masks:check_masks"),
    extents=_of("masks:extents_of_masks"),
    decode=_of("masks:decode_masks"),
    uses_images=True,
    json_field="segmentation",
    other_names={"mask: {}": ("polygon", "masks")},
    array=("masks", ("height", "width")),
)
KEYPOINTS = Shape(
    iou_type="keypoints",
    words="keypoints (x, y, visibility of each)",
    columns=(Column("keypoints", pl.List(pl.Float64), "x, y, visibility of each keypoint", standard=False),),
    needs=("keypoints",),
    check=_of("keypoints:check_keypoints"),
    extents=_of("keypoints:keypoint_extents"),
    json_field="keypoints",
    array=("keypoints", ("points", 3)),
    list_remedy="give x, y, visibility of each keypoint in one list",
)
CORNERS = Shape(
    iou_type="rotated",
    words="corners (x1, y1, ... x4, y4), or a box with angle (radians, counter-clockwise)",
    columns=(
        Column(
            "corners", pl.List(pl.Float64), "x and y of the four corners of a rotated box, in order around it", standard=False
        ),
        Column("angle", pl.Float64, "of a rotated box, radians, counter-clockwise about its centre", standard=False),
    ),
    needs=("corners",),
    check=_of("corners:check_corners"),
    extents=_of("corners:corner_extents"),
    json_field="corners",
    other_names={"corners: {}": ("poly",)},
    accepts=ULTRALYTICS,
    accept=_of("corners:accept_ultralytics"),
    array=("corners", (4, 2)),
    list_remedy="give x1, y1, x2, y2, x3, y3, x4, y4, around the shape, in one list",
)
INTERVALS = Shape(
    iou_type="interval",
    words="start_time, end_time (seconds)",
    columns=(
        Column("start_time", pl.Float64, "start of the interval, seconds", standard=False),
        Column("end_time", pl.Float64, "where it ends", standard=False),
    ),
    needs=INTERVAL,
    check=_of("intervals:check_intervals"),
    extents=_of("intervals:interval_extents"),
    json_field="start_time",
    other_names={
        "start_time: {}": ("t-start", "t_start", "start"),
        "end_time: {}": ("t-end", "t_end", "end"),
        "start_time and end_time: the two numbers of {}": ("segment",),
    },
)
CUBOIDS = Shape(
    iou_type="3d",
    words=f"{', '.join(CUBOID)} (metres, the centre; radians, counter-clockwise seen from above)",
    columns=(
        Column(
            "cuboid_x", pl.Float64, "centre of a cuboid, metres, in a right-handed frame whose z axis points up", standard=False
        ),
        Column("cuboid_y", pl.Float64, "its centre in y, metres", standard=False),
        Column("cuboid_z", pl.Float64, "the height of its centre, metres; cuboid_bottom is read too", standard=False),
        Column("cuboid_length", pl.Float64, "its side along the heading, metres", standard=False),
        Column("cuboid_width", pl.Float64, "its side across, metres", standard=False),
        Column("cuboid_height", pl.Float64, "its side upwards, metres", standard=False),
        Column("cuboid_yaw", pl.Float64, "its heading, radians, counter-clockwise seen from above, 0 along x", standard=False),
    ),
    needs=CUBOID,
    check=_of("cuboids:check"),
    extents=_of("cuboids:cuboid_extents"),
    accepts=("camera_x", "cuboid_bottom"),
    accept=_of("cuboids:with_cuboids"),
    json_field="cuboid_x",
    other_names={
        "camera_x: {}": ("location_x",),
        "camera_y: {}": ("location_y",),
        "camera_z: {}": ("location_z",),
        "cuboid_x: {}": ("center_x", "centre_x", "tx_m"),
        "cuboid_y: {}": ("center_y", "centre_y", "ty_m"),
        "cuboid_z: {}": ("center_z", "centre_z", "tz_m"),
        "cuboid_length: {}": ("length", "length_m", "object_length"),
        "cuboid_width: {}": ("width_m", "object_width"),
        "cuboid_height: {}": ("height_m", "object_height"),
        "cuboid_yaw: {}": ("yaw", "heading"),
    },
)
SPHERES = Shape(
    iou_type="sphere",
    words="sphere_x, sphere_y, sphere_z, sphere_diameter of annotations (millimetres)",
    columns=(
        Column("sphere_x", pl.Float64, "centre of a sphere, such as a nodule, millimetres", standard=False),
        Column("sphere_y", pl.Float64, "its centre in y, millimetres", standard=False),
        Column("sphere_z", pl.Float64, "its centre in z, millimetres", standard=False),
        Column("sphere_diameter", pl.Float64, "its diameter, millimetres; negative if it is not known", standard=False),
    ),
    needs=("sphere_x", "sphere_y", "sphere_z"),
    check=_of("spheres:check"),
    extents=_of("spheres:sphere_extents"),
    json_field="sphere_x",
    other_names={
        "sphere_x: {}": ("coordX",),
        "sphere_y: {}": ("coordY",),
        "sphere_z: {}": ("coordZ",),
        "sphere_diameter: {}": ("diameter_mm",),
    },
)
RELATIONS = Shape(
    iou_type="relation",
    words=f"{', '.join(EDGES[:4])} (pixels), subject_name; the same of the object",
    columns=tuple(
        Column(f"{side}_{name}", dtype, meaning.format(side), standard=False)
        for side in ("subject", "object")
        for name, dtype, meaning in (
            ("x", pl.Float64, "left edge of the box of the {} of a relation, pixels"),
            ("y", pl.Float64, "its top edge"),
            ("width", pl.Float64, "its xmax - xmin"),
            ("height", pl.Float64, "its ymax - ymin"),
            ("name", pl.String, "the class of the {} of a relation"),
        )
    ),
    needs=RELATION,
    check=_of("relations:check_relations"),
    extents=_of("relations:relation_extents"),
    json_field="subject_x",
)
SEGMENTS = Shape(
    iou_type="panoptic",
    words="segment_id (a number in label maps)",
    columns=(
        Column("segment_id", pl.Int64, "the number of a segment in its label map", standard=False),
        LABEL_MAP,
    ),
    needs=("segment_id",),
    check=_of("segments:segment_extents"),
    extents=_of("segments:segment_extents"),
    json_field="segment_id",
    list_remedy="give the number of the segment in its label map",
)

COUNTED = (
    Column("void_area", pl.Float64, "how many pixels of a segment lie where the ground truth has none", standard=False),
    Column(
        "overlaps",
        OVERLAPS,
        "the annotated segments that a segment shares pixels with, how many, and, if compared, the IoU of the boundaries",
        standard=False,
    ),
)
"""A further column of detections, once pixels are counted."""
OTHERS: tuple[Shape, ...] = (MASKS, KEYPOINTS, CORNERS, INTERVALS, CUBOIDS, SPHERES, RELATIONS, SEGMENTS)
"""Shapes from which boxes are made, in order of preference, if a table has no boxes."""
SHAPES: tuple[Shape, ...] = (BOXES, *OTHERS)


def shape_of(frame: pl.DataFrame) -> Shape | None:
    """Return the first shape of a table other than boxes; None if it has no other.

    >>> shape = shape_of(pl.DataFrame({"corners": [[1.0]], "keypoints": [[2.0]]}))
    >>> shape is KEYPOINTS
    True
    """
    return next((shape for shape in OTHERS if shape.column in frame.columns), None)

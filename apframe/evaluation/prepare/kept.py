"""Which objects are evaluated: within a range, with points, outside of racks; how many an image may have, and which scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ColumnError, RowError, UnitWarning, UnknownValueWarning, warn
from apframe.metrics.box_errors import NEEDS, VELOCITY
from apframe.protocols.protocol import Protocol
from apframe.rows import refuse_rows, refuse_texts
from apframe.tables.ids import is_known
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.catalogue import OTHERS, shape_of
from apframe.tables.shapes.cuboids import CUBOIDS
from apframe.tables.tables import SIZE, TABLES
from apframe.wording import Count, Note, counted, in_words

if TYPE_CHECKING:
    from apframe.evaluation.prepare.inputs import Inputs
    from apframe.protocols.classes import Keep


_SIDES = ("width of the image", "height of the image")


def refuse_wrong_types(inputs: Inputs, protocol: Protocol) -> Inputs:
    """An error where a column that the protocol compares with numbers holds text: NUSCENES, ARGOVERSE2, KITTI, WAYMO.

    The same for numbers that are not finite, as they lie within no bounds. Null is unknown; so are velocities that are NaN, as
    the kit of nuScenes writes them.

    Raises
    ------
    ColumnError
        it names the column
    RowError
        it names the rows
    """
    decide = [(table, rule.column) for rule in protocol.keeps for table in rule.tables]
    for level in protocol.difficulties:
        decide += [("annotations", name) for name, *_ in level.annotations]
        decide += [("detections", name) for name, _ in level.detections]
        decide += [("detections", name) for name, *_ in level.keeps]
    if protocol.orientation == "alpha":
        decide += [("annotations", "alpha"), ("detections", "alpha")]
    if "no_label_zones" in protocol.further_rules:
        decide.append(("detections", "no_label_zone"))
    if "levels_of_points" in protocol.further_rules:
        decide.append(("annotations", "n_points"))
    kinds = () if protocol.errors is None else protocol.errors.kinds
    velocities = [name for kind in kinds for name in NEEDS[kind] if name in VELOCITY]
    for table in ("annotations", "detections"):
        names = list(dict.fromkeys(name for of, name in decide if of == table))
        if names or velocities:
            frame = inputs.dataset.annotations if table == "annotations" else inputs.detections
            refuse_texts(table, frame, [*names, *velocities])
            for name in names:
                _refuse_not_finite(table, frame, name)
    return inputs


def _refuse_not_finite(table: str, frame: pl.DataFrame, name: str) -> None:
    if frame.schema.get(name, pl.Null()).is_float():
        broken = ~frame[name].is_finite().fill_null(True)
        refuse_rows(table, frame, broken, f"{name} is not a finite number", "correct it, or give null if it is unknown")


def need_image_boxes(inputs: Inputs, protocol: Protocol) -> Inputs:
    """An error where heights of boxes in pixels would be those of rectangles around cuboids, in metres: KITTI.

    Raises
    ------
    ColumnError
        a table has cuboids, and no boxes in the image
    """
    bounds = [(*level.annotations, *level.detections, *level.keeps) for level in protocol.difficulties]
    if not any(column == "height" for of_level in bounds for column, *_ in of_level):
        return inputs
    for table, frame in (("annotations", inputs.annotations), ("detections", inputs.detections)):
        if frame["x"].null_count() and shape_of(frame) is CUBOIDS:
            remedy = (
                f"{protocol.name} needs the box in the image, in pixels, beside the cuboid: its height tells the levels apart"
            )
            raise ColumnError(f"no column {', '.join(BOX)}", remedy, table=table)
    return inputs


def warn_of_scores_beyond_cut_offs(inputs: Inputs, protocol: Protocol) -> Inputs:
    """A warning where scores are above the highest of fixed cut-offs, which do not tell them apart: WAYMO."""
    cut_offs = protocol.definition.cut_offs
    if cut_offs and (beyond := inputs.detections["score"] > cut_offs[-1]).any():
        warn(
            f"{beyond.sum():,} of {counted(inputs.detections.height, 'detection')} have scores above {cut_offs[-1]:g}, such as "
            f"{inputs.detections['score'].filter(beyond)[0]:g}; {protocol.name} ranks by cut-offs from {cut_offs[0]:g} to "
            f"{cut_offs[-1]:g}, so these count as equal: scale the scores",
            UnitWarning,
        )
    return inputs


def refuse_too_many(inputs: Inputs, protocol: Protocol) -> Inputs:
    """An error where an image has more detections than the protocol accepts, of all categories: NUSCENES.

    Raises
    ------
    RowError
        it names the images
    """
    most = protocol.most_per_image
    if most is None:
        return inputs
    n = inputs.detections.group_by("image_id", maintain_order=True).len().filter(pl.col("len") > most)
    if n.height:
        problem = f"there are {n['len'][0]:,} detections of an image, and {protocol.name} accepts {most:,},"
        remedy = f"keep the {most:,} with the highest scores of each image"
        raise RowError("detections", problem, "image_id", n["image_id"].to_list(), remedy)
    return inputs


def refuse_negative_scores(inputs: Inputs, protocol: Protocol) -> Inputs:
    """An error where a score is negative, if errors are averaged over recall, where a score of 0 is beyond the end: NUSCENES.

    Raises
    ------
    RowError
        it names the detections
    """
    if protocol.errors is not None and protocol.errors.over_recall:
        negative = (inputs.detections["score"] < 0).fill_null(False)
        remedy = f"{protocol.name} needs scores of at least 0"
        refuse_rows("detections", inputs.detections, negative, "score is negative", remedy)
    return inputs


def need_every_alpha(inputs: Inputs, protocol: Protocol) -> Inputs:
    """No detection has an alpha if one of any category has none, with a note: KITTI, which then has no AOS.

    Source: `evaluate_object.cpp`, where one alpha of -10 in any file of results turns orientations off.
    """
    found = inputs.detections
    if protocol.orientation != "alpha" or "alpha" not in found.columns or found["alpha"].null_count() in (0, found.height):
        return inputs
    lacking = Count("detection", found["alpha"].null_count(), of=found.height)
    note = Note("no AOS: {} without alpha (-10 in files)", [lacking])
    found = found.with_columns(alpha=pl.lit(None, found.schema["alpha"]))
    return replace(inputs, detections=found, said=(*inputs.said, note))


def note_missing_errors(inputs: Inputs, protocol: Protocol) -> Inputs:
    """A note on errors that have no value, as a column is missing: NUSCENES, ARGOVERSE2."""
    if protocol.errors is None:
        return inputs
    tables = {"annotations": inputs.dataset.annotations, "detections": inputs.detections}
    if any(frame.is_empty() for frame in tables.values()):
        return inputs
    notes = []
    for kind in protocol.errors.kinds:
        columns = [(name, column) for column in NEEDS[kind] for name, frame in tables.items() if column not in frame.columns]
        if columns:
            there_is = ", ".join(f"{name}.{column}" for name, column in columns)
            notes.append(Note(f"{kind.upper()} is as without true positives: there is no {there_is}"))
    return replace(inputs, said=(*inputs.said, *notes))


def tell_visible_shares(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The visible share of each annotation (`vis_ratio`), from its visible box if that is all there is: CITYPERSONS, CALTECH.

    There are a note and a warning of annotations that have neither, and so are in every subset.
    """
    dataset, name = inputs.dataset, "vis_ratio"
    if not any(column == name for each in protocol.difficulties for column, *_ in each.annotations):
        return inputs
    annotations = dataset.annotations
    known = pl.col(name).cast(pl.Float64) if name in annotations.columns else pl.lit(None, pl.Float64)
    if "vis_bbox" in annotations.columns:
        box = pl.col("vis_bbox")
        sides = (box if annotations.schema["vis_bbox"] != pl.String else box.str.json_decode(pl.List(pl.Float64))).list
        known = pl.coalesce(known, sides.get(2, null_on_oob=True) * sides.get(3, null_on_oob=True) / _area(annotations))
    elif name not in annotations.columns:
        return inputs
    annotations = annotations.with_columns(known.alias(name))
    _refuse_not_finite("annotations", annotations, name)
    counts = ~annotations["ignore"] if "ignore" in annotations.columns else pl.repeat(True, annotations.height, eager=True)
    lacking = annotations["annotation_id"].filter(annotations[name].is_null() & counts).to_list()
    unknown = Count("annotation", len(lacking), detail=" without vis_ratio or vis_bbox", ids=lacking[:5])
    note = Note(f"{{}}: counted in every subset of {protocol.name}", [unknown])
    for text in in_words([note]):
        warn(f"{text}; supply the visible boxes", UnknownValueWarning)
    part = dataset.part(dataset.images, annotations)
    return replace(inputs, dataset=part, annotations=part.core("annotations"), said=(*inputs.said, note))


def ignore_uncertain(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Annotations that are flagged `uncertain` become ignored ones: TINYPERSON."""
    if "uncertain" not in protocol.ignores or "uncertain" not in inputs.dataset.annotations.columns:
        return inputs
    annotations = inputs.dataset.annotations
    uncertain = annotations["uncertain"].cast(pl.Boolean).fill_null(False)
    ignore = uncertain | annotations["ignore"] if "ignore" in annotations.columns else uncertain
    annotations = annotations.with_columns(ignore=ignore)
    known = [column.name for column in TABLES["annotations"] if column.name in annotations.columns]
    part = inputs.dataset.part(inputs.dataset.images, annotations.select(*known, pl.exclude(known)))
    return replace(inputs, dataset=part, annotations=part.core("annotations"))


def leave_out_repeated(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only the first of annotations of one image, category and shape, with a note that counts the others: ULTRALYTICS.

    Middle and size of boxes are compared in single precision; beside boxes, polygons and keypoints have to be the same.

    Source: `verify_image_label` in `data/utils.py` of Ultralytics, which removes equal rows from a label file, and says so.
    """
    if "equal_labels" not in protocol.further_rules:
        return inputs
    x, y, width, height = map(pl.col, BOX)
    middle = [(x + width / 2).alias("x"), (y + height / 2).alias("y"), width, height]
    keys = inputs.annotations.select("image_id", "category_id", *(each.cast(pl.Float32) for each in middle))
    is_like_another = keys.is_duplicated()
    note = "left out: {} that repeat another one of the same image, category and shape, as Ultralytics does"
    if not is_like_another.any():
        return replace(inputs, said=(*inputs.said, Note(note, [Count("annotation", 0, of=keys.height)])))
    annotations = inputs.dataset.annotations  # with the other shapes, which may not have been read so far
    shapes = [column.name for shape in OTHERS for column in shape.columns if column.name in annotations.columns]
    rows = pl.concat([keys, annotations.select(shapes)], how="horizontal").filter(is_like_another)
    kept = (~is_like_another).scatter(is_like_another.arg_true(), rows.hash_rows().is_first_distinct())
    repeated = Note(note, [Count("annotation", int((~kept).sum()), of=annotations.height)])
    inputs = replace(inputs, said=(*inputs.said, repeated))
    if kept.all():
        return inputs
    part = inputs.dataset.part(inputs.dataset.images, annotations.filter(kept))
    return replace(inputs, dataset=part, annotations=part.core("annotations"))


def clip_boxes(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Boxes cut off at the edges of their image, in which they keep a pixel: CROWDHUMAN.

    Sizes of images may come with the detections. There is a note on images of unknown size, whose boxes stay as they are; not
    of those without detections, as nothing is compared with their boxes.

    Source: `clip_all_boader` of CrowdDet.
    """
    if "clipped_boxes" not in protocol.further_rules:
        return inputs
    dataset, found = inputs.dataset, inputs.detections
    images = dataset.images
    if set(SIZE) <= set(found.columns):
        said = found.group_by("image_id").agg(pl.col(SIZE).max().name.suffix("_found"))
        images = images.join(said, on="image_id", how="left", maintain_order="left")
        sizes = [pl.coalesce(name, f"{name}_found").alias(name) for name in SIZE]
        images = images.with_columns(sizes).drop(f"{name}_found" for name in SIZE)
        found = found.drop(SIZE)
    sized = images.select("image_id", *SIZE)
    unknown = sized.filter(pl.any_horizontal(pl.col(SIZE).is_null()))["image_id"]
    boxed = {"x", "width"} <= set(found.columns)  # otherwise their boxes are made of another shape, later
    annotations, found = _clipped(dataset.annotations, sized), _clipped(found, sized) if boxed else found
    n = int(is_known(unknown, found["image_id"].unique()).sum())
    note = Note("{} of unknown size: boxes are not cut off at the edges there", [Count("image", n)])
    part = dataset.part(images, annotations)
    return replace(inputs, dataset=part, annotations=part.core("annotations"), detections=found, said=(*inputs.said, note))


def _clipped(frame: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """The rows with their boxes inside of their image, and the area of these."""
    sided = frame.join(sizes.rename(dict(zip(SIZE, _SIDES, strict=True))), on="image_id", how="left", maintain_order="left")
    wide, high = (pl.col(name).cast(pl.Float64) for name in _SIDES)
    sides = []
    for start, extent, most in (("x", "width", wide), ("y", "height", high)):
        low = pl.when(most.is_null()).then(start).otherwise(pl.min_horizontal(pl.max_horizontal(start, 0.0), most - 1))
        end = pl.col(start) + pl.col(extent)
        top = pl.when(most.is_null()).then(end).otherwise(pl.min_horizontal(pl.max_horizontal(end, 0.0), most))
        # what does not move stays as it is, to the last bit
        moved = (low != pl.col(start)) | (top != end)
        sides += [low.alias(start), pl.when(moved).then(top - low).otherwise(extent).alias(extent)]
    clipped = sided.with_columns(sides).drop(_SIDES)
    changed = pl.any_horizontal(clipped[name] != frame[name] for name in ("width", "height"))
    return clipped.with_columns(area=pl.when(changed).then(pl.col("width") * pl.col("height")).otherwise("area"))


def _area(annotations: pl.DataFrame) -> pl.Series:
    """The areas of the boxes, null where there is none."""
    area = annotations["width"] * annotations["height"]
    return area.set(area <= 0, None)


def keep_objects(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only objects that the protocol keeps; a rule whose column is missing is not applied, and noted: NUSCENES, ARGOVERSE2."""
    if not protocol.keeps:
        return inputs
    dataset = inputs.dataset
    categories = dataset.core("categories").select("category_id", pl.col("name").cast(pl.String).str.to_lowercase())
    tables, missing = {"annotations": dataset.annotations, "detections": inputs.detections}, []
    for name, frame in tables.items():
        rules = [rule for rule in protocol.keeps if name in rule.tables]
        known = [rule for rule in rules if rule.column in frame.columns]
        lacking = dict.fromkeys(rule.column for rule in rules if rule.column not in frame.columns)
        missing += [f"{name}.{column}" for column in lacking if frame.height]
        names = frame.select("category_id").join(categories, on="category_id", how="left", maintain_order="left")["name"]
        tables[name] = frame.filter(pl.all_horizontal([pl.lit(True), *(_kept(rule, names) for rule in known)]))
    note = [Note(f"{protocol.name} leaves objects out by columns that are not there: {', '.join(missing)}")] if missing else []
    annotations = tables["annotations"]
    part = dataset.part(dataset.images, annotations) if annotations.height < dataset.annotations.height else dataset
    return replace(
        inputs,
        dataset=part,
        annotations=part.core("annotations"),
        detections=tables["detections"],
        said=(*inputs.said, *note),
    )


def _kept(rule: Keep, names: pl.Series) -> pl.Expr:
    """Flags of the rows that a rule keeps; `names` are those of their categories, in lower case."""
    value = pl.col(rule.column).cast(pl.Float64)
    inside = ((value > rule.above) & (value < rule.below)).fill_null(True)
    if not rule.categories:
        return inside
    return inside | pl.lit(~names.is_in([name.lower() for name in rule.categories]).fill_null(False))

"""Objects over a picture as SVG: boxes, outlines of masks, skeletons, rotated boxes; intervals as bars, cuboids from above.

The stroke shows the source of an object: solid for the ground truth, dashed and dotted for models. A sign and a word show its
outcome. Colours repeat both. All strokes have a dark edge, so that they stand out on light and dark pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import ascii_lowercase

import polars as pl

from apframe.show.labels import place_labels
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.corners import upright
from apframe.tables.shapes.cuboids import CENTRE, SIZES, YAW, around_cuboids
from apframe.tables.shapes.declarations import INTERVAL

TRUTH = "truth"
MODELS = tuple(ascii_lowercase)
"""The roles of models, in order."""
SIGNS = {"tp": "✓", "fp": "✗", "fn": "○", "ignored": "–"}
IN_WORDS = {"tp": "found", "fp": "false positive", "fn": "missed", "ignored": "ignored"}
"""The outcomes in words."""
RATIO = 4 / 3
"""The width of a crop by its height."""
CROP = ("crop_x", "crop_y", "crop_width")
_VIDEO, _LANE, _BAR = 1_000, 48, 16  # units: the width of a whole video, the height of a lane in it, and that of its bar
_ABOVE, _BELOW = 20, 8  # units: the free space above the lanes of a video, for the first label, and below them
_GROUND, _MARGIN = 1_000, 0.05  # units: the longer side of the ground seen from above; the free share at each edge
_NARROWEST, _FLATTEST = 0.75, 0.5  # pictures of the ground: width by height at least, and height by width


def style() -> str:
    """Return the CSS of the drawings, for pages and notebooks.

    >>> style().startswith(".drawing")
    True
    """
    return files("apframe.show").joinpath("drawing.css").read_text(encoding="utf-8")


def picture_sizes(objects: pl.DataFrame) -> pl.DataFrame:
    """Return the size of the picture of each image: its own size if known, otherwise as large as its objects need.

    Intervals of time have a picture that is 1,000 units wide, with a lane for each of them. Cuboids are seen from above: the
    longer side of the ground that they stand on is 1,000 units.

    Parameters
    ----------
    objects
        the columns of `draw_objects`

    Returns
    -------
    image_id, width and height, in the order in which images first come

    >>> objects = {"image_id": [7, 7], "x": [5.0, 0.0], "y": [0.0, 2.0], "width": [9.5, 1.0], "height": [4.0, 6.0]}
    >>> picture_sizes(pl.DataFrame(objects)).rows()
    [(7, 15, 8)]
    """
    frame, ends = upright(_placed(objects)), (pl.col("x") + pl.col("width"), pl.col("y") + pl.col("height"))
    sizes = [pl.col(name).first() if name in frame.columns else pl.lit(None) for name in ("image_width", "image_height")]
    sides = [pl.coalesce(size, end.max().ceil(), 1).clip(1).cast(pl.Int64) for size, end in zip(sizes, ends, strict=True)]
    return frame.group_by("image_id", maintain_order=True).agg(width=sides[0], height=sides[1])


def draw_objects(objects: pl.DataFrame, pixels: int = 400) -> pl.DataFrame:
    """Draw each object in SVG, in the coordinates of its picture.

    Each row is drawn as the first of these that it has: an interval, a cuboid, the outline of a mask, keypoints, corners, a box
    with an angle, a box.

    Parameters
    ----------
    objects
        - image_id: objects with the same id are in one picture; image_width and image_height (null or absent where unknown)
        - role: "truth", or "a", "b", ... for the models; outcome: "tp", "fp", "fn" or "ignored"
        - label: a few words beside the object, after the sign of the outcome; null draws no text. True
          positives have none, as their annotation has one, unless the picture is about them
        - title: the details shown when the mouse is over the object; the label if it is null or absent
        - is_subject: true if the picture is about the object; false for all if the column is absent
        - x, y, width, height, and the columns of other shapes as tables have them; for masks outline, as `outlines` gives it;
          with keypoints also skeleton: pairs of numbers of keypoints, from 1, that are joined by a line
        - score: an attribute of the elements of detections, rounded to six digits, if the column is present
        - crop_x, crop_y, crop_width: the part of the picture that is seen, as `crop_pictures` gives it. Labels are inside it
    pixels
        the approximate width of pictures, or their crops, on the screen; their height is at most 0.7 of it. Labels are as large
        as can be read there

    Returns
    -------
    shape: a group with the classes role, outcome and, if the picture is about the object, `subject`. In it are the title and
    the lines, once dark and wide and once in colour. text: the label, an element with the same classes; null if there is none.

    Raises
    ------
    RowError
        a shape is malformed; evaluations reject such rows earlier

    >>> box = {"image_id": [1], "role": ["a"], "outcome": ["fp"], "label": ["<b>"], "x": [5.0], "y": [30.0], "width": [10.0],
    ...        "height": [20.0]}
    >>> print(*draw_objects(pl.DataFrame(box)).row(0), sep="\\n")
    <g class="a fp"><title>&lt;b&gt;</title><path class="halo" d="M5 30H15V50H5z"/><path class="line" d="M5 30H15V50H5z"/></g>
    <text class="a fp" x="5" y="29.304" font-size="2.321">✗ &lt;b&gt;</text>
    """
    if objects.is_empty():
        return pl.DataFrame(schema={"shape": pl.String, "text": pl.String})
    absent = {"title": pl.lit(None, pl.String), "is_subject": pl.lit(None, pl.Boolean)}
    frame = objects.with_columns(**{name: value for name, value in absent.items() if name not in objects.columns})
    frame = _with_paths(_placed(frame))
    subject = pl.when("is_subject").then(pl.lit("subject"))
    kinds = pl.concat_str(pl.col("role", "outcome").cast(pl.String), subject, separator=" ", ignore_nulls=True)
    attributes = pl.concat_str(pl.format('class="{}"', kinds), _scores(frame), ignore_nulls=True)
    strokes = (("halo", "path"), ("halo dots", "dots"), ("line", "path"), ("line dots", "dots"))
    parts = [
        pl.format("<g {}><title>{}</title>", attributes, _escaped(pl.coalesce("title", "label", pl.lit("")))),
        *(pl.format(f'<path class="{kind}" d="{{}}"/>', path) for kind, path in strokes),
        pl.lit("</g>"),
    ]
    text = pl.format("<text {} {}", attributes, _texts(frame, pixels))
    return frame.select(shape=pl.concat_str(parts, ignore_nulls=True), text=text)


def picture(
    elements: Iterable[str],
    width: float,
    height: float,
    *,
    href: str | None,
    title: str,
    crop: tuple[float, float, float] | None = None,
) -> str:
    """Return a picture with drawings over it, as HTML.

    Parameters
    ----------
    elements
        shapes and texts that `draw_objects` made, the last one on top
    width, height
        the size of the picture, in the units of the objects' coordinates
    href
        the address of the picture, or "#" and its id among the `definitions` of the page; None draws a grey frame
    title
        a description of the picture
    crop
        crop_x, crop_y and crop_width of the part that is shown, see `crop_pictures`

    >>> print(picture([], 4, 3, href="a b.jpg", title="No objects"))
    <div class="drawing" style="aspect-ratio:4/3"><div class="whole"><img src="a b.jpg" alt="" loading="lazy">\
<svg viewBox="0 0 4 3" role="img" aria-label="No objects"></svg></div></div>
    >>> picture([], 400, 200, href=None, title="No objects", crop=(20, 10, 200))[:95]
    '<div class="drawing" style="aspect-ratio:4/3"><div class="whole" style="left:-10%;top:-6.66667%'
    """
    is_held = href is not None and href.startswith("#")
    image = "" if href is None or is_held else f'<img src="{escape(href)}" alt="" loading="lazy">'
    drawn = "".join([f'<use href="{escape(href or "")}"/>'] * is_held + [*elements])
    drawing = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">{drawn}</svg>'
    shape, place = f"{width}/{height}", ""
    if crop is not None:
        left, top, across = crop
        down = across / RATIO
        sides = {"left": -left / across, "top": -top / down, "width": width / across, "height": height / down}
        place = ";".join(f"{side}:{100 * share + 0:.6g}%" for side, share in sides.items())
        shape, place = "4/3", f' style="{place}"'
    return f'<div class="drawing" style="aspect-ratio:{shape}"><div class="whole"{place}>{image}{drawing}</div></div>'


def definitions(pictures: Mapping[str, str]) -> str:
    """Return pictures by their ids and addresses as HTML that shows nothing: drawings of the page refer to them.

    >>> definitions({"night": "data:,"})
    '<svg width="0" height="0" aria-hidden="true"><image id="night" href="data:," width="100%" height="100%" \
preserveAspectRatio="none"/></svg>'
    """
    size = 'width="100%" height="100%" preserveAspectRatio="none"'
    images = "".join(f'<image id="{escape(key)}" href="{escape(address)}" {size}/>' for key, address in pictures.items())
    return f'<svg width="0" height="0" aria-hidden="true">{images}</svg>'


def legend(names: Sequence[str]) -> str:
    """Return a line that explains the strokes of the ground truth and of each model, and the signs.

    >>> legend(["old", "new"]).count("<svg")
    3
    """
    roles = [(TRUTH, "ground truth"), *zip(MODELS, names, strict=False)]
    line = '<path class="halo" d="M2 6H42"/><path class="line" d="M2 6H42"/>'
    entries = [
        f'<span><svg viewBox="0 0 44 12" width="44" height="12" aria-hidden="true"><g class="{role}">{line}</g></svg> '
        f"{escape(name)}</span>"
        for role, name in roles
    ]
    entries += [f"<span>{sign} {IN_WORDS[outcome]}</span>" for outcome, sign in SIGNS.items()]
    return f'<p class="drawn-as">{" ".join(entries)}</p>'


def _placed(objects: pl.DataFrame) -> pl.DataFrame:
    """Place the objects in their picture: intervals as bars, each in a lane of its video, and cuboids from above."""
    if CENTRE[0] in objects.columns:
        return _from_above(objects)
    if not _are_intervals(objects):
        return objects
    begin, end, last = pl.col("start_time"), pl.col("end_time"), pl.col("end_time").max().over("image_id")
    scale, lane = _VIDEO / pl.max_horizontal(last, 1e-9), begin.rank("ordinal").over("image_id")
    bars = {
        "x": begin * scale,
        "y": lane * _LANE + _ABOVE - _BAR - 2.0,
        "width": (end - begin) * scale,
        "height": pl.lit(float(_BAR)),
    }
    lanes = pl.len().over("image_id").cast(pl.Int64) * _LANE
    size = {"image_width": pl.lit(_VIDEO, pl.Int64), "image_height": lanes + _ABOVE + _BELOW}
    return objects.with_columns(**bars, **size)


def _from_above(objects: pl.DataFrame) -> pl.DataFrame:
    """Return the footprints of cuboids as rotated boxes, x to the right and y up; unknown sizes are 1 m, unknown yaw is 0.

    Objects without a cuboid are not drawn. Objects on a line get ground beside them, so that no picture is a strip.
    """
    for name, usual in {**dict.fromkeys(SIZES, 1.0), YAW: 0.0}.items():
        filled = pl.col(name).fill_null(usual) if name in objects.columns else pl.lit(usual)
        objects = objects.with_columns(pl.when(pl.col(CENTRE[0]).is_not_null()).then(filled).alias(name))
    x, y, width, height = around_cuboids().values()
    left, right, low, high = (end.over("image_id") for end in (x.min(), (x + width).max(), y.min(), (y + height).max()))
    longer = pl.max_horizontal(right - left, high - low) * (1 + 2 * _MARGIN)
    scale, free = _GROUND / longer, longer * _MARGIN / (1 + 2 * _MARGIN)
    wide, tall = right - left + 2 * free, high - low + 2 * free
    beside, over = (pl.max_horizontal(0, lacking) / 2 for lacking in (tall * _NARROWEST - wide, wide * _FLATTEST - tall))
    length, across = map(pl.col, SIZES[:2])
    ground = {
        "x": (pl.col(CENTRE[0]) - length / 2 - left + free + beside) * scale,
        "y": (high + free + over - pl.col(CENTRE[1]) - across / 2) * scale,
        "width": length * scale,
        "height": across * scale,
        "angle": pl.col(YAW),
        "image_width": ((wide + 2 * beside) * scale).ceil().cast(pl.Int64),
        "image_height": ((tall + 2 * over) * scale).ceil().cast(pl.Int64),
    }
    return objects.with_columns(**ground).drop(CENTRE[0])


def _are_intervals(objects: pl.DataFrame) -> bool:
    return INTERVAL[0] in objects.columns


def _texts(frame: pl.DataFrame, pixels: int) -> pl.Series:
    """Return the labels of objects as SVG, without the beginning of their elements; in a crop they are placed inside it.

    Labels of the ground truth prefer the place below the object, those of models the place above it. In videos each object has
    a lane of its own, with room above it.
    """
    sizes = picture_sizes(frame).select("image_id", across="width", down="height")
    is_truth, is_subject = pl.col("role").cast(pl.String) == TRUTH, pl.col("is_subject").fill_null(False)
    has_text = is_truth | (pl.col("outcome").cast(pl.String) != "tp") | is_subject
    sign = pl.col("outcome").cast(pl.String).replace_strict(SIGNS, default="", return_dtype=pl.String)
    labels = frame.join(sizes, on="image_id", how="left", maintain_order="left").with_columns(
        words=pl.when(has_text).then(pl.format("{} {}", sign, "label")),
        is_below=is_truth & (not _are_intervals(frame)),
        is_subject=is_subject,
    )
    if CROP[0] not in frame.columns:
        return place_labels(labels, pixels)
    start, across = [pl.col(name).clip(0) for name in CROP[:2]], pl.col(CROP[2])
    sides = [pl.min_horizontal(across, "across"), pl.min_horizontal(across / RATIO, "down")]
    inside = labels.with_columns(pl.col("x") - start[0], pl.col("y") - start[1], across=sides[0], down=sides[1])
    moved = pl.format('transform="translate({} {})" {}', *map(_number, start), place_labels(inside, pixels))
    return labels.select(moved.alias("text")).to_series()


def _scores(frame: pl.DataFrame) -> pl.Expr:
    """Return the scores of detections as an attribute; null for annotations."""
    if "score" not in frame.columns:
        return pl.lit(None, pl.String)
    is_detection = pl.col("role").cast(pl.String) != TRUTH
    score = pl.col("score").cast(pl.Float64).round_sig_figs(6).cast(pl.String).str.strip_suffix(".0")
    return pl.format(' data-score="{}"', pl.when(is_detection).then(score))


def _with_paths(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the lines of the objects, `path`, and their single points, `dots`, as SVG paths."""
    x, y, width, height = map(pl.col, BOX)
    box = pl.format("M{} {}H{}V{}H{}z", *map(_number, (x, y, x + width, y + height, x)))
    frame = frame.with_columns(path=box, dots=pl.lit(None, pl.String))
    if "outline" in frame.columns:
        # each point relative to the one before, which needs fewer characters
        begin = pl.element().list.head(2).list.eval(_number(pl.element())).list.join(" ")
        steps = (
            pl.element()
            .list.eval(_number(pl.element().diff(2).drop_nulls()))
            .list.join(" ")
            .str.replace_all(" -", "-", literal=True)
        )
        closed = pl.concat_str(pl.lit("M"), begin, pl.lit("l"), steps, pl.lit("z"))
        outline = pl.col("outline").list.eval(closed).list.join("")
        return frame.with_columns(path=pl.when(pl.col("outline").list.len() > 0).then(outline).otherwise("path"))
    if "keypoints" in frame.columns:
        return _with_skeletons(frame)
    if "corners" in frame.columns or "angle" in frame.columns:
        return _with_turned(frame)
    return frame


def _with_skeletons(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the paths of objects with keypoints: lines of the skeleton, and a dot for each point but those at 0, 0, 0."""
    rows = frame.with_row_index("row")
    x, y, visible = (pl.col("keypoints").list.gather_every(3, side) for side in range(3))
    points = rows.select("row", a=x, b=y, visible=visible).drop_nulls("a").explode("a", "b", "visible")
    points = points.with_columns(number=pl.int_range(1, pl.len() + 1).over("row"))
    points = points.filter(pl.any_horizontal(pl.col("a", "b", "visible") != 0))
    dots = points.select("row", part=pl.format("M{} {}h0", _number(pl.col("a")), _number(pl.col("b"))))
    skeleton_parts = {"dots": dots}
    if "skeleton" in frame.columns:
        bones = rows.select("row", "skeleton").explode("skeleton").drop_nulls()
        bones = bones.select("row", *(pl.col("skeleton").list.get(side, null_on_oob=True).alias(f"p{side}") for side in (0, 1)))
        for side in (0, 1):
            end = points.select("row", pl.col("number").alias(f"p{side}"), *(pl.col(n).alias(f"{n}{side}") for n in "ab"))
            bones = bones.join(end, on=["row", f"p{side}"], maintain_order="left")
        ends = [_number(pl.col(name)) for name in ("a0", "b0", "a1", "b1")]
        skeleton_parts["path"] = bones.select("row", part=pl.format("M{} {}L{} {}", *ends))
    has_points = rows["row"].is_in(points["row"].implode())
    rows = rows.with_columns(path=pl.when(~has_points).then("path"))
    for name, parts in skeleton_parts.items():
        joined = parts.group_by("row", maintain_order=True).agg(pl.col("part").str.join("").alias("joined"))
        rows = rows.join(joined, on="row", how="left", maintain_order="left")
        rows = rows.with_columns(pl.coalesce("joined", name).alias(name)).drop("joined")
    return rows.drop("row")


def _with_turned(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the paths of rotated boxes to the rows with corners or an angle."""
    from apframe.tables.shapes.corners import quadrilaterals  # brings in NumPy

    is_turned = pl.any_horizontal(pl.col(name).is_not_null() for name in ("corners", "angle") if name in frame.columns)
    rows = frame.with_row_index("row")
    turned = rows.filter(is_turned)
    corners = quadrilaterals("objects", turned)
    names = [f"c{n}" for n in range(8)]
    path = pl.format("M{} {}L{} {}L{} {}L{} {}z", *(_number(pl.col(name)) for name in names))
    low, high = corners.min(axis=1), corners.max(axis=1)
    around = dict(zip(BOX, [*low.T, *(high - low).T], strict=True))  # for the label, which is not turned
    paths = pl.DataFrame(corners.reshape(len(turned), -1), schema=names, orient="row").select(path=path)
    return rows.update(
        paths.with_columns(turned["row"], **{name: pl.Series(side) for name, side in around.items()}), on="row"
    ).drop("row", "angle", strict=False)


def _number(value: pl.Expr) -> pl.Expr:
    """Write numbers for SVG, with one decimal if it is not 0."""
    return (value.cast(pl.Float64).round(1) + 0.0).cast(pl.String).str.strip_suffix(".0")


def _escaped(text: pl.Expr) -> pl.Expr:
    return text.str.replace_many({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})

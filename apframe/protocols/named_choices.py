"""The choices of a protocol that have names, and what each name means."""

CROWDS = {
    "ignored": "any number of detections can match a group of objects; they are ignored",
    "all_ignored": "any number of detections can match a group of objects or another ignored annotation; they are ignored",
    "ignored_by_iou": "any number of detections can match a group of objects, or by IoU another ignored annotation; they are "
    "ignored",
    "counted": "a group of objects counts once, for its best detection; the others are ignored",
    "missed": "any number of detections can match a group of objects; they are ignored, and the group counts as missed",
    "ordinary": "crowds are annotations like any other",
}
IGNORED_AS_CROWDS = ("all_ignored", "ignored_by_iou")
"""The choices by which any number of detections can match an ignored annotation that is no group."""
TIES = {
    "image": "equal scores are ordered by image",
    "input": "equal scores stay in the order of the input",
    "later": "of equal scores, the last in the input comes first",
}
MALFORMED = {
    "counted": "an annotation counts and is missed, a detection is a false positive",
    "by_area": "an object of negative area is ignored; otherwise an annotation counts and is missed, a detection is a false "
    "positive",
    "by_height": "an annotation of negative height is ignored, others count and are missed; a detection is a false positive",
    "sorted": "an interval that ends before it starts is turned round",
    "signed": "corners that do not go around a convex shape stand for the area to their left less that to their right",
    "enclosed": "corners that do not go around a convex shape stand for the smallest rectangle around them",
    "detections_left_out": "a detection is left out; at an annotation the benchmark's program stops",
    "images_left_out": "the benchmark's program leaves out the whole image",
    "stops": "the benchmark's program stops",
    "absent": "the benchmark's program has no such rows",
}
"""What becomes of rows whose shape cannot be right, such as boxes with a negative side, where they are to be kept."""
KEEPABLE = {"detections_left_out": ("detections",), "images_left_out": (), "stops": (), "absent": ()}
"""The tables whose malformed rows can be kept; by default both."""
IGNORES = {
    "ignore": "flagged ignore",
    "no_keypoints": "without labelled keypoints",
    "uncertain": "flagged uncertain",
    "no_mask": "without a mask (tried last)",
}

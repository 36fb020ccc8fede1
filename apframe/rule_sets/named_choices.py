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
IGNORES = {
    "ignore": "flagged ignore",
    "no_keypoints": "without labelled keypoints",
    "uncertain": "flagged uncertain",
    "no_mask": "without a mask (tried last)",
}

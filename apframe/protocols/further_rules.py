"""Rules that few protocols have, by name."""

FURTHER_RULES = {
    "annotated_images_only": "detections on images without annotations are ignored",
    "clipped_boxes": "boxes are cut off at the edges of their image",
    "detections_with_area": "a detection with a side of 0, or whose mask has no pixel, is left out after max_detections",
    "equal_labels": "annotations of an image that are equal in category and shape are one",
    "disjoint_masks": "an image whose predicted masks overlap loses all its detections",
    "levels_of_points": "an unknown level (null or 0) is 2 for up to 5 points or an unknown number (n_points), otherwise 1",
    "limits_of_sides": "what has a compared side of .01 or less, or any of 1,000,000 or more, matches nothing",
    "narrow_left_out": "an annotation whose smallest rectangle has a side below 2 pixels is left out",
    "no_label_zones": "a detection in a no-label zone (no_label_zone) that matches nothing is ignored",
    "mostly_void": "a detection of which more than half is void (void_area) is ignored if it matches nothing",
    "limits_by_rows": "max_detections counts the first rows of an image, whatever their category and score",
    "limits_by_score": "max_detections counts the detections of an image with the best scores, whatever their category",
    "means_by_images": "a category counts in every mean once for each image with an annotation of it",
    "limits_known_categories": "the limit per image is over detections of the ground truth's categories alone",
    "limit_without_ties": "of more detections of an image, those above the score of the next one are kept",
    "known_categories": "a detection of a category that the ground truth lacks is an error",
    "known_images_only": "detections on images that the ground truth lacks are left out",
    "zero_without_detections": "without any detection all headline numbers are 0",
}

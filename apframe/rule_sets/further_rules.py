"""Rules that few protocols have, by name."""

FURTHER_RULES = {
    "disjoint_masks": "an image whose predicted masks overlap loses all its detections",
    "levels_of_points": "an unknown level is 2 for up to 5 points (n_points), otherwise 1",
    "no_label_zones": "a detection in a no-label zone (no_label_zone) that matches nothing is ignored",
    "known_images_only": "detections on images that the ground truth lacks are left out",
    "zero_without_detections": "without any detection all headline numbers are 0",
}

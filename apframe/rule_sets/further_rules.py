"""Rules that few protocols have, by name."""

FURTHER_RULES = {
    "disjoint_masks": "an image whose predicted masks overlap loses all its detections",
    "known_images_only": "detections on images that the ground truth lacks are left out",
    "zero_without_detections": "without any detection all headline numbers are 0",
}

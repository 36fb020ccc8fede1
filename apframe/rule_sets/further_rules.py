"""Rules that few protocols have, by name."""

FURTHER_RULES = {
    "bdd100k_classes": "ten classes; bike, caravan, motor, person and van are renamed, other person, other vehicle and trailer "
    "too, whose annotations are crowds",
    "disjoint_masks": "an image whose predicted masks overlap loses all its detections",
    "known_images_only": "detections on images that the ground truth lacks are left out",
    "zero_without_detections": "without any detection all headline numbers are 0",
}

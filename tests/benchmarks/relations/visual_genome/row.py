"""Visual Genome: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import CATEGORIES, RIDING, Hand, at, found, truth_of

SCENES = truth_of([at(1, 1, **RIDING), at(1, 2, **RIDING), at(2, 1, **RIDING)], categories=CATEGORIES)
SCENE_FOUND = [found(1, 1, 0.9, **RIDING), found(2, 1, 0.8, **RIDING), found(2, 1, 0.7, **RIDING | {"object_name": "dog"})]


HAND: dict[str, Hand] = {
    # one of two relations in one image, one of one in the other
    "visual_genome": ("visual_genome", {}, SCENES, SCENE_FOUND, {"R@20": 0.75, "R@100": 0.75}),
    "visual_genome_mean": ("visual_genome_mean", {}, SCENES, SCENE_FOUND, {"mR@20": 0.5}),
}  # fmt: skip

"""CityPersons, Caltech and EuroCity Persons: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import Hand, at, found, truth_of

WALKER, BESIDE = [0, 0, 41, 100], [50, 0, 41, 100]
WALKERS = truth_of([at(k, 1, bbox=WALKER, vis_ratio=0.9, occlusion=0.0, truncation=0.0) for k in (1, 2)],
                   categories=[{"id": 1, "name": "pedestrian"}])  # fmt: skip
SINCE_2019 = {"LAMR_bare": 0.5, "LAMR_partial": 0.5, "LAMR_heavy_2019": None}


HAND: dict[str, Hand] = {
    # one of two people is found, and nothing is wrong up to .5 false positives per image
    "citypersons": (
        "citypersons", {}, WALKERS, [found(1, 1, 0.9, bbox=WALKER), found(2, 1, 0.8, bbox=BESIDE)],
        {"LAMR_reasonable": 0.5, "LAMR_small": None, "LAMR_heavy": None, "LAMR_all": 0.5, **SINCE_2019},
    ),
    "caltech": (
        "caltech", {}, WALKERS | {"categories": [{"id": 1, "name": "person"}]}, [found(2, 1, 0.8, bbox=WALKER)],
        {"LAMR_reasonable": 0.5, "LAMR_small": None, "LAMR_heavy": None, "LAMR_all": 0.5, **SINCE_2019},
    ),
    # the first one is a false positive, above all points up to .3162
    "eurocity": (
        "eurocity", {}, WALKERS, [found(1, 1, 0.8, bbox=WALKER), found(2, 1, 0.9, bbox=BESIDE)],
        {"LAMR_reasonable": 0.5 ** (2 / 9), "LAMR_small": None, "LAMR_occluded": None, "LAMR_all": 0.5 ** (2 / 9)},
    ),
}  # fmt: skip

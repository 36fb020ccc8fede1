"""LUNA16's task of nodule detection in scans: marks inside nodules, FROC and CPM."""

from apframe.metrics.definitions import Interpolated
from apframe.metrics.miss_rates import Froc
from apframe.protocols.classes import ALL_CLASSES
from apframe.protocols.given import ALL_AREAS
from apframe.protocols.protocol import Protocol
from apframe.similarity.sphere_distance import SphereDistance

LUNA16 = Protocol(
    name="LUNA16",
    citation="Setio et al., Validation, comparison, and combination of algorithms for automatic detection of pulmonary nodules "
    "in computed tomography images: the LUNA16 challenge, Medical Image Analysis 2017; noduleCADEvaluationLUNA16.py",
    iou_type="sphere",
    similarity=SphereDistance(),
    matching="shared",
    strict=True,
    ties="input",
    crowds="ordinary",
    ignores=("ignore",),
    iou_thresholds=(-1.0,),
    definition=Interpolated(),
    adds_spacing=False,
    classes=ALL_CLASSES,
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=Froc(),
    malformed="absent",
    area_ranges=(ALL_AREAS,),
    max_detections=(100,),
    per_image=True,
    agnostic=False,
    judged_only=False,
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=("limit_without_ties",),
    parts=(),
    report=("CPM",),
)
"""Marks inside nodules, at most 100 per scan; marks in excluded findings (`ignore`) are ignored; the mean sensitivity CPM."""

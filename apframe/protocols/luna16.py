"""LUNA16's task of nodule detection in scans: marks inside nodules, FROC and CPM."""

from apframe.metrics.definitions import Interpolated
from apframe.metrics.miss_rates import Froc
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
    miss_rates=Froc(),
    malformed="absent",
    max_detections=(100,),
    per_image=True,
    further_rules=("limit_without_ties",),
    report=("CPM",),
)
"""Marks inside nodules, at most 100 per scan; marks in excluded findings (`ignore`) are ignored; the mean sensitivity CPM."""

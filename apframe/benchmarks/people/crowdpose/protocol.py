"""CrowdPose: keypoints of people in crowds."""

from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import COCO_101
from apframe.metrics.points import SPACING
from apframe.protocols.given import linspace
from apframe.protocols.headlines import Part
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.ignored import IgnoreWithoutKeypoints
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.standard import STANDARD_ROWS
from apframe.similarity.oks import COCO_SIGMAS, OKS

PURPOSES = {
    "CROWDPOSE": "keypoints of people in crowds",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
CROWDPOSE_SIGMAS = (*COCO_SIGMAS[5:], COCO_SIGMAS[5], COCO_SIGMAS[6])
"""Sigmas of the 14 keypoints: shoulders, elbows, wrists, hips, knees, ankles, top of the head, neck."""

CROWDPOSE = Protocol(
    name="CROWDPOSE",
    citation="Li et al., CrowdPose: Efficient Crowded Scenes Pose Estimation and A New Benchmark, CVPR 2019; crowdposetools",
    iou_type="keypoints",
    similarity=OKS(sigmas=CROWDPOSE_SIGMAS, box_area_factor=0.53),
    matcher=ByScore(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(COCO_101, SPACING),),
    max_detections=(20,),
    headlines=(
        "AP", "AP50", "AP75", "AR", "AR50", "AR75", "AP{part}",
        Part("_easy", "images", "crowdIndex", up_to=0.1),
        Part("_medium", "images", "crowdIndex", above=0.1, up_to=0.8),
        Part("_hard", "images", "crowdIndex", above=0.8),
    ),
    rules=(MalformedIgnoredByArea(), *STANDARD_ROWS, CrowdsIgnored(), IgnoreWithoutKeypoints()),
)  # fmt: skip
"""Fourteen joints with their own sigmas, ten OKS thresholds, and AP of images by crowding: easy, medium, hard."""

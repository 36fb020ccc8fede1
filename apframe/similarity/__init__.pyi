"""The public names of `apframe.similarity`."""

from apframe.benchmarks.medical.luna16.sphere_distance import SphereDistance as SphereDistance
from apframe.benchmarks.pixels.panoptic.panoptic_boundary_iou import PanopticBoundaryIoU as PanopticBoundaryIoU
from apframe.benchmarks.pixels.panoptic.panoptic_iou import PanopticIoU as PanopticIoU
from apframe.benchmarks.pixels.semantic.label_iou import LabelIoU as LabelIoU
from apframe.benchmarks.relations.visual_genome.relation_iou import PhraseIoU as PhraseIoU
from apframe.benchmarks.relations.visual_genome.relation_iou import RelationIoU as RelationIoU
from apframe.benchmarks.trainers.ultralytics.single_iou import SingleBoxIoU as SingleBoxIoU
from apframe.benchmarks.trainers.ultralytics.single_iou import SingleMaskIoU as SingleMaskIoU
from apframe.similarity.bev_iou import BevIoU as BevIoU
from apframe.similarity.boundary_iou import BoundaryIoU as BoundaryIoU
from apframe.similarity.box_iou import BoxIoU as BoxIoU
from apframe.similarity.centre_distance import CentreDistance as CentreDistance
from apframe.similarity.cuboid_iou import CuboidIoU as CuboidIoU
from apframe.similarity.inclusive_box_iou import InclusiveBoxIoU as InclusiveBoxIoU
from apframe.similarity.intersection_over_detection import IntersectionOverDetection as IntersectionOverDetection
from apframe.similarity.interval_iou import IntervalIoU as IntervalIoU
from apframe.similarity.mask_iou import MaskIoU as MaskIoU
from apframe.similarity.mask_or_box_iou import MaskOrBoxIoU as MaskOrBoxIoU
from apframe.similarity.oks import OKS as OKS
from apframe.similarity.pairs import Similarity as Similarity
from apframe.similarity.rotated_iou import RotatedIoU as RotatedIoU
from apframe.similarity.user import UserSimilarity as UserSimilarity

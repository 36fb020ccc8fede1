"""Where all is that is imported only when it is named; `python -m tests.static_table` writes this file.

- PROTOCOLS: where each protocol of a benchmark is, what it is for, and its iou_types
- TWINS: the protocols that options of another one stand for
- FILES: the format of the files of a protocol, if that has another name
- FORMATS: where each format is, whether it is written, and what its data sets and results may look like
- RULES, MATCHERS, METRICS, DEFINITIONS, SIMILARITIES: what benchmarks add, by the names that stored evaluations have for it;
  of similarities the iou_type too
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # these are public names of `apframe`
    from apframe.benchmarks.aerial.dota.protocol import DOTA, DOTA_V1, DOTA_V15, MMROTATE
    from apframe.benchmarks.aerial.visdrone.protocol import VISDRONE, VISDRONE_MEAN
    from apframe.benchmarks.driving.argoverse2.protocol import ARGOVERSE2
    from apframe.benchmarks.driving.bdd100k.protocol import BDD100K
    from apframe.benchmarks.driving.kitti.protocol import KITTI
    from apframe.benchmarks.driving.nuscenes.protocol import NUSCENES
    from apframe.benchmarks.driving.waymo.protocol import WAYMO
    from apframe.benchmarks.medical.luna16.protocol import LUNA16
    from apframe.benchmarks.people.citypersons.protocol import CALTECH, CITYPERSONS, EUROCITY
    from apframe.benchmarks.people.crowdhuman.protocol import CROWDHUMAN
    from apframe.benchmarks.people.crowdpose.protocol import CROWDPOSE
    from apframe.benchmarks.people.tinyperson.protocol import TINYPERSON
    from apframe.benchmarks.people.wider_face.protocol import WIDER_FACE
    from apframe.benchmarks.pixels.panoptic.protocol import CITYSCAPES_PANOPTIC, COCO_PANOPTIC
    from apframe.benchmarks.pixels.semantic.protocol import SEMANTIC
    from apframe.benchmarks.relations.flickr30k.protocol import FLICKR30K, REFCOCO
    from apframe.benchmarks.relations.visual_genome.protocol import VISUAL_GENOME, VISUAL_GENOME_MEAN
    from apframe.benchmarks.trainers.ultralytics.protocol import ULTRALYTICS, ULTRALYTICS_8_4_35, ULTRALYTICS_8_4_175
    from apframe.benchmarks.video.activitynet.protocol import ACTIVITYNET
    from apframe.benchmarks.video.ava.protocol import AVA
    from apframe.benchmarks.video.thumos14.protocol import THUMOS14

__all__ = [
    "ACTIVITYNET",
    "ARGOVERSE2",
    "AVA",
    "BDD100K",
    "CALTECH",
    "CITYPERSONS",
    "CITYSCAPES_PANOPTIC",
    "COCO_PANOPTIC",
    "CROWDHUMAN",
    "CROWDPOSE",
    "DOTA",
    "DOTA_V1",
    "DOTA_V15",
    "EUROCITY",
    "FLICKR30K",
    "KITTI",
    "LUNA16",
    "MMROTATE",
    "NUSCENES",
    "REFCOCO",
    "SEMANTIC",
    "THUMOS14",
    "TINYPERSON",
    "ULTRALYTICS",
    "ULTRALYTICS_8_4_35",
    "ULTRALYTICS_8_4_175",
    "VISDRONE",
    "VISDRONE_MEAN",
    "VISUAL_GENOME",
    "VISUAL_GENOME_MEAN",
    "WAYMO",
    "WIDER_FACE",
]

PROTOCOLS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "DOTA": ("apframe.benchmarks.aerial.dota.protocol:DOTA", "rotated boxes in aerial images", ("rotated",)),
    "DOTA_V1": (
        "apframe.benchmarks.aerial.dota.protocol:DOTA_V1",
        "what DOTA's devkit prints for v1.0: 15 classes",
        ("rotated",),
    ),
    "DOTA_V15": (
        "apframe.benchmarks.aerial.dota.protocol:DOTA_V15",
        "what DOTA's devkit prints for v1.5: 16 classes",
        ("rotated",),
    ),
    "MMROTATE": ("apframe.benchmarks.aerial.dota.protocol:MMROTATE", "what mmrotate prints for DOTA", ("rotated",)),
    "VISDRONE": (
        "apframe.benchmarks.aerial.visdrone.protocol:VISDRONE",
        "objects from drones, ten classes; as its toolkit prints them",
        ("bbox",),
    ),
    "VISDRONE_MEAN": (
        "apframe.benchmarks.aerial.visdrone.protocol:VISDRONE_MEAN",
        "VisDrone with the plain mean over classes",
        ("bbox",),
    ),
    "ARGOVERSE2": (
        "apframe.benchmarks.driving.argoverse2.protocol:ARGOVERSE2",
        "cuboids by distance: AP, three errors, CDS",
        ("distance",),
    ),
    "BDD100K": (
        "apframe.benchmarks.driving.bdd100k.protocol:BDD100K",
        "boxes and instance masks of driving scenes, ten classes",
        ("bbox", "segm"),
    ),
    "KITTI": (
        "apframe.benchmarks.driving.kitti.protocol:KITTI",
        "cars, pedestrians and cyclists: in images, from above, in space",
        ("bbox", "bev", "3d"),
    ),
    "NUSCENES": (
        "apframe.benchmarks.driving.nuscenes.protocol:NUSCENES",
        "cuboids by distance: AP, five errors, NDS",
        ("distance",),
    ),
    "WAYMO": (
        "apframe.benchmarks.driving.waymo.protocol:WAYMO",
        "vehicles, pedestrians, signs, cyclists: in space, from above, in images",
        ("3d", "bev", "bbox"),
    ),
    "LUNA16": (
        "apframe.benchmarks.medical.luna16.protocol:LUNA16",
        "nodules in scans: mean sensitivity (CPM) of the FROC curve",
        ("sphere",),
    ),
    "CITYPERSONS": (
        "apframe.benchmarks.people.citypersons.protocol:CITYPERSONS",
        "pedestrians by height and visible share: log-average miss rate",
        ("bbox",),
    ),
    "CALTECH": ("apframe.benchmarks.people.citypersons.protocol:CALTECH", "as CITYPERSONS, for Caltech's data", ("bbox",)),
    "EUROCITY": (
        "apframe.benchmarks.people.citypersons.protocol:EUROCITY",
        "pedestrians by height and occlusion: log-average miss rate",
        ("bbox",),
    ),
    "CROWDHUMAN": (
        "apframe.benchmarks.people.crowdhuman.protocol:CROWDHUMAN",
        "people in crowds: AP, log-average miss rate, Jaccard index",
        ("bbox",),
    ),
    "CROWDPOSE": ("apframe.benchmarks.people.crowdpose.protocol:CROWDPOSE", "keypoints of people in crowds", ("keypoints",)),
    "TINYPERSON": (
        "apframe.benchmarks.people.tinyperson.protocol:TINYPERSON",
        "people of a few pixels: AP at IoU .25, .5, .75 by size",
        ("bbox",),
    ),
    "WIDER_FACE": (
        "apframe.benchmarks.people.wider_face.protocol:WIDER_FACE",
        "faces: easy, medium, hard; scores in 1,000 steps",
        ("bbox",),
    ),
    "COCO_PANOPTIC": (
        "apframe.benchmarks.pixels.panoptic.protocol:COCO_PANOPTIC",
        "panoptic quality of segments: PQ, SQ, RQ, also of boundaries",
        ("panoptic", "panoptic_boundary"),
    ),
    "CITYSCAPES_PANOPTIC": (
        "apframe.benchmarks.pixels.panoptic.protocol:CITYSCAPES_PANOPTIC",
        "the same for Cityscapes",
        ("panoptic", "panoptic_boundary"),
    ),
    "SEMANTIC": (
        "apframe.benchmarks.pixels.semantic.protocol:SEMANTIC",
        "IoU of the pixels of each class: mIoU, fwIoU, accuracies",
        ("semantic",),
    ),
    "FLICKR30K": (
        "apframe.benchmarks.relations.flickr30k.protocol:FLICKR30K",
        "boxes of phrases: Success@1, @5, @10, which papers call R@k",
        ("bbox",),
    ),
    "REFCOCO": (
        "apframe.benchmarks.relations.flickr30k.protocol:REFCOCO",
        "the box of a referring expression: accuracy at IoU 0.5",
        ("bbox",),
    ),
    "VISUAL_GENOME": (
        "apframe.benchmarks.relations.visual_genome.protocol:VISUAL_GENOME",
        "relations of two boxes: R@20, R@50, R@100; also of phrases",
        ("relation", "phrase"),
    ),
    "VISUAL_GENOME_MEAN": (
        "apframe.benchmarks.relations.visual_genome.protocol:VISUAL_GENOME_MEAN",
        "the mean over relations: mR@20, mR@50, mR@100",
        ("relation", "phrase"),
    ),
    "ULTRALYTICS": (
        "apframe.benchmarks.trainers.ultralytics.protocol:ULTRALYTICS",
        "what Ultralytics prints from 8.4.176 on: mAP50-95, mAP50",
        ("bbox", "segm"),
    ),
    "ULTRALYTICS_8_4_175": (
        "apframe.benchmarks.trainers.ultralytics.protocol:ULTRALYTICS_8_4_175",
        "what Ultralytics prints from 8.4.37 up to 8.4.175",
        ("bbox", "segm"),
    ),
    "ULTRALYTICS_8_4_35": (
        "apframe.benchmarks.trainers.ultralytics.protocol:ULTRALYTICS_8_4_35",
        "what Ultralytics prints up to 8.4.36",
        ("bbox", "segm"),
    ),
    "ACTIVITYNET": (
        "apframe.benchmarks.video.activitynet.protocol:ACTIVITYNET",
        "actions as time intervals of videos",
        ("interval",),
    ),
    "AVA": (
        "apframe.benchmarks.video.ava.protocol:AVA",
        "actions of people in frames of videos: frame mAP at IoU 0.5",
        ("bbox",),
    ),
    "THUMOS14": (
        "apframe.benchmarks.video.thumos14.protocol:THUMOS14",
        "actions as time intervals: each interval takes its best detection",
        ("interval",),
    ),
}

TWINS: dict[str, dict[str, dict[str, str]]] = {
    "VISDRONE": {"mean": {"plain": "VISDRONE_MEAN"}},
    "VISUAL_GENOME": {"mean": {"plain": "VISUAL_GENOME_MEAN"}},
    "ULTRALYTICS": {"version": {"8.4.36": "ULTRALYTICS_8_4_35", "8.4.175": "ULTRALYTICS_8_4_175"}},
}

FILES: dict[str, str] = {
    "dota_v1": "dota",
    "dota_v15": "dota",
    "mmrotate": "dota",
    "visdrone_mean": "visdrone",
    "bdd100k": "scalabel",
    "citypersons": "coco",
    "caltech": "coco",
    "eurocity": "coco",
    "tinyperson": "coco",
    "cityscapes_panoptic": "coco_panoptic",
    "semantic": "label_maps",
    "ultralytics": "yolo",
}

FORMATS: dict[str, tuple[str, bool, list[dict[str, Any]], list[dict[str, Any]]]] = {
    'arrow': ('apframe.formats.tables:Arrow()', True,
     [{'kind': 'folder',
       'names': ('images.arrow', 'images.feather', 'images.ipc', 'categories.arrow', 'categories.feather',
                 'categories.ipc', 'annotations.arrow', 'annotations.feather', 'annotations.ipc')}],
     [{'kind': 'file', 'endings': ('.arrow', '.feather', '.ipc')},
      {'kind': 'folder', 'names': ('detections.arrow', 'detections.feather', 'detections.ipc')}]),
    'boxes': ('apframe.formats.boxes:Boxes()', True,
     [{'kind': 'folder',
       'endings': ('.txt',),
       'no_names': ('*_det_?*_*', 'Task[0-9]_*'),
       'line': '(?!#( |$))\\S+( #){4}( difficult)?'}],
     [{'kind': 'folder', 'endings': ('.txt',), 'no_names': ('*_det_?*_*', 'Task[0-9]_*'), 'line': '(?!#( |$))\\S+( #){5}'}]),
    'coco': ('apframe.formats.coco.format:Coco()', True,
     [{'kind': 'file',
       'begins': '{',
       'any_keys': ('images', 'categories', 'annotations'),
       'no_keys': ('database', 'data_row', 'segments_info')}],
     [{'kind': 'file', 'begins': '[', 'keys': ('image_id',)},
      {'kind': 'file', 'begins': '{', 'keys': ('image_id',)},
      {'kind': 'file',
       'begins': '{',
       'any_keys': ('images', 'categories', 'annotations'),
       'no_keys': ('database', 'data_row', 'segments_info')}]),
    'csv': ('apframe.formats.csv_table:Csv()', True,
     [{'kind': 'file', 'begins': '^[{\x00'}],
     [{'kind': 'file', 'begins': '^[{\x00'}]),
    'hugging_face': ('apframe.formats.hugging_face:HuggingFace()', True,
     [{'kind': 'file', 'endings': ('.parquet', '.arrow', '.jsonl')},
      {'kind': 'folder',
       'names': ('*.parquet', '*.arrow', '*.jsonl', 'data/', 'validation/', 'val/', 'valid/', 'dev/', 'test/', 'train/')}],
     [{'kind': 'file', 'endings': ('.parquet', '.arrow', '.jsonl')},
      {'kind': 'folder',
       'names': ('*.parquet', '*.arrow', '*.jsonl', 'data/', 'validation/', 'val/', 'valid/', 'dev/', 'test/', 'train/')}]),
    'lvis': ('apframe.formats.lvis:Lvis()', True,
     [{'kind': 'file', 'only_named': True}],
     [{'kind': 'file', 'only_named': True}]),
    'open_images': ('apframe.formats.open_images.format:OpenImages()', True,
     [{'kind': 'folder', 'endings': ('.csv', '.csv.gz')},
      {'kind': 'file', 'endings': ('.csv', '.csv.gz'), 'columns': ('ImageID',)}],
     [{'kind': 'file', 'endings': ('.csv', '.csv.gz'), 'columns': ('ImageID',)}]),
    'parquet': ('apframe.formats.tables:Parquet()', True,
     [{'kind': 'folder', 'names': ('images.parquet', 'categories.parquet', 'annotations.parquet')}],
     [{'kind': 'file', 'endings': ('.parquet',)},
      {'kind': 'folder', 'names': ('detections.parquet',)}]),
    'voc': ('apframe.formats.voc.format:Voc()', True,
     [{'kind': 'folder', 'names': ('Annotations/', '*.xml')},
      {'kind': 'file', 'endings': ('.txt',)}],
     [{'kind': 'folder', 'names': ('*_det_[!_]*_?*.txt',)}]),
    'yolo': ('apframe.formats.yolo.format:Yolo()', True,
     [{'kind': 'folder', 'endings': ('.yaml', '.yml', '.data')},
      {'kind': 'file', 'endings': ('.yaml', '.yml', '.data')}],
     [{'kind': 'folder', 'names': ('*.txt', 'labels/')}]),
    'cvat': ('apframe.formats.labelling.cvat.format:Cvat()', True,
     [{'kind': 'file', 'begins': '<'},
      {'kind': 'folder', 'names': ('*.xml', '*/')}],
     [{'kind': 'file', 'begins': '<'},
      {'kind': 'folder', 'names': ('*.xml', '*/')}]),
    'label_studio': ('apframe.formats.labelling.label_studio.format:LabelStudio()', True,
     [{'kind': 'file', 'begins': '[', 'keys': ('annotations',), 'any_keys': ('data', 'from_name')}],
     [{'kind': 'file', 'begins': '[', 'keys': ('predictions',), 'any_keys': ('data', 'from_name')}]),
    'labelbox': ('apframe.formats.labelling.labelbox:Labelbox()', False,
     [{'kind': 'file', 'begins': '{', 'keys': ('data_row', 'projects')},
      {'kind': 'file', 'begins': '[', 'any_keys': ('Labeled Data', 'data_row')}],
     []),
    'labelme': ('apframe.formats.labelling.labelme:Labelme()', False,
     [{'kind': 'folder',
       'endings': ('.json',),
       'begins': '{',
       'keys': ('shapes',),
       'any_keys': ('imagePath', 'shape_type')},
      {'kind': 'file', 'begins': '{', 'keys': ('shapes',), 'any_keys': ('imagePath', 'shape_type')}],
     [{'kind': 'folder',
       'endings': ('.json',),
       'begins': '{',
       'keys': ('shapes',),
       'any_keys': ('imagePath', 'shape_type')},
      {'kind': 'file', 'begins': '{', 'keys': ('shapes',), 'any_keys': ('imagePath', 'shape_type')}]),
    'supervisely': ('apframe.formats.labelling.supervisely:Supervisely()', False,
     [{'kind': 'folder', 'names': ('*/',)}],
     [{'kind': 'folder', 'names': ('*/',)}]),
    'activitynet': ('apframe.benchmarks.video.activitynet.format:ActivityNet()', True,
     [{'kind': 'file', 'begins': '{', 'keys': ('database',)},
      {'kind': 'file', 'begins': '{', 'keys': ('taxonomy', 'nodeName')},
      {'kind': 'file', 'begins': '{', 'keys': ('annotations', 'segment', 'label'), 'no_keys': ('images', 'image_id')}],
     [{'kind': 'file',
       'begins': '{',
       'keys': ('results',),
       'no_keys': ('database', 'sample_token', 'detection_name', 'use_lidar')}]),
    'argoverse2': ('apframe.benchmarks.driving.argoverse2.format:Argoverse2()', False,
     [{'kind': 'folder', 'names': ('annotations.feather', '*/')}],
     [{'kind': 'file', 'endings': ('.arrow', '.feather', '.ipc')}]),
    'ava': ('apframe.benchmarks.video.ava.format:Ava()', False,
     [{'kind': 'file', 'begins': '^[{\x00'},
      {'kind': 'folder', 'endings': ('.pbtxt',)}],
     [{'kind': 'file', 'begins': '^[{\x00'}]),
    'coco_panoptic': ('apframe.benchmarks.pixels.panoptic.format:CocoPanoptic()', False,
     [{'kind': 'file', 'begins': '{', 'keys': ('segments_info', 'images')},
      {'kind': 'folder', 'names': ('*.png',)}],
     [{'kind': 'file', 'begins': '{', 'keys': ('segments_info',)},
      {'kind': 'folder', 'names': ('*.png',)}]),
    'crowdhuman': ('apframe.benchmarks.people.crowdhuman.format:CrowdHuman()', False,
     [{'kind': 'file', 'begins': '{', 'keys': ('ID', 'gtboxes'), 'no_keys': ('dtboxes',)},
      {'kind': 'file', 'endings': ('.odgt', '.odgt.gz'), 'no_keys': ('dtboxes',)}],
     [{'kind': 'file', 'begins': '{', 'keys': ('ID', 'dtboxes')},
      {'kind': 'file', 'endings': ('.odgt', '.odgt.gz'), 'keys': ('dtboxes',)},
      {'kind': 'file', 'endings': ('.odgt', '.odgt.gz'), 'no_keys': ('gtboxes',)}]),
    'dota': ('apframe.benchmarks.aerial.dota.format:Dota()', True,
     [{'kind': 'folder', 'endings': ('.txt',), 'line': '(# ){8}(?!#( |$))\\S+( #)?|(imagesource|gsd):.*'}],
     [{'kind': 'folder', 'names': ('Task[12]_?*.txt',)}]),
    'kitti': ('apframe.benchmarks.driving.kitti.format:Kitti()', True,
     [{'kind': 'folder', 'endings': ('.txt',), 'line': '(?!#( |$))\\S+( #){14}'}],
     [{'kind': 'folder', 'endings': ('.txt',), 'line': '(?!#( |$))\\S+( #){15}'}]),
    'label_maps': ('apframe.benchmarks.pixels.semantic.format:LabelMaps()', False,
     [{'kind': 'folder', 'names': ('*.png', '*/'), 'no_names': ('*.jpg', '*.jpeg')}],
     [{'kind': 'folder', 'names': ('*.png', '*/'), 'no_names': ('*.jpg', '*.jpeg')}]),
    'luna16': ('apframe.benchmarks.medical.luna16.format:Luna16()', False,
     [{'kind': 'folder', 'names': ('annotations.csv',), 'columns': ('seriesuid',)}],
     [{'kind': 'file', 'columns': ('seriesuid', 'coordX', 'coordY', 'coordZ', 'probability')}]),
    'nuscenes': ('apframe.benchmarks.driving.nuscenes.format:NuScenes()', False,
     [{'kind': 'folder',
       'names': ('sample.json', 'sample_annotation.json', 'sample_data.json', 'ego_pose.json'),
       'n_names': 2}],
     [{'kind': 'file', 'begins': '{', 'keys': ('results',), 'any_keys': ('sample_token', 'detection_name', 'use_lidar')}]),
    'scalabel': ('apframe.benchmarks.driving.bdd100k.format:Scalabel()', False,
     [{'kind': 'file', 'begins': '[', 'keys': ('name', 'labels'), 'no_keys': ('image_id', 'data_row', 'score')},
      {'kind': 'file', 'begins': '{', 'keys': ('frames', 'name', 'labels'), 'no_keys': ('image_id', 'data_row', 'score')}],
     [{'kind': 'file', 'begins': '[', 'keys': ('name', 'labels', 'score'), 'no_keys': ('image_id', 'data_row')},
      {'kind': 'file', 'begins': '{', 'keys': ('frames', 'name', 'labels', 'score'), 'no_keys': ('image_id', 'data_row')},
      {'kind': 'file', 'begins': '[', 'keys': ('name', 'labels'), 'no_keys': ('image_id', 'data_row', 'category')},
      {'kind': 'file',
       'begins': '{',
       'keys': ('frames', 'name', 'labels'),
       'no_keys': ('image_id', 'data_row', 'category')}]),
    'thumos14': ('apframe.benchmarks.video.thumos14.format:Thumos14()', False,
     [{'kind': 'folder', 'names': ('?*_test.txt', '?*_val.txt'), 'line': '(?!#( |$))\\S+ # #'}],
     [{'kind': 'file', 'line': '(?!#( |$))\\S+ # # \\S+ #'}]),
    'visdrone': ('apframe.benchmarks.aerial.visdrone.format:VisDrone()', False,
     [{'kind': 'folder', 'endings': ('.txt',), 'line': '.*,.*'}],
     [{'kind': 'folder', 'endings': ('.txt',), 'line': '.*,.*'}]),
    'wider_face': ('apframe.benchmarks.people.wider_face.format:WiderFace()', False,
     [{'kind': 'folder', 'names': ('wider_face_?*.mat',)},
      {'kind': 'file', 'endings': ('.txt',)}],
     [{'kind': 'folder', 'names': ('*.txt', '*/')}]),
}  # fmt: skip

RULES: dict[str, str] = {
    "LeaveOutNarrow": "apframe.benchmarks.aerial.dota.protocol:LeaveOutNarrow",
    "ExclusionRegions": "apframe.benchmarks.aerial.visdrone.protocol:ExclusionRegions",
    "DisjointMasks": "apframe.benchmarks.driving.bdd100k.protocol:DisjointMasks",
    "RequireAlpha": "apframe.benchmarks.driving.kitti.protocol:RequireAlpha",
    "MeasureErrors": "apframe.benchmarks.driving.measured_errors:MeasureErrors",
    "OrientationWeights": "apframe.benchmarks.driving.orientation:OrientationWeights",
    "AddDifficultyLevel": "apframe.benchmarks.driving.waymo.protocol:AddDifficultyLevel",
    "LimitSides": "apframe.benchmarks.driving.waymo.protocol:LimitSides",
    "NoLabelZones": "apframe.benchmarks.driving.waymo.protocol:NoLabelZones",
    "WarnOfScores": "apframe.benchmarks.driving.waymo.protocol:WarnOfScores",
    "AddVisibility": "apframe.benchmarks.people.citypersons.protocol:AddVisibility",
    "ClipBoxes": "apframe.benchmarks.people.crowdhuman.protocol:ClipBoxes",
    "IgnoreUncertain": "apframe.benchmarks.people.tinyperson.protocol:IgnoreUncertain",
    "AnnotatedImagesOnly": "apframe.benchmarks.people.wider_face.protocol:AnnotatedImagesOnly",
    "IgnoreMostlyVoid": "apframe.benchmarks.pixels.panoptic.protocol:IgnoreMostlyVoid",
    "LeaveOutRepeated": "apframe.benchmarks.trainers.ultralytics.protocol:LeaveOutRepeated",
}

MATCHERS: dict[str, str] = {
    "claimant": "apframe.benchmarks.driving.argoverse2.matcher:ByClaim",
    "score_first": "apframe.benchmarks.driving.waymo.matcher:ScoreFirst",
}

METRICS: dict[str, str] = {
    "box_errors": "apframe.benchmarks.driving.box_errors:BoxErrors",
    "composite_score": "apframe.benchmarks.driving.box_errors:CompositeScore",
    "oriented_precision": "apframe.benchmarks.driving.orientation:OrientedPrecision",
    "panoptic_quality": "apframe.benchmarks.pixels.panoptic.metric:PanopticQuality",
    "pixel_iou": "apframe.benchmarks.pixels.semantic.metric:PixelIoU",
    "success": "apframe.benchmarks.relations.flickr30k.metric:Success",
    "recall_by_image": "apframe.benchmarks.relations.visual_genome.metric:RecallByImage",
}

DEFINITIONS: dict[str, str] = {
    "argoverse2": "apframe.benchmarks.driving.argoverse2.definition:Argoverse2",
    "r11": "apframe.benchmarks.driving.kitti.definitions:R11",
    "r40": "apframe.benchmarks.driving.kitti.definitions:R40",
    "nuscenes": "apframe.benchmarks.driving.nuscenes.definition:NuScenes",
    "crowdhuman": "apframe.benchmarks.people.crowdhuman.definition:CrowdHuman",
    "wider_face": "apframe.benchmarks.people.wider_face.definition:WiderFace",
    "ultralytics": "apframe.benchmarks.trainers.ultralytics.definitions:Ultralytics",
    "ultralytics_8_4_35": "apframe.benchmarks.trainers.ultralytics.definitions:UltralyticsBefore",
}

SIMILARITIES: dict[str, tuple[str, str | None]] = {
    "sphere_distance": ("apframe.benchmarks.medical.luna16.sphere_distance:SphereDistance", "sphere"),
    "panoptic_boundary_iou": (
        "apframe.benchmarks.pixels.panoptic.panoptic_boundary_iou:PanopticBoundaryIoU",
        "panoptic_boundary",
    ),
    "panoptic_iou": ("apframe.benchmarks.pixels.panoptic.panoptic_iou:PanopticIoU", "panoptic"),
    "label_iou": ("apframe.benchmarks.pixels.semantic.label_iou:LabelIoU", "semantic"),
    "relation_iou": ("apframe.benchmarks.relations.visual_genome.relation_iou:RelationIoU", "relation"),
    "phrase_iou": ("apframe.benchmarks.relations.visual_genome.relation_iou:PhraseIoU", "phrase"),
    "single_box_iou": ("apframe.benchmarks.trainers.ultralytics.single_iou:SingleBoxIoU", "bbox"),
    "single_mask_iou": ("apframe.benchmarks.trainers.ultralytics.single_iou:SingleMaskIoU", "segm"),
}

"""Where all is that is imported only when it is named; `python -m tests.static_table` writes this file.

FORMATS has the home of each format, whether it is written, and what its data sets and results look like.
"""

from __future__ import annotations

FORMATS: dict[str, tuple[str, bool, dict[str, str], dict[str, str]]] = {
    "activitynet": (
        "apframe.formats.activitynet:ActivityNet()",
        True,
        {"file": '"database"|"taxonomy"|"segment"'},
        {"file": '"results"'},
    ),
    "argoverse2": (
        "apframe.formats.argoverse2:Argoverse2()",
        False,
        {"folder": "(?m)^annotations\\.feather$|/$"},
        {"file": "\\A[^\\n]*\\.(arrow|feather|ipc)\\n"},
    ),
    "arrow": (
        "apframe.formats.tables:Arrow()",
        True,
        {"folder": "(?m)^(images|categories|annotations)\\.(arrow|feather|ipc)$"},
        {"file": "\\A[^\\n]*\\.(arrow|feather|ipc)\\n", "folder": "(?m)^detections\\.(arrow|feather|ipc)$"},
    ),
    "ava": (
        "apframe.formats.ava:Ava()",
        False,
        {"file": "\\A[^\\n]*\\n\\s*[^\\[{\\s]", "folder": "(?im)\\.pbtxt$"},
        {"file": "\\A[^\\n]*\\n\\s*[^\\[{\\s]"},
    ),
    "boxes": ("apframe.formats.boxes:Boxes()", True, {"folder": "(?im)\\.txt$"}, {"folder": "(?im)\\.txt$"}),
    "coco": ("apframe.formats.coco.format:Coco()", True, {"file": "\\A[^\\n]*\\n\\s*\\{"}, {"file": "\\A[^\\n]*\\n\\s*[\\[{]"}),
    "coco_panoptic": (
        "apframe.formats.coco_panoptic:CocoPanoptic()",
        False,
        {"file": '"segments_info"'},
        {"file": '"segments_info"'},
    ),
    "crowdhuman": (
        "apframe.formats.crowdhuman:CrowdHuman()",
        False,
        {"file": '(?i)\\A[^\\n]*\\.odgt|"[gd]tboxes"'},
        {"file": '(?i)\\A[^\\n]*\\.odgt|"[gd]tboxes"'},
    ),
    "csv": (
        "apframe.formats.csv_table:Csv()",
        True,
        {"file": "\\A[^\\n]*\\n\\s*[^\\[{\\s]"},
        {"file": "\\A[^\\n]*\\n\\s*[^\\[{\\s]"},
    ),
    "dota": ("apframe.formats.dota:Dota()", True, {"folder": "(?im)\\.txt$"}, {"folder": "(?im)\\.txt$"}),
    "hugging_face": (
        "apframe.formats.hugging_face:HuggingFace()",
        True,
        {"file": "\\A[^\\n]*\\.(parquet|arrow|jsonl)\\n", "folder": "(?im)\\.(parquet|arrow|jsonl)$|/$"},
        {"file": "\\A[^\\n]*\\.(parquet|arrow|jsonl)\\n", "folder": "(?im)\\.(parquet|arrow|jsonl)$|/$"},
    ),
    "kitti": ("apframe.formats.kitti:Kitti()", True, {"folder": "(?im)\\.txt$"}, {"folder": "(?im)\\.txt$"}),
    "label_maps": (
        "apframe.formats.label_maps:LabelMaps()",
        False,
        {"folder": "(?im)\\.png$|/$"},
        {"folder": "(?im)\\.png$|/$"},
    ),
    "luna16": ("apframe.formats.luna16:Luna16()", False, {"folder": "(?m)^annotations\\.csv$"}, {"file": "seriesuid"}),
    "lvis": ("apframe.formats.lvis:Lvis()", True, {"file": "(?!)"}, {"file": "(?!)"}),
    "nuscenes": ("apframe.formats.nuscenes.format:NuScenes()", False, {"folder": "(?m)\\.json$"}, {"file": '"results"'}),
    "open_images": (
        "apframe.formats.open_images.format:OpenImages()",
        True,
        {"folder": "(?im)\\.csv(\\.gz)?$", "file": "(?i)\\A[^\\n]*\\.csv(\\.gz)?\\n"},
        {"file": "(?i)\\A[^\\n]*\\.csv(\\.gz)?\\n"},
    ),
    "parquet": (
        "apframe.formats.tables:Parquet()",
        True,
        {"folder": "(?m)^(images|categories|annotations)\\.parquet$"},
        {"file": "\\A[^\\n]*\\.parquet\\n", "folder": "(?m)^detections\\.parquet$"},
    ),
    "scalabel": ("apframe.formats.scalabel:Scalabel()", False, {"file": '"labels"'}, {"file": '"labels"'}),
    "thumos14": (
        "apframe.formats.thumos14:Thumos14()",
        False,
        {"folder": "(?im)_(test|val)\\.txt$"},
        {"file": "\\A[^\\n]*\\n\\s*[^\\[{\\s]"},
    ),
    "visdrone": ("apframe.formats.visdrone:VisDrone()", False, {"folder": "(?im)\\.txt$"}, {"folder": "(?im)\\.txt$"}),
    "voc": (
        "apframe.formats.voc.format:Voc()",
        True,
        {"folder": "(?im)^Annotations/$|\\.xml$", "file": "(?i)\\A[^\\n]*\\.txt\\n"},
        {"folder": "(?im)\\.txt$"},
    ),
    "wider_face": (
        "apframe.formats.wider_face:WiderFace()",
        False,
        {"folder": "(?im)^wider_face_.*\\.mat$", "file": "(?i)\\A[^\\n]*\\.txt\\n"},
        {"folder": "(?im)\\.txt$|/$"},
    ),
    "yolo": (
        "apframe.formats.yolo.format:Yolo()",
        True,
        {"folder": "(?im)\\.(ya?ml|data)$", "file": "(?i)\\A[^\\n]*\\.(ya?ml|data)\\n"},
        {"folder": "(?im)\\.txt$|^labels/$"},
    ),
    "cvat": (
        "apframe.formats.labelling.cvat.format:Cvat()",
        True,
        {"file": "<annotations", "folder": "(?im)\\.xml$|/$"},
        {"file": "<annotations", "folder": "(?im)\\.xml$|/$"},
    ),
    "label_studio": (
        "apframe.formats.labelling.label_studio.format:LabelStudio()",
        True,
        {"file": '\\A[^\\n]*\\n\\s*\\[(?s:.*)"annotations"'},
        {"file": '\\A[^\\n]*\\n\\s*\\[(?s:.*)"predictions"'},
    ),
    "labelbox": ("apframe.formats.labelling.labelbox:Labelbox()", False, {"file": '"data_row"|"Labeled Data"'}, {}),
    "labelme": (
        "apframe.formats.labelling.labelme:Labelme()",
        False,
        {"folder": "(?im)\\.json$", "file": '"shapes"'},
        {"folder": "(?im)\\.json$", "file": '"shapes"'},
    ),
    "supervisely": ("apframe.formats.labelling.supervisely:Supervisely()", False, {"folder": "(?m)/$"}, {"folder": "(?m)/$"}),
}

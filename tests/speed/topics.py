"""What `make bench` measures: detection, masks, keypoints, LVIS, VOC, slices, comparisons, retrieval, shards and more."""

from __future__ import annotations

from dataclasses import replace

from . import (
    compare_worker,
    driving_worker,
    errors_worker,
    fields_worker,
    interfaces_worker,
    lvis_worker,
    page_worker,
    per_batch_worker,
    reading_worker,
    retrieval_worker,
    sharding_worker,
    shards_worker,
    slices_worker,
    stages_worker,
    threads_worker,
    voc_worker,
    worker,
)
from .report import OURS, Bar, Job, Set, Topic

METRICS = slices_worker.METRICS
KEYPOINT_METRICS = ("AP", "AP50", "AP75", "APm", "APl", "AR", "AR50", "AR75", "ARm", "ARl")
MAKE_5K = "data/generate.py --images 5000 --categories 80 --annotations 35000 --detections 45000 --detections 450000"
MAKE_SECOND = "tests/speed/generate_second.py --detections 45000 --detections 450000"
MAKE_80K = "data/generate.py --images 80000 --categories 365 --annotations 1200000 --detections 5000000 --detections 1060000"
MAKE_LVIS = "tests/speed/generate_federated.py --images 60"
MAKE_QUERIES = "data/generate_retrieval.py --documents 1000 --relevant 20 --queries"
MAKE_SHARDS = "tests/speed/generate_shards.py --categories"
MAKE_MASKS = "tests/speed/generate_shapes.py masks --images 60"
MAKE_KEYPOINTS = "tests/speed/generate_shapes.py keypoints --images 60"

JOBS = {
    "process": Job("two JSON files to the numbers, the whole process from the interpreter's start to its end", ".json"),
    "warm": Job("two JSON files to the numbers in a warm process", ".json", inside=True),
    "loaded": Job("tables or objects already loaded, to complete metrics, in a warm process", ".json", inside=True),
}


def of_boxes(set_: str, limits: tuple[float, float, float]) -> tuple[Bar, ...]:
    """The jobs' limits against the fastest tool."""
    return tuple(Bar(job, set_, limit) for job, limit in zip(JOBS, limits, strict=True))


DETECTION = Topic(
    name="detection",
    worker=worker.__file__,
    tools=worker.TOOLS,
    sets={
        "street": Set("the sample set", ("street/instances", "street/model_a"), sample=True),
        "45k": Set(
            "45,000 detections, 5,000 images, 80 categories, 35,000 annotations",
            ("5k/instances", "5k/detections_45000"),
            MAKE_5K,
        ),
        "450k": Set(
            "450,000 detections, 5,000 images, 80 categories, 35,000 annotations",
            ("5k/instances", "5k/detections_450000"),
            MAKE_5K,
        ),
        "objects365": Set(
            "1,060,000 detections, 80,000 images, 365 categories, 1,200,000 annotations, as Objects365 has",
            ("80k/instances", "80k/detections_1060000"),
            MAKE_80K,
        ),
        "5m": Set(
            "5,000,000 detections, 80,000 images, 365 categories, 1,200,000 annotations",
            ("80k/instances", "80k/detections_5000000"),
            MAKE_80K,
        ),
    },
    jobs=JOBS,
    bars=(
        *of_boxes("45k", (1.6, 0.9, 0.9)),
        *of_boxes("450k", (1.1, 0.8, 0.5)),
        *of_boxes("5m", (0.5, 0.45, 0.35)),
        Bar("warm", "450k", 10.0, base="45k"),
        Bar("loaded", "450k", 10.0, base="45k"),
        Bar("process", "450k", 1.2, quantity="peak memory", peer="hotcoco"),
        Bar("process", "5m", 0.5, quantity="peak memory", peer="hotcoco"),
    ),
    reference="pycocotools",
    numbers=len(METRICS),
    numbers_are="the twelve numbers",
    tolerance=1e-12,
    metrics=METRICS,
)


def of_shapes(set_: str, times: float, limits: tuple[float, float, float], memory: float) -> tuple[Bar, ...]:
    """So many times as fast as pycocotools; limits of the jobs against the fastest tool, and of the peak against hotcoco's."""
    against_pycocotools = [Bar(job, set_, 1 / times, peer="pycocotools") for job in JOBS]
    return (*against_pycocotools, *of_boxes(set_, limits), Bar("process", set_, memory, quantity="peak memory", peer="hotcoco"))


MASKS = replace(
    DETECTION,
    name="masks",
    sets={
        "masks_60": Set(
            "1,200 masks, 60 images, 80 categories, 432 annotations",
            ("masks/instances_60", "masks/results_60"),
            MAKE_MASKS,
            sample=True,
        ),
        "masks": Set(
            "99,954 masks as run lengths, 5,000 images, 80 categories, 36,000 annotations with polygons of 30 points",
            ("masks/instances_5000", "masks/results_5000"),
            f"{MAKE_MASKS} --images 5000",
        ),
    },
    bars=of_shapes("masks", 5, (1.3, 1.1, 1.1), 2),
    iou_type="segm",
)

KEYPOINTS = replace(
    DETECTION,
    name="keypoints",
    sets={
        "persons_60": Set(
            "889 persons found, 60 images, 244 annotations",
            ("keypoints/instances_60", "keypoints/results_60"),
            MAKE_KEYPOINTS,
            sample=True,
        ),
        "persons": Set(
            "40,000 persons found, 2,700 images, 11,000 annotations with 17 keypoints",
            ("keypoints/instances_2700", "keypoints/results_2700"),
            f"{MAKE_KEYPOINTS} --images 2700",
        ),
    },
    bars=of_shapes("persons", 10, (1.6, 1.2, 1.2), 2.5),
    numbers=len(KEYPOINT_METRICS),
    numbers_are="the ten numbers",
    metrics=KEYPOINT_METRICS,
    iou_type="keypoints",
)

LVIS = Topic(
    name="lvis",
    worker=lvis_worker.__file__,
    tools=lvis_worker.TOOLS,
    sets={
        "lvis_60": Set(
            "6,000 detections, 60 images, 1,203 categories, 741 annotations",
            ("lvis/instances_60", "lvis/results_60"),
            MAKE_LVIS,
            sample=True,
        ),
        "lvis": Set(
            "2,000,000 detections, 20,000 images, 1,203 categories, 247,000 annotations, as LVIS has",
            ("lvis/instances_20000", "lvis/results_20000"),
            f"{MAKE_LVIS} --images 20000",
        ),
    },
    jobs={
        "script": replace(JOBS["process"], meaning=JOBS["process"].meaning.replace("process from", "process of a script from")),
        "warm": JOBS["warm"],
        "loaded": JOBS["loaded"],
    },
    bars=(),
    reference="hotcoco",
    numbers=len(lvis_worker.METRICS),
    numbers_are="the thirteen numbers",
    tolerance=1e-12,
)

ONE_CPU = replace(
    DETECTION,
    name="one_cpu",
    sets={name: DETECTION.sets[name] for name in ("street", "45k", "450k")},
    bars=(),
    cpus=1,
)

SLOWER = replace(
    DETECTION,
    name="slower",
    tools=(OURS, "vernier", "faster-coco-eval", "pycocotools"),
    sets=ONE_CPU.sets,
    jobs={name: JOBS[name] for name in ("process", "loaded")},
    bars=(),
)

VOC = Topic(
    name="voc",
    worker=voc_worker.__file__,
    tools=voc_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "45k", "450k")},
    jobs={
        "warm": Job("two JSON files to the average precision of each category, in a warm process", ".json", inside=True),
        "loaded": Job("tables or objects already loaded, to the same, in a warm process", ".json", inside=True),
    },
    bars=(Bar("loaded", "45k", 1 / 20), Bar("loaded", "450k", 1 / 20)),
    reference="loop",
    numbers=2,
    numbers_are="the mean and the weighted sum over all categories",
    tolerance=1e-12,
    unpackaged=("loop",),
)

SLICES = Topic(
    name="slices",
    worker=slices_worker.__file__,
    tools=slices_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "450k")},
    jobs={
        **{
            f"{n} slices": Job(
                f"tables or objects already loaded, to the twelve metrics of each of {n:,} groups of images, in a warm process",
                ".json",
                inside=True,
                answer=f"{n} slices",
            )
            for n in (10, 100, 1000)
        },
        "plain": Job(
            "tables already loaded, to twelve numbers without slices, in a warm process",
            ".json",
            inside=True,
            answer="no slices",
            tools=(OURS,),
        ),
        "object bins": Job(
            "tables already loaded, to the twelve metrics of ten bins of the annotations' occlusion, in a warm process",
            ".json",
            inside=True,
            answer="object bins",
            tools=(OURS,),
        ),
        "stored": Job(
            "an evaluation kept in Parquet files, to the twelve metrics of each of 100 groups of images, in a warm process",
            ".json",
            inside=True,
            answer="100 slices",
            tools=(OURS,),
        ),
        "anew": Job("the same from the two JSON files", ".json", inside=True, answer="100 slices", tools=(OURS,)),
    },
    bars=(
        Bar("100 slices", "450k", 1 / 3),
        Bar("1000 slices", "450k", 4.0, base_job="10 slices"),
        Bar("object bins", "450k", 4.0, base_job="plain"),
        Bar("stored", "450k", 1.0, below=True, base_job="anew"),
    ),
    reference="hotcoco",
    numbers=2 * len(METRICS),
    numbers_are="the twelve means and twelve weighted sums over all slices",
    tolerance=1e-12,
)

COMPARE = Topic(
    name="compare",
    worker=compare_worker.__file__,
    tools=compare_worker.TOOLS,
    sets={
        "street": Set("the sample set", ("street/instances", "street/model_a", "street/model_b"), sample=True),
        **{
            name: replace(
                DETECTION.sets[name],
                meaning=f"two models; {DETECTION.sets[name].meaning}",
                files=(*DETECTION.sets[name].files, second),
                made_by=f"{MAKE_5K} && {MAKE_SECOND}",
            )
            for name, second in (("45k", "5k/second_45000"), ("450k", "5k/second_450000"))
        },
    },
    jobs={
        "twelve": Job(
            "the differences of the twelve numbers, all and of every category",
            ".json",
            inside=True,
            answer="twelve",
            tools=(OURS,),
        ),
        "resampled": Job(
            f"the differences of the twelve numbers, {compare_worker.N_RESAMPLES:,} resamples",
            ".json",
            inside=True,
            answer="resampled",
        ),
        "three": Job(
            "AP, AP50 and AP75 of one model with intervals, all and of every category",
            ".json",
            inside=True,
            answer="three",
            tools=(OURS,),
        ),
        "interval": Job(
            "the twelve numbers of one model with intervals", ".json", inside=True, answer="one model", tools=(OURS,)
        ),
        "100 slices": Job("the same of each of 100 groups of images", ".json", inside=True, answer="100 slices", tools=(OURS,)),
        "without": Job("the same without intervals", ".json", inside=True, answer="100 slices", tools=(OURS,)),
        "10 objects": Job("the twelve of 10 ranges of area with intervals", ".json", True, answer="10", tools=(OURS,)),
        "evaluation": Job("the twelve numbers of one model without intervals", ".json", inside=True, answer="one model"),
    },
    bars=(
        Bar("resampled", "450k", 1 / 4, peer="hotcoco"),
        Bar("three", "450k", 9.0, base_job="evaluation"),
        Bar("10 objects", "450k", 10.0, base_job="evaluation"),
        Bar("100 slices", "450k", 1.5, base_job="without"),
        *(Bar(job, "450k", 1.5, quantity="peak memory", base_job="evaluation") for job in ("twelve", "three", "100 slices")),
    ),
    reference="hotcoco",
    numbers=2,
    numbers_are="the mean and the weighted sum of all estimates or differences",
    tolerance=1e-9,
)

ERRORS = Topic(
    name="errors",
    worker=errors_worker.__file__,
    tools=errors_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "45k", "450k")},
    jobs={
        "errors": Job("the kind of every error, and what each costs (TIDE)", ".json", inside=True, answer="errors"),
        **{
            name: Job(what, ".json", inside=True, answer=name, tools=(OURS,))
            for name, what in (
                ("confusion", "the confusion matrix"),
                ("calibration", "the calibration errors"),
                ("thresholds", "precision, recall and F1 at every score"),
            )
        },
        "evaluation": Job("the twelve numbers", ".json", inside=True, answer="the twelve numbers"),
    },
    bars=(
        Bar("errors", "450k", 1.0, peer="hotcoco"),
        Bar("errors", "450k", 3.0, base_job="evaluation"),
        Bar("errors", "450k", 2.0, quantity="peak memory", base_job="evaluation"),
        *(Bar(job, "450k", 1.0, base_job="evaluation") for job in ("confusion", "calibration", "thresholds")),
    ),
    reference="hotcoco",
    numbers=2,
    numbers_are="the mean and the weighted sum of the numbers that have the same definition in both tools",
    tolerance=1e-9,
)

RETRIEVAL = Topic(
    name="retrieval",
    worker=retrieval_worker.__file__,
    tools=retrieval_worker.TOOLS,
    sets={
        "search": Set(
            "the sample set; it has tied scores, which ranx leaves in another order than trec_eval",
            ("search/qrels", "search/run_lexical"),
            tools=tuple(tool for tool in retrieval_worker.TOOLS if tool != "ranx"),
            sample=True,
        ),
        "5m": Set("5,000 queries × 1,000 documents, 20 relevant each", ("5000q/qrels", "5000q/run"), f"{MAKE_QUERIES} 5000"),
        "20m": Set(
            "20,000 queries × 1,000 documents, 20 relevant each",
            ("20000q/qrels", "20000q/run"),
            f"{MAKE_QUERIES} 20000",
            (OURS,),
        ),
    },
    jobs={
        "text": Job("two TREC files to five measures, their means and each query's values, the whole process", ".txt"),
        "parquet": Job("the same from two Parquet files", ".parquet"),
        "frame": Job(
            "the same from two polars frames, in a process that has so far only imported the tool and read the frames",
            ".parquet",
            inside=True,
        ),
    },
    bars=(
        Bar("text", "5m", 1 / 3),
        Bar("text", "5m", 0.17, peer="pytrec_eval-terrier"),
        Bar("parquet", "5m", 1 / 4),
        Bar("frame", "5m", 1 / 4),
        *(Bar(job, "5m", 1.0, below=True, quantity="peak memory") for job in ("text", "parquet", "frame")),
        Bar("text", "20m", 4.5, base="5m"),
        Bar("frame", "20m", 4.5, base="5m"),
    ),
    reference="pytrec_eval-terrier",
    numbers=2 * len(retrieval_worker.MEASURES),
    numbers_are="the five means and five weighted sums over all queries",
    tolerance=1e-6,
    compiled=("ranx",),
)

INTERFACES = Topic(
    name="interfaces",
    worker=interfaces_worker.__file__,
    tools=interfaces_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "45k", "450k")},
    jobs={
        "plain": Job("two JSON files to twelve numbers by apframe.evaluate, in a warm process", ".json", True, tools=(OURS,)),
        "drop-in": Job("the same by the lines of a script for pycocotools, in a warm process", ".json", inside=True),
        "plain loaded": Job("tables already loaded, to twelve numbers by apframe.evaluate", ".json", True, tools=(OURS,)),
        "streaming": Job(
            "the same by an Evaluator that gets the tables of 16 images at a time, in its second epoch",
            ".json",
            inside=True,
            tools=(OURS,),
        ),
    },
    bars=(
        *(Bar("drop-in", set_, 1.15, base_job="plain") for set_ in ("45k", "450k")),
        *(Bar("streaming", set_, 1.15, base_job="plain loaded") for set_ in ("45k", "450k")),
        Bar("drop-in", "450k", 0.1, peer="pycocotools"),
    ),
    reference="pycocotools",
    numbers=len(METRICS),
    numbers_are="the twelve numbers",
    tolerance=1e-12,
)

BATCHES = Topic(
    name="batches",
    worker=per_batch_worker.__file__,
    tools=per_batch_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "450k")},
    jobs={
        f"{n} images": Job(
            f"the first 300 images by the loop of DETR's evaluator, {n} at a time, in a warm process", ".json", True
        )
        for n in (2, 8, 32)
    },
    bars=(Bar("2 images", "450k", 0.7, quantity="CPU time"), Bar("8 images", "450k", 0.7, quantity="CPU time")),
    reference="pycocotools",
    numbers=len(METRICS),
    numbers_are="the twelve numbers",
    tolerance=0,
)


def batches_of(shapes: Topic, set_: str) -> Topic:
    """The same of another shape."""
    return replace(
        BATCHES,
        name=f"{shapes.name}_batches",
        sets=shapes.sets,
        bars=tuple(replace(bar, set=set_) for bar in BATCHES.bars),
        numbers=shapes.numbers,
        numbers_are=shapes.numbers_are,
        iou_type=shapes.iou_type,
    )


THREADS = Topic(
    name="threads",
    worker=threads_worker.__file__,
    tools=threads_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "450k", "5m")},
    jobs={job: Job(meaning, ".json", inside=True) for job, meaning in threads_worker.JOBS.items()},
    bars=(
        Bar("all cores", "450k", 1 / 1.5, base_job="one core"),
        Bar("all cores", "5m", 1 / 1.7, base_job="one core"),
        Bar("at once", "450k", 1 / 1.5, base_job="one after the other"),
    ),
    reference=OURS,
    numbers=len(METRICS),
    numbers_are="the twelve numbers",
    tolerance=0,
)

STAGES = Topic(
    name="stages",
    worker=stages_worker.__file__,
    tools=stages_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "45k", "450k", "5m")},
    jobs={stage: Job(meaning, ".json", inside=True) for stage, meaning in stages_worker.STAGES.items()},
    bars=(),
    reference=OURS,
    numbers=4,
    numbers_are="the numbers of images, categories, annotations and detections",
    tolerance=0,
)


def stages_of(shapes: Topic) -> Topic:
    """The same of another shape."""
    return replace(STAGES, name=f"{shapes.name}_stages", sets=shapes.sets, iou_type=shapes.iou_type)


READING = Topic(
    name="reading",
    worker=reading_worker.__file__,
    tools=(OURS,),
    sets={
        "street": Set("the sample set", ("street/instances.json", "street/model_a.json"), sample=True),
        "450k": replace(DETECTION.sets["450k"], files=("5k/instances.json", "5k/detections_450000.json")),
        "voc": Set(
            "5,000 VOC XML files with 35,000 objects, 250,000 result lines in 80 files",
            ("voc/truth", "voc/results"),
            "tests/speed/generate_voc.py --images 5000",
        ),
    },
    jobs={
        "read": Job("files or folders to a data set and detections, in a warm process", "", inside=True),
        "check": Job("the same to the findings of apframe.check, in a warm process", "", inside=True),
    },
    bars=(Bar("check", "450k", 1.0, below=True, quantity="seconds"), Bar("read", "voc", 2.0, quantity="seconds")),
    reference=OURS,
    numbers=4,
    numbers_are="the numbers of images, categories, annotations and detections",
    tolerance=0,
)


def shards_of(n_images: int, n_annotations: int, n_detections: int, n: int) -> str:
    """The command that makes such a set."""
    sizes = {"images": n_images, "annotations": n_annotations, "detections": n_detections, "n": n}
    return " ".join([MAKE_SHARDS, "365", *(f"--{name} {size}" for name, size in sizes.items())])


SHARDS = Topic(
    name="shards",
    worker=shards_worker.__file__,
    tools=shards_worker.TOOLS,
    sets={
        "tiny": Set(
            "3,000 detections, 300 images, 365 categories, 2,400 annotations, 3 shards",
            ("shards_tiny/shards",),
            shards_of(300, 2400, 3000, 3),
            sample=True,
            rows=3000,
        ),
        "500k": Set(
            "500,000 detections, 8,000 images, 365 categories, 120,000 annotations, 2 shards",
            ("shards_500k/shards",),
            shards_of(8000, 120_000, 500_000, 2),
            jobs=("in memory", "all at once", "shards", "1 GB"),
            rows=500_000,
        ),
        "5m": Set(
            "5,000,000 detections, 80,000 images, 365 categories, 1,200,000 annotations, 8 shards",
            ("shards_5m/shards",),
            shards_of(80_000, 1_200_000, 5_000_000, 8),
            rows=5_000_000,
        ),
        "50m": Set(
            "50,000,000 detections, 800,000 images, 365 categories, 12,000,000 annotations, 64 shards",
            ("shards_50m/shards",),
            shards_of(800_000, 12_000_000, 50_000_000, 64),
            jobs=("shards", "1 GB"),
            rows=50_000_000,
        ),
    },
    jobs={job: Job(meaning, ".json", inside=True) for job, meaning in shards_worker.JOBS.items()},
    bars=(
        Bar("shards", "50m", 13.0, base="5m", base_job="in memory"),  # 1.3 for each of ten times as many
        Bar("shards", "50m", 4000, quantity="MB"),
        Bar("1 GB", "50m", 4000, quantity="MB"),
        Bar("ray", "5m", 1.25, base_job="threads=2"),
    ),
    reference=OURS,
    numbers=len(METRICS),
    numbers_are="the twelve numbers",
    tolerance=1e-12,
    per_row=("5m", "in memory"),
)

SHARDING = Topic(
    name="sharding",
    worker=sharding_worker.__file__,
    tools=sharding_worker.TOOLS,
    sets={name: DETECTION.sets[name] for name in ("street", "5m")},
    jobs={job: Job(meaning, ".json", inside=True) for job, meaning in sharding_worker.JOBS.items()},
    bars=(Bar("shard", "5m", 2.0, base_job="read"), Bar("shard", "5m", 1000, quantity="MB")),
    reference=OURS,
    numbers=3,
    numbers_are="the numbers of images, annotations and detections",
    tolerance=0,
)

PAGE = Topic(
    name="page",
    worker=page_worker.__file__,
    tools=page_worker.TOOLS,
    sets={name: COMPARE.sets[name] for name in ("street", "450k")},
    jobs={job: Job(meaning, ".json", inside=True, answer=job) for job, meaning in page_worker.JOBS.items()},
    bars=(Bar("page", "450k", 6.0, quantity="seconds"),),
    reference=OURS,
    numbers=1,
    numbers_are="the bytes of the page",
    tolerance=0,
)


def driving(kind: str, images: int, meaning: str, jobs: tuple[str, ...], sample: bool = False) -> Set:
    """Tables of cuboids."""
    return Set(
        meaning,
        tuple(f"driving/{kind}_{table}_{images}" for table in ("images", "annotations", "detections")),
        f"tests/speed/generate_driving.py {kind} --images {images}",
        jobs=jobs,
        sample=sample,
    )


DRIVING = Topic(
    name="driving",
    worker=driving_worker.__file__,
    tools=driving_worker.TOOLS,
    sets={
        "nuscenes_60": driving("nuscenes", 60, "60 samples, as below", ("nuscenes",), sample=True),
        "kitti_60": driving("kitti", 60, "60 images, as below", ("kitti",), sample=True),
        "waymo_60": driving("waymo", 60, "60 frames, as below", ("waymo", "coco"), sample=True),
        "nuscenes": driving(
            "nuscenes", 6019, "6,019 samples, 10 classes, 200,000 annotations, 1,500,000 detections", ("nuscenes",)
        ),
        "kitti": driving("kitti", 3769, "3,769 images, 30,000 annotations, 58,000 detections", ("kitti",)),
        "waymo": driving("waymo", 40_000, "40,000 frames, 600,000 annotations, 1,000,000 detections", ("waymo", "coco")),
    },
    jobs={
        "nuscenes": Job(
            "tables or objects already loaded, to AP, the five errors and NDS",
            ".parquet",
            True,
            answer="NDS",
            tools=(OURS, driving_worker.NUSCENES),
        ),
        "kitti": Job(
            "the same to AP of three classes, three levels and three similarities, and AOS",
            ".parquet",
            True,
            answer="R40",
            tools=(OURS, driving_worker.KITTI),
        ),
        "waymo": Job("the same to AP and APH of two levels over 101 cut-offs", ".parquet", True, answer="APH", tools=(OURS,)),
        "coco": Job("the same to COCO's numbers of the boxes in the image", ".parquet", True, answer="COCO", tools=(OURS,)),
    },
    bars=(
        Bar("nuscenes", "nuscenes", 1 / 10, peer=driving_worker.NUSCENES),
        Bar("kitti", "kitti", 1 / 5, peer=driving_worker.KITTI),
        Bar("waymo", "waymo", 10.0, base_job="coco"),
    ),
    reference=OURS,
    numbers=2,
    numbers_are="the mean and the weighted sum of the numbers",
    tolerance=1e-6,
    unpackaged=driving_worker.TOOLS[1:],
)


def field(kind: str, images: int, meaning: str, sample: bool = False) -> Set:
    """Tables of faces or actions, or the files of segments."""
    tables = ("truth", "found") if kind == "segments" else ("images", "annotations", "detections")
    files = tuple(f"fields/{kind}_{table}_{images}" for table in tables)
    return Set(meaning, files, f"tests/speed/generate_fields.py {kind} --images {images}", jobs=(kind,), sample=sample)


FIELDS = Topic(
    name="fields",
    worker=fields_worker.__file__,
    tools=fields_worker.TOOLS,
    sets={
        **{f"{kind}_60": field(kind, 60, "60 images, as below", sample=True) for kind in ("faces", "actions", "segments")},
        "faces": field("faces", 3226, "3,226 images, 39,697 faces, 1,000,000 detections"),
        "actions": field("actions", 60_000, "60,000 frames, 60 actions, 240,000 annotations, 2,000,000 detections"),
        "segments": field("segments", 5000, "5,000 images of 640 × 480 pixels, 133 categories, 14 segments in each"),
    },
    jobs={
        "faces": Job("tables already loaded, to AP of WIDER FACE's three sets", ".parquet", inside=True, answer="faces"),
        "actions": Job("tables already loaded, to AVA's frame mAP", ".parquet", inside=True, answer="actions"),
        "segments": Job("two JSON files and their PNGs to PQ, SQ and RQ", ".json", inside=True, answer="segments"),
    },
    bars=(
        Bar("faces", "faces", 1 / 20),
        Bar("actions", "actions", 1 / 20),
        Bar("segments", "segments", 1 / 2),
        Bar("segments", "segments", 1000, quantity="MB"),
    ),
    reference=OURS,
    numbers=2,
    numbers_are="the mean and the weighted sum of the numbers",
    tolerance=1e-9,
    unpackaged=("loop",),
)

ALL = (DETECTION, MASKS, KEYPOINTS, LVIS, ONE_CPU, VOC, SLICES, COMPARE, ERRORS, RETRIEVAL, INTERFACES, BATCHES)
OF_SHAPES = (batches_of(MASKS, "masks"), batches_of(KEYPOINTS, "persons"), stages_of(MASKS), stages_of(KEYPOINTS))
TOPICS = {
    topic.name: topic for topic in (*ALL, THREADS, STAGES, *OF_SHAPES, READING, SHARDS, SHARDING, PAGE, DRIVING, FIELDS, SLOWER)
}

"""The tests mirror the package: apframe/a/b.py is tested in tests/a/test_b.py, or where this list says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "apframe"
# a test, and the modules that it tests besides the one of its own name
TESTED_IN = {
    "report/charts/test_heat_map.py": "show/colours show/confusion_marks",
    "report/charts/test_intervals.py": "show/interval_marks",
    "adapters/test_torchvision.py": "adapters/arrays",
    "formats/test_options.py": "formats/input_types",
    "benchmarks/aerial/visdrone/test_protocol.py": "protocols/combinations protocols/twins",
    "benchmarks/driving/kitti/test_protocol.py": "benchmarks/driving/orientation matching/by_annotation metrics/changes "
    "metrics/cutoff_counts protocols/rules/filters",
    "benchmarks/driving/nuscenes/test_format.py": "formats/json_fields",
    "benchmarks/driving/nuscenes/test_protocol.py": "benchmarks/driving/box_errors benchmarks/driving/level_cuts "
    "benchmarks/driving/measured_errors benchmarks/driving/recall_levels",
    "benchmarks/driving/waymo/test_protocol.py": "matching/largest_sum",
    "benchmarks/medical/luna16/test_protocol.py": "matching/shared protocols/rules/limits tables/shapes/spheres",
    "benchmarks/people/citypersons/test_protocol.py": "metrics/errors_per_image",
    "benchmarks/people/crowdhuman/test_protocol.py": "evaluation/diagnose/jaccard_counts",
    "benchmarks/people/crowdpose/test_protocol.py": "protocols/parts",
    "benchmarks/people/wider_face/test_protocol.py": "metrics/all_rows",
    "benchmarks/pixels/panoptic/test_protocol.py": "metrics/sums_of_matches protocols/refused",
    "benchmarks/relations/visual_genome/test_protocol.py": "tables/shapes/relations",
    "checks/test_findings.py": "checks/boxes checks/masks checks/overlaps checks/references checks/results checks/shapes",
    "checks/test_statistics.py": "cli/stats",
    "cli/test_command.py": "__main__ cli/check cli/files cli/labels cli/options",
    "cli/test_compare.py": "cli/models",
    "cli/test_evaluate.py": "cli/sliced",
    "compare/test_comparison.py": "compare/standard_errors",
    "docs/test_dictionary.py": "tables/dictionary tables/metric_columns tables/results tables/tables",
    "evaluation/comparison/test_influences.py": "evaluation/comparison/image_influence evaluation/comparison/slice_rows "
    "evaluation/comparison/study",
    "evaluation/comparison/test_resampled.py": "protocols/headline_values",
    "evaluation/diagnose/test_at_thresholds.py": "evaluation/diagnose/chosen_scores evaluation/diagnose/cut_counts",
    "evaluation/diagnose/test_calibration.py": "evaluation/diagnose/calibration_intervals evaluation/diagnose/score_bins",
    "evaluation/diagnose/test_confusion.py": "evaluation/diagnose/cuts evaluation/diagnose/mistaken",
    "evaluation/diagnose/test_errors.py": "evaluation/diagnose/find_errors evaluation/diagnose/fixes "
    "evaluation/diagnose/outcomes",
    "evaluation/diagnose/test_implausible.py": "evaluation/diagnose/shifted_ids",
    "evaluation/diagnose/test_label_errors.py": "evaluation/diagnose/suspects",
    "evaluation/diagnose/test_tasks.py": "evaluation/diagnose/missing_objects",
    "evaluation/slices/test_slices.py": "evaluation/slices/by evaluation/slices/measure matching/competitors matching/regroup "
    "metrics/remainder",
    "evaluation/test_evaluation.py": "evaluation/diagnose/per_image evaluation/evaluate evaluation/in_memory evaluation/links "
    "evaluation/source evaluation/summary evaluation/tables",
    "evaluation/test_evaluator.py": "evaluation/repeated",
    "evaluation/test_pipeline.py": "matching/outcomes matching/rows protocols/pairing protocols/preparation",
    "evaluation/test_stored.py": "evaluation/restored",
    "formats/labelling/test_cvat.py": "formats/labelling/cvat/format formats/labelling/cvat/row_runs "
    "formats/labelling/cvat/shapes formats/labelling/cvat/tracks",
    "formats/labelling/test_label_studio.py": "formats/labelling/label_studio/format formats/labelling/label_studio/regions",
    "formats/labelling/test_labelme.py": "formats/labelling/drawn",
    "formats/test_boxes.py": "formats/edges",
    "formats/test_catalogue.py": "formats/format formats/joined formats/listed formats/losses formats/reading formats/writing",
    "formats/test_coco.py": "formats/coco/attributes formats/coco/format formats/coco/results formats/coco/rows "
    "formats/coco/scan formats/coco/truth formats/coco/writing",
    "formats/test_csv_table.py": "formats/object_rows",
    "formats/test_hugging_face.py": "formats/nested_rows",
    "formats/test_files.py": "formats/hidden_folders formats/replacing",
    "formats/test_ids.py": "formats/by_name formats/names",
    "formats/test_in_memory.py": "formats/outputs",
    "formats/test_decoded.py": "formats/coco/decoded",
    "formats/test_json_types.py": "formats/coco/json_types",
    "formats/test_open_images.py": "formats/open_images/class_hierarchy formats/open_images/format formats/open_images/tables",
    "formats/test_shapes.py": "formats/outlines",
    "formats/test_voc.py": "formats/voc/format formats/voc/xml_file formats/xml_text",
    "formats/test_yolo.py": "formats/image_sizes formats/yolo/config formats/yolo/format formats/yolo/lines",
    "formats/test_ultralytics_ndjson.py": "formats/yolo/ndjson",
    "formats/test_yolo_labels.py": "formats/yolo/labels",
    "lists/test_list_curves.py": "lists/ranked_lists",
    "matching/test_by_score.py": "matching/assignments matching/reached",
    "matching/test_verdicts.py": "matching/judge matching/matchers",
    "metrics/test_definitions.py": "lists/list_average_precision metrics/points metrics/score_cutoffs",
    "metrics/test_influence.py": "metrics/rankings",
    "metrics/test_own_metrics.py": "metrics/metric",
    "metrics/test_weights.py": "metrics/average_precision metrics/cells metrics/list_rows",
    "parity/test_coco.py": "evaluation/curves metrics/coco_arrays metrics/running_counts protocols/coco "
    "protocols/metrics_table",
    "plugins/test_plugins.py": "checks/plugins plugins",
    "properties/test_operating_points.py": "matching/operating_points",
    "protocols/test_open_images_masks.py": "similarity/mask_or_box_iou",
    "protocols/test_protocol_values.py": "protocols/given protocols/inputs protocols/levels protocols/listed protocols/places "
    "protocols/protocol protocols/published protocols/ranges protocols/rules/crowds protocols/rules/ignored "
    "protocols/rules/means protocols/rules/rule protocols/rules/standard protocols/unknown protocols/words show/console "
    "show/html",
    "pycocotools/test_coco.py": "pycocotools/drawing pycocotools/mask_sizes pycocotools/source pycocotools/tables",
    "pycocotools/test_cocoeval.py": "pycocotools/cells pycocotools/dictionaries pycocotools/headlines pycocotools/one_cell "
    "pycocotools/params",
    "report/sections/test_card_gallery.py": "show/cards",
    "report/sections/test_next_steps.py": "evaluation/diagnose/gains",
    "report/sections/test_search.py": "report/searched",
    "report/test_page.py": "report/section",
    "retrieval/test_evaluation.py": "lists/kinds lists/measures lists/relevance matching/by_key retrieval/one_run show/runs",
    "retrieval/test_trec.py": "retrieval/trec_lines",
    "runs/test_run_sets.py": "runs/folders runs/stored_run runs/tables",
    "scale/test_evaluate_shards.py": "scale/budget scale/objects scale/one_shard scale/source scale/temporary scale/together "
    "scale/verdict_files",
    "scale/test_write_shards.py": "formats/coco/cuts formats/coco/in_parts formats/coco/parsed_pieces formats/coco/pieces "
    "formats/columns_of_parts formats/in_parts scale/sharded_rows scale/sources scale/take_detections",
    "similarity/test_boundary_iou.py": "tables/shapes/boundaries",
    "similarity/test_box_iou.py": "similarity/inclusive_box_iou similarity/intersection_over_detection",
    "similarity/test_mask_iou.py": "tables/shapes/intersections tables/shapes/limits tables/shapes/mask_columns "
    "tables/shapes/polygons tables/shapes/run_lengths tables/shapes/runs",
    "store/test_parquet.py": "formats/stored_sets",
    "store/test_sql.py": "store/results",
    "store/test_stored_versions.py": "protocols/stored_before",
    "tables/shapes/test_bad_shapes.py": "tables/shapes/boxes tables/shapes/corners tables/shapes/intervals "
    "tables/shapes/keypoints tables/shapes/masks tables/shapes/shape",
    "tables/shapes/test_label_maps.py": "similarity/overlaps tables/shapes/segments",
    "test_bad_input.py": "protocols/application protocols/rules/known rows tables/canonical tables/ids",
    "test_odd_names.py": "columns",
    "show/test_terminal.py": "show/tables",
    "tables/test_sources.py": "tables/files",
    "test_paths.py": "folders",
    "test_static_table.py": "public_names static_names",
    "training/test_losses.py": "training/torch_losses",
    "tables/test_conditions.py": "tables/later tables/lazy_table",
}
IN_THEIR_DOCTESTS = ["metrics/segments", "registry", "wording"]
OF_MANY_MODULES = (
    "conformance",
    "docs",
    "fuzz",
    "parity",
    "pins",
    "plugins",
    "properties",
    "speed",
)  # folders that mirror nothing
# of one package as a whole, or of the data that all of it takes
OF_A_PACKAGE = {
    "formats/test_crashes.py", "formats/test_refused_rows.py", "formats/test_unwritable.py", "metrics/test_branches.py",
    "protocols/test_coco_keypoints.py", "protocols/test_coco_masks.py", "benchmarks/driving/test_driving_kits.py",
    "benchmarks/test_printed_tables.py",
    "protocols/test_optimal.py", "protocols/test_reads.py", "pycocotools/test_surface.py", "pycocotools/test_training.py",
    "report/test_browser.py", "report/test_search_pages.py",
    "scale/test_bad_shards.py", "scale/test_resuming.py",
}  # fmt: skip

MODULES = {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
LISTED = [module for modules in TESTED_IN.values() for module in modules.split()]


def own_test(module: str) -> str:
    return (Path(module).parent / f"test_{Path(module).name}.py").as_posix()


def is_of_benchmark(path: str) -> bool:
    """Whether it is in the folder of a benchmark, whose modules are tested together in the same folder of the tests."""
    return re.match(r"benchmarks/\w+/\w+/", path) is not None


def test_every_module_is_tested_somewhere() -> None:
    of_benchmarks = {module for module in MODULES if is_of_benchmark(module)}
    assert all([*(TESTS / module).parent.glob("test_*.py")] for module in of_benchmarks)
    without = {module for module in MODULES - of_benchmarks if not (TESTS / own_test(module)).exists()}
    listed = {*LISTED, *IN_THEIR_DOCTESTS}
    assert without - listed == set(), "say in TESTED_IN where these are tested, or give them tests of their own"
    assert listed - without == set(), "these are gone, or have tests of their own: take them from the list"
    assert len(listed) == len(LISTED) + len(IN_THEIR_DOCTESTS)


@pytest.mark.parametrize("module", IN_THEIR_DOCTESTS)
def test_doctests_are_there(module: str) -> None:
    assert ">>> " in (PACKAGE / f"{module}.py").read_text()


def test_every_test_says_what_it_tests() -> None:
    found = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    listed = TESTED_IN.keys() | OF_A_PACKAGE
    assert listed <= found
    mirrored = {own_test(module) for module in MODULES}
    inside = {test for test in found if "/" in test and not test.startswith(OF_MANY_MODULES)}
    inside = {test for test in inside if not is_of_benchmark(test)}
    assert inside - mirrored - TESTED_IN.keys() == OF_A_PACKAGE


@pytest.mark.parametrize("package", ["evaluation/diagnose", "evaluation/comparison", "evaluation/gallery"])
def test_maps_of_packages_name_every_module(package: str) -> None:
    """The docstring of a package with many modules says where to begin."""
    words = set(re.findall(r"\w+", (PACKAGE / package / "__init__.py").read_text()))
    names = {Path(module).name for module in MODULES if Path(module).parent.as_posix() == package}
    assert names - words == set()

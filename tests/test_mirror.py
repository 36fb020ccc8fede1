"""The tests mirror the package: apframe/a/b.py is tested in tests/a/test_b.py, or where this list says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.map import APART, repeated

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "apframe"
# a test, and the modules that it tests besides the one of its own name
TESTED_IN = {
    "adapters/test_torchvision.py": "adapters/arrays",
    "benchmarks/aerial/visdrone/test_protocol.py": "protocols/combinations protocols/twins",
    "benchmarks/driving/kitti/test_protocol.py": "benchmarks/driving/orientation matching/by_annotation metrics/count_changes "
    "metrics/cutoff_counts protocols/rules/filters",
    "benchmarks/driving/nuscenes/test_format.py": "formats/json_fields",
    "benchmarks/driving/nuscenes/test_protocol.py": "benchmarks/driving/box_errors benchmarks/driving/level_cuts "
    "benchmarks/driving/measured_errors benchmarks/driving/recall_levels",
    "benchmarks/driving/waymo/test_protocol.py": "matching/largest_sum",
    "benchmarks/medical/luna16/test_protocol.py": "matching/shared protocols/rules/limits tables/shapes/spheres",
    "benchmarks/people/citypersons/test_protocol.py": "metrics/errors_per_image",
    "benchmarks/people/crowdhuman/test_protocol.py": "evaluation/diagnose/jaccard_counts",
    "benchmarks/people/crowdpose/test_protocol.py": "protocols/summary_parts",
    "benchmarks/people/wider_face/test_protocol.py": "metrics/all_rows",
    "benchmarks/pixels/panoptic/test_protocol.py": "metrics/sums_of_matches protocols/refused",
    "benchmarks/relations/visual_genome/test_protocol.py": "tables/shapes/relations",
    "checks/test_findings.py": "checks/boxes checks/masks checks/overlap_checks checks/references checks/result_checks "
    "checks/shapes",
    "checks/test_statistics.py": "cli/stats",
    "cli/test_command.py": "__main__ cli/check cli/command_options cli/file_options cli/run_labels",
    "cli/test_compare.py": "cli/models",
    "cli/test_evaluate.py": "cli/sliced",
    "compare/test_comparison.py": "compare/standard_errors",
    "docs/test_dictionary.py": "tables/dictionary tables/metric_columns tables/result_tables tables/schemas",
    "evaluation/comparison/test_influences.py": "evaluation/comparison/image_influence evaluation/comparison/slice_rows "
    "evaluation/comparison/study",
    "evaluation/comparison/test_resampled.py": "protocols/headline_values",
    "evaluation/diagnose/test_calibration.py": "evaluation/diagnose/calibration_intervals evaluation/diagnose/score_bins",
    "evaluation/diagnose/test_confusion.py": "evaluation/diagnose/category_mistakes evaluation/thresholds/min_scores",
    "evaluation/diagnose/test_errors.py": "evaluation/diagnose/find_errors evaluation/diagnose/fixes "
    "evaluation/diagnose/outcomes",
    "evaluation/diagnose/test_label_errors.py": "evaluation/diagnose/suspects",
    "evaluation/diagnose/test_sanity.py": "evaluation/diagnose/shifted_ids",
    "evaluation/diagnose/test_tasks.py": "evaluation/diagnose/missing_objects",
    "evaluation/slices/test_slices.py": "evaluation/slices/by evaluation/slices/measure matching/competitors matching/regroup "
    "metrics/remainder",
    "evaluation/test_evaluation.py": "evaluation/diagnose/per_image evaluation/evaluate evaluation/in_memory evaluation/links "
    "evaluation/source evaluation/summary evaluation/tables_at_threshold",
    "evaluation/test_evaluator.py": "evaluation/repeated",
    "evaluation/test_pipeline.py": "matching/match_input matching/matches_table protocols/pairing protocols/preparation",
    "evaluation/test_stored.py": "evaluation/restored",
    "evaluation/thresholds/test_cut_evaluation.py": "evaluation/thresholds/chosen_scores evaluation/thresholds/cut_counts",
    "formats/labelling/test_cvat.py": "formats/labelling/cvat/cvat_shapes formats/labelling/cvat/format "
    "formats/labelling/cvat/row_runs formats/labelling/cvat/tracks",
    "formats/labelling/test_label_studio.py": "formats/labelling/label_studio/format formats/labelling/label_studio/regions",
    "formats/labelling/test_labelme.py": "formats/labelling/drawn",
    "formats/test_box_text.py": "formats/edges",
    "formats/test_catalogue.py": "formats/conversion_losses formats/format formats/format_list formats/joined formats/reading "
    "formats/writing",
    "formats/test_coco.py": "formats/coco/deferred_columns formats/coco/format formats/coco/json_rows "
    "formats/coco/json_writing formats/coco/results formats/coco/scan formats/coco/truth",
    "formats/test_csv_table.py": "formats/object_rows",
    "formats/test_decoded.py": "formats/coco/decoded",
    "formats/test_file_ids.py": "formats/by_name formats/image_names",
    "formats/test_files.py": "formats/hidden_folders formats/replacing",
    "formats/test_hugging_face.py": "formats/nested_rows",
    "formats/test_in_memory.py": "formats/outputs",
    "formats/test_json_types.py": "formats/coco/json_types",
    "formats/test_open_images.py": "formats/open_images/class_hierarchy formats/open_images/csv_tables "
    "formats/open_images/format",
    "formats/test_reading_options.py": "formats/input_types",
    "formats/test_shapes.py": "formats/polygon_columns",
    "formats/test_ultralytics_ndjson.py": "formats/yolo/ndjson",
    "formats/test_voc.py": "formats/voc/format formats/voc/xml_file formats/xml_text",
    "formats/test_yolo.py": "formats/image_sizes formats/yolo/config formats/yolo/format formats/yolo/label_lines",
    "formats/test_yolo_labels.py": "formats/yolo/label_files",
    "lists/test_list_curves.py": "lists/ranked_lists",
    "matching/test_by_score.py": "matching/assignments matching/reached",
    "matching/test_verdicts.py": "matching/match matching/matchers",
    "metrics/test_definitions.py": "lists/list_average_precision metrics/points metrics/score_cutoffs",
    "metrics/test_influence.py": "metrics/rankings",
    "metrics/test_own_metrics.py": "metrics/metric",
    "metrics/test_weights.py": "metrics/average_precision metrics/cells metrics/list_rows",
    "parity/test_coco.py": "evaluation/curves metrics/coco_arrays metrics/running_counts protocols/coco "
    "protocols/metrics_table",
    "plugins/test_plugins.py": "checks/plugin_checks plugins",
    "properties/test_operating_points.py": "matching/cutoff_hits",
    "protocols/test_open_images_masks.py": "similarity/mask_or_box_iou",
    "protocols/test_protocol_values.py": "protocols/given protocols/inputs protocols/levels protocols/lookups "
    "protocols/protocol protocols/protocol_list protocols/published protocols/ranges protocols/rules/crowds "
    "protocols/rules/ignored protocols/rules/means protocols/rules/rule protocols/rules/standard protocols/unknown "
    "protocols/words show/console show/html",
    "pycocotools/test_coco.py": "pycocotools/coco_files pycocotools/coco_tables pycocotools/drawing pycocotools/mask_sizes",
    "pycocotools/test_cocoeval.py": "pycocotools/dictionaries pycocotools/eval_images pycocotools/one_cell pycocotools/params "
    "pycocotools/summary_lines",
    "report/charts/test_heat_map.py": "show/colours show/confusion_marks",
    "report/charts/test_interval_chart.py": "show/interval_marks",
    "report/sections/test_card_gallery.py": "show/card_markup",
    "report/sections/test_next_steps.py": "evaluation/diagnose/gains",
    "report/sections/test_search.py": "report/searched",
    "report/test_page.py": "report/section",
    "retrieval/test_evaluation.py": "lists/kinds lists/measures lists/relevance matching/by_key retrieval/one_run "
    "show/run_means",
    "retrieval/test_trec.py": "retrieval/trec_lines",
    "runs/test_run_sets.py": "runs/run_folders runs/stacked_tables runs/stored_run",
    "scale/test_evaluate_shards.py": "scale/budget scale/job scale/shard_objects scale/shard_source scale/sharded_merge "
    "scale/temporary scale/verdict_files",
    "scale/test_write_shards.py": "formats/coco/json_parts formats/coco/parsed_pieces formats/coco/pieces "
    "formats/coco/split_points formats/columns_of_parts formats/result_parts scale/ingest scale/shard_inputs "
    "scale/sharded_rows",
    "show/test_terminal.py": "show/text_tables",
    "similarity/test_boundary_iou.py": "tables/shapes/boundaries",
    "similarity/test_box_iou.py": "similarity/inclusive_box_iou similarity/intersection_over_detection",
    "similarity/test_mask_iou.py": "tables/shapes/intersections tables/shapes/mask_columns tables/shapes/mask_limits "
    "tables/shapes/pixel_runs tables/shapes/polygons tables/shapes/run_lengths",
    "store/test_parquet.py": "formats/stored_sets",
    "store/test_sql.py": "store/queryable",
    "store/test_stored_versions.py": "protocols/stored_before",
    "tables/shapes/test_bad_shapes.py": "tables/shapes/boxes tables/shapes/corners tables/shapes/intervals "
    "tables/shapes/keypoints tables/shapes/masks tables/shapes/shape",
    "tables/shapes/test_label_maps.py": "similarity/label_map_overlaps tables/shapes/segments",
    "tables/test_column_sources.py": "tables/table_files",
    "tables/test_conditions.py": "tables/later tables/lazy_table",
    "test_bad_input.py": "protocols/application protocols/rules/known rows tables/canonical tables/ids",
    "test_odd_names.py": "columns",
    "test_paths.py": "folders",
    "test_exceptions.py": "option_values",
    "test_lazily.py": "former_names",
    "test_static_table.py": "plot public_names static_names",
    "training/test_losses.py": "training/torch_losses",
}
IN_THEIR_DOCTESTS = ["metrics/list_sums", "registry", "wording"]
# of one package as a whole, or of the data that all of it takes
OF_A_PACKAGE = {
    "formats/test_crashes.py", "formats/test_refused_rows.py", "formats/test_unwritable.py", "metrics/test_branches.py",
    "protocols/test_coco_keypoints.py", "protocols/test_coco_masks.py", "benchmarks/driving/test_driving_kits.py",
    "benchmarks/test_printed_tables.py",
    "protocols/test_optimal_matching.py", "protocols/test_reads.py", "pycocotools/test_surface.py",
    "pycocotools/test_training.py", "report/test_browser.py", "report/test_search_pages.py",
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


def test_every_file_and_class_has_a_name_of_its_own(tmp_path: Path) -> None:
    assert repeated(PACKAGE) + repeated(TESTS, APART) == []
    for folder in ("formats", "store"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "coco.py").write_text("class Own: ...")
    assert repeated(tmp_path) == [f"{name}: formats/coco.py, store/coco.py" for name in ("coco.py", "class Own")]


def test_names_of_tests_can_be_read_at_a_glance() -> None:
    names = {name for path in TESTS.rglob("*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}
    assert [name for name in sorted(names) if len(name) > 60] == []


def test_every_test_says_what_it_tests() -> None:
    files = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    listed = TESTED_IN.keys() | OF_A_PACKAGE
    assert listed <= files
    mirrored = {own_test(module) for module in MODULES}
    inside = {test for test in files if "/" in test and not test.startswith(APART)}
    inside = {test for test in inside if not is_of_benchmark(test)}
    assert inside - mirrored - TESTED_IN.keys() == OF_A_PACKAGE


@pytest.mark.parametrize("package", ["evaluation/diagnose", "evaluation/comparison", "evaluation/gallery"])
def test_maps_of_packages_name_every_module(package: str) -> None:
    """The docstring of a package with many modules says where to begin."""
    words = set(re.findall(r"\w+", (PACKAGE / package / "__init__.py").read_text()))
    names = {Path(module).name for module in MODULES if Path(module).parent.as_posix() == package}
    assert names - words == set()

"""Explanations of numbers: most methods of `Evaluation` that give them, and below each the modules that it uses.

outcomes          verdicts at one threshold and area range, and the outcome of each detection and annotation: where most begin
across            pairs of detections with annotations of any category

errors            errors, error_impact: the types of errors (TIDE), and their cost
  error_kinds, find_errors, fixes, rises
gains             the gain from fixing the errors of one slice
label_errors      label_errors: annotations that confident detections contradict
  suspects
tasks             write_tasks, LabelErrors: the images of rows for a labelling tool
  missing_objects
confusion         confusion, confusion_pairs: confusions of categories
  category_mistakes
  confusion_ranges: the same at many scores at once
calibration       calibration, reliability: the calibration of scores
  score_bins, calibration_intervals

error_rates       lrp, miss_rates, froc: one number for all scores
jaccard           jaccard_index: the share of annotations and detections that match, image by image
  jaccard_counts

per_image         images by their errors
sanity            warnings of numbers that are probably wrong
  rare_overlaps, shifted_ids, filtered
"""

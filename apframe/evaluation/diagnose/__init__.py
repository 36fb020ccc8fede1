"""Why a number is what it is. Most methods of `Evaluation` that answer this are here, and below each what it is made of.

outcomes          verdicts at one threshold and area range, and what became of each detection and annotation: where most begin
across            pairs of detections with annotations of any category

errors            errors, error_impact: the kinds of errors (TIDE), and what each costs
  error_kinds, find_errors, fixes, rises
gains             what fixing the errors of one slice would bring
label_errors      label_errors: annotations that confident detections contradict
  suspects
tasks             write_tasks, LabelErrors: the images of rows for a labelling tool
  missing_objects
confusion         confusion, confusion_pairs: which categories are predicted as which others
  category_mistakes
  confusion_ranges: the same at many scores at once
calibration       calibration, reliability: whether scores are calibrated
  score_bins, calibration_intervals

error_rates       lrp, miss_rates, froc: one number for all scores
jaccard           jaccard_index: how much of what is there or detected is matched, image by image
  jaccard_counts

per_image         images by what went wrong in them
sanity            warnings of numbers that can hardly be right
  rare_overlaps, shifted_ids, filtered
"""

"""Score thresholds: counts and rates at every score, the scores that meet a criterion, and evaluations at these scores.

sweep             counts and rates of the detections at and above every score
operating_points  operating_points: the score that meets a criterion
min_scores        one number, a number for each category, or the best by F1, as scores
chosen_scores     a table of thresholds that was chosen on other data
cut_evaluation    at: an evaluation at chosen scores
  cut_counts, cut_intervals
"""

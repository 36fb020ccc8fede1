"""Two and more evaluations of the same ground truth: what differs, and how certain that is.

comparable        whether they can be compared: same rules, images and ground truth

changes           changes: object by object, without resamples
headline_intervals
                  intervals, compare, influence: headline numbers, their differences, and what each image contributes
draws             draws: the values of one number in all resamples
ranks             how sure the order of models is
image_influence   compare(level="image"): the images by their part in a difference

sampling          from options to the tables of these
  study           headline numbers, and how sure they and their differences are
  influences      what each unit contributes to the numbers of each evaluation and slice
  resampled       the numbers of each evaluation and slice under all weights
  slice_rows      the lists that each row of slices is of
  image_weights   what the images weigh: a column, or a mix

The rules of standard errors, resamples, intervals and p are in `apframe.compare`.
"""

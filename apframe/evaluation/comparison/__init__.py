"""Comparisons of two or more evaluations of the same ground truth, and their uncertainty.

comparable        requirements for comparison: same rules, images and ground truth

changes           changes: object by object, without resamples
headline_intervals
                  intervals, compare, influence: headline numbers, their differences, and the influence of images
draws             draws: the values of one number in all resamples
ranks             the uncertainty of the order of models
image_influence   compare(level="image"): the images by their part in a difference

sampling          from options to the tables of these
  study           headline numbers and differences with their uncertainty
  influences      contributions of units to the numbers of each evaluation and slice
  resampled       the numbers of each evaluation and slice under all weights
  slice_rows      the lists in each row of slices
  image_weights   the weights of images: a column, or a mix

The rules of standard errors, resamples, intervals and p are in `apframe.compare`.
"""

"""Two and more evaluations of the same ground truth: what differs, and how certain that is.

names             what evaluations are called beside each other
comparable        whether they can be compared: same rules, images and ground truth

changes           changes: object by object, without resamples
intervals         intervals, compare: headline numbers and their differences
draws             draws: the values of one number in all resamples
ranks             how sure the order of models is

sampling          from options to resampled numbers, and from these to the tables of intervals and compare
  image_weights   what the images weigh: a column, or a mix
  resampled       the numbers of each evaluation, metric and slice under all weights

The rules of resamples, intervals and p are in `apframe.compare`.
"""

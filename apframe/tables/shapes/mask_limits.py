"""Limits on the size of masks, for all readers and similarities.

Larger masks are an error that names the rows (in a file, the images), raised before memory is allocated for them.
"""

MOST_PIXELS = 2**30  # pixels of a mask, which are numbered in 32 bits
MOST_SIDE = 2**20  # height and width of a mask
MOST_STEPS = 2**22  # columns of pixels that the outlines of one mask cross, in both directions together
MOST_RUNS = 2**27  # runs of pixels, each in one column, of all masks of a table; or RUNS_PER_NUMBER, if that is more
RUNS_PER_NUMBER = 32  # runs for each number in the input, so that small files take little memory and large files what they need

"""How large masks may be, for all readers and similarities.

What is beyond is an error that names the rows (in a file, the images), raised before anything is allocated for it.
"""

MOST_PIXELS = 2**30  # of a mask: their numbers are of 32 bits
MOST_SIDE = 2**20  # its height, and its width
MOST_STEPS = 2**22  # columns of pixels that the outlines of one mask pass, there and back counted twice
MOST_RUNS = 2**27  # runs of pixels, each of one column, of all masks of a table; or RUNS_PER_NUMBER, if that is more
RUNS_PER_NUMBER = (
    32  # for each number that masks are given by, so that small files take little memory, and large ones what they need
)

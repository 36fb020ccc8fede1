"""Charts of evaluations, comparisons, runs and ranked lists, drawn with Altair: `apframe.plot.slices(ev, by="weather")`.

Most functions accept an evaluation or the table that they draw, and many accept several evaluations. `roc` and `vl_pr` accept
ranked lists, `over_tag` stored runs, and `leaderboard` stored or search runs. Charts can be saved: `chart.save("slices.png")`.
"""

from apframe.lazily import public_names

__getattr__, __dir__, __all__ = public_names(__name__)

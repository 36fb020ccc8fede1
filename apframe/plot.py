"""Charts of evaluations, comparisons, runs and ranked lists, drawn with Altair: `apframe.plot.slices(ev, by="weather")`.

Each function takes an evaluation, several, or the table that it draws. The charts can be saved: `chart.save("slices.png")`.
"""

from apframe.lazily import public_names

__getattr__, __dir__, __all__ = public_names(__name__)

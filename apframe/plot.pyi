"""The public names of `apframe.plot`."""

from apframe.show.charts import precision_recall as precision_recall
from apframe.show.charts import roc as roc
from apframe.show.charts import vl_pr as vl_pr
from apframe.show.confusion_chart import confusion as confusion
from apframe.show.draw_charts import draws as draws
from apframe.show.error_chart import error_impact as error_impact
from apframe.show.interval_charts import intervals as intervals
from apframe.show.interval_charts import leaderboard as leaderboard
from apframe.show.interval_charts import over_tag as over_tag
from apframe.show.operating_charts import miss_rates as miss_rates
from apframe.show.operating_charts import operating_points as operating_points
from apframe.show.reliability_chart import reliability as reliability
from apframe.show.score_charts import scores as scores
from apframe.show.score_charts import thresholds as thresholds
from apframe.show.slice_charts import slice_heatmap as slice_heatmap
from apframe.show.slice_charts import slices as slices

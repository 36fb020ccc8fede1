"""COCO's JSON."""

from apframe.formats.coco.format import Coco as Coco
from apframe.formats.coco.format import coco_in_memory as coco_in_memory
from apframe.formats.coco.format import is_of_videos as is_of_videos
from apframe.formats.coco.format import read_coco as read_coco
from apframe.formats.coco.format import read_coco_results as read_coco_results
from apframe.formats.coco.format import read_result_columns as read_result_columns
from apframe.formats.coco.format import read_unchecked as read_unchecked
from apframe.formats.coco.format import tables_of_json as tables_of_json
from apframe.formats.coco.format import write_coco as write_coco
from apframe.formats.coco.format import write_coco_results as write_coco_results
from apframe.formats.coco.rows import has_scores as has_scores

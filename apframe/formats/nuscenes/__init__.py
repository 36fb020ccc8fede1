"""nuScenes: its tables as ground truth, and the JSON of results."""

from apframe.formats.nuscenes.format import NuScenes as NuScenes

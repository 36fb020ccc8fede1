"""nuScenes: its tables as ground truth, and the JSON of results."""

from apframe.file_formats.nuscenes.format import NuScenes as NuScenes

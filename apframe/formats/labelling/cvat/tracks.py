"""CVAT XML for video, with tracks of shapes in frames, converted to XML for images."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element

from apframe.exceptions import FormatError

_OF_TRACK = ("label", "source", "group_id")  # fields of a track that its shapes inherit
_OF_FRAME = ("frame", "outside")  # fields that shapes on images do not have
_MOST = 1_000_000  # frames of a video of nine hours; a file may declare any number


def with_images(path: Path, root: Element) -> Element:
    """Convert XML of a video to XML for images; XML for images is returned unchanged.

    Each frame that the file declares, or that has shapes, becomes an image. Its id is the frame number, and its name is that of
    CVAT for frames of a video, as in `frame_000007`; a task of images has other names, which the file does not contain. A shape
    that is `outside` is not in its frame. Others get the label, source and group of their track, and its id as `track_id`.

    Raises
    ------
    FormatError
        tracks beside images; a frame, or a number of frames, that is not a whole number; or more than 1,000,000 frames
    """
    tracks = root.findall("track")
    if root.find("image") is not None:
        if tracks:
            raise FormatError("has both images and tracks", "export it as CVAT for images 1.1", path=path)
        return root
    tasks = _tasks(root)
    images = {(key, frame): _image(key, frame, task) for key, task in tasks.items() for frame in _frames(path, task)}
    for track in tracks:
        key = track.get("task_id")
        own = {name: track.attrib[name] for name in _OF_TRACK if name in track.attrib} | {"track_id": track.get("id", "")}
        for shape in track:
            if shape.get("outside") == "1":
                continue
            frame = _whole(path, shape.get("frame"), f"frame of a shape in track {track.get('id')}")
            if (key, frame) not in images:
                images[key, frame] = _image(key, frame, tasks.get(key))
            shape.attrib = own | {name: value for name, value in shape.attrib.items() if name not in _OF_FRAME}
            images[key, frame].append(shape)
    places = {key: place for place, key in enumerate(tasks)}
    converted = Element(root.tag)
    converted.extend(root.iterfind("meta"))
    converted.extend(images[each] for each in sorted(images, key=lambda each: (places.get(each[0], len(places)), each[1])))
    return converted


def _tasks(root: Element) -> dict[str | None, Element | None]:
    """Return the elements that describe the tasks of a project, by id, or the only task or job."""
    project = root.find("meta/project")
    if project is not None:
        return {task.findtext("id"): task for task in project.iterfind("tasks/task")}
    task = root.find("meta/task")
    return {None: root.find("meta/job") if task is None else task}


def _frames(path: Path, task: Element | None) -> range:
    """Return the frames of a task: `size` frames from `start_frame` on, with the step in `frame_filter`."""
    if task is None or not task.findtext("size"):
        return range(0)
    size = _whole(path, task.findtext("size"), "size of the task")
    start = _whole(path, task.findtext("start_frame") or "0", "start_frame of the task")
    if size > _MOST:
        raise FormatError(f"the task has {size:,} frames; the limit is {_MOST:,}", "export its jobs", path=path)
    step = re.fullmatch(r"\s*step\s*=\s*([1-9]\d{0,8})\s*", task.findtext("frame_filter") or "")
    return range(start, start + size * (every := int(step[1]) if step else 1), every)


def _image(key: str | None, frame: int, task: Element | None) -> Element:
    image = Element("image", {"id": str(frame)})
    if task is None or task.findtext("mode") != "annotation":
        image.set("name", f"frame_{frame:06d}")
    sizes = {} if task is None else {side: task.findtext(f"original_size/{side}") for side in ("width", "height")}
    of_project = {} if key is None else {"task_id": key, "subset": None if task is None else task.findtext("subset")}
    for name, value in (sizes | of_project).items():
        if value:
            image.set(name, value)
    return image


def _whole(path: Path, text: str | None, what: str) -> int:
    if re.fullmatch(r"\s*\d{1,15}\s*", text or "") is None:
        raise FormatError(f"{what} is {text!r}, not a whole number from 0", "correct it", path=path)
    return int(text or "")

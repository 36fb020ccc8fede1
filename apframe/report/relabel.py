"""The doubtful labels of a report, as files for labelling tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apframe.evaluation.diagnose.tasks import refuse_tasks, task_dataset
from apframe.evaluation.gallery.cards import MODELS
from apframe.exceptions import InputError, ParameterError
from apframe.formats.writing import write_dataset, write_new
from apframe.protocols.refused import refuse_distances, refuse_scores, refuse_undrawn
from apframe.report.compared import Compared
from apframe.wording import counted

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.protocols.protocol import Protocol

FILES = {"coco": "coco.json", "cvat": "cvat.xml", "label_studio": "label_studio.json"}
"""The files by their formats, all with the same images and annotations."""


def refuse_label_tasks(protocol: Protocol, evaluations: Sequence[Evaluation] = ()) -> None:
    """Raise an error if `write_label_tasks` cannot write these evaluations, with a remedy for the shell.

    >>> from apframe.protocols.coco import COCO
    >>> refuse_label_tasks(COCO)
    """
    try:
        refuse_scores(protocol, "label errors")
        refuse_distances(protocol, "label errors need")
        refuse_undrawn(protocol)
        for each in evaluations:
            refuse_tasks(each)
    except ParameterError as error:
        other = f"{error.remedy}; or " if evaluations else ""
        raise ParameterError(error.problem, f"{other}leave --relabel out") from None


def write_label_tasks(folder: Path, compared: Compared) -> str:
    """Write the images in the report's section of possible label errors, and return a line with their number.

    The files of `FILES` appear in the folder together, see `Evaluation.write_tasks`. A file whose format cannot store the data,
    such as images of unknown size, is left out, and the line says why. If no label looks doubtful, nothing is written. With
    three or more models, the first two count.

    Raises
    ------
    OutputError
        the folder is not empty, or cannot be written
    ParameterError
        the protocol compares distances, or has no precision; no format can store the data; see `Evaluation.write_tasks` too

    >>> import tempfile
    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1, "width": 90, "height": 90}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [9, 9, 9, 9]}]}
    >>> ev = evaluate(truth, [{"image_id": 1, "category_id": 1, "bbox": [50, 50, 9, 9], "score": 0.9}])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     write_label_tasks(Path(parent) / "tasks", Compared([ev], ["a"])).removeprefix(parent)
    '/tasks: 1 doubtful label on 1 image (coco.json, cvat.xml, label_studio.json)'
    """
    rows = compared.label_rows.rename({"model": "run"})
    if rows.is_empty():
        return f"{folder}: not written, no label looks doubtful"
    tasks = task_dataset(rows, compared.pictured[0], MODELS)
    left_out = dict[str, str]()

    def write(part: Path) -> None:
        part.mkdir()
        for format_, name in FILES.items():
            try:
                write_dataset(tasks, part / name, format_)
            except InputError as error:
                left_out[name] = f"; {name} cannot be written: {error.problem}"
        if len(left_out) == len(FILES):
            raise ParameterError(f"these labels cannot be written{''.join(left_out.values())}")

    write_new(folder, "folder", write)
    written = ", ".join(name for name in FILES.values() if name not in left_out)
    labels, images = counted(rows.height, "doubtful label"), counted(tasks.images.height, "image")
    return f"{folder}: {labels} on {images} ({written}){''.join(left_out.values())}"

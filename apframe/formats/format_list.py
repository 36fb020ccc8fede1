"""The list of file formats."""

from __future__ import annotations

from apframe.formats.catalogue import FORMATS, ROWS, add_plugins, as_format
from apframe.listing import Listing


def list_formats(name: str | None = None) -> Listing:
    """List the file formats, or describe one.

    Parameters
    ----------
    name
        the format to describe; None lists all of them

    Returns
    -------
    A frame with format (its name), title, written (False: it can only be read), dataset and results (descriptions of their
    files); it prints within 80 columns.

    Raises
    ------
    ParameterError
        no format has this name; near names are suggested

    >>> list_formats("lvis")
    format   lvis
    title    LVIS JSON
    written  yes
    dataset  COCO's JSON with neg_category_ids and not_exhaustive_category_ids of
             images and frequency of categories
    results  the same as COCO's
    """
    add_plugins()
    listed = [FORMATS[each] for each in ROWS] if name is None else [as_format(name)]
    rows = [(each.name, each.title, each.writable, each.dataset_is, each.results_are) for each in listed]
    return Listing(rows, schema=["format", "title", "written", "dataset", "results"], orient="row")

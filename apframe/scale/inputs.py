"""The input of an evaluation in shards: images and categories in memory, objects only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from apframe.lazily import cached_property
from apframe.protocols.inputs import Inputs
from apframe.protocols.protocol import Protocol
from apframe.rows import MALFORMED_KEPT
from apframe.scale.layout import INPUT_ROW
from apframe.scale.objects import OBJECTS, LateTable, Objects
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.wording import counted


class ShardedInputs(Inputs):
    """The input of an evaluation in shards; see `Inputs`.

    Parameters
    ----------
    known
        images and categories, with their attributes
    objects
        what reads annotations and detections
    image_ids, category_ids
        sorted, those that are evaluated
    protocol
        see `Inputs`
    """

    def __init__(
        self, known: Callable[[], Dataset], objects: Objects, image_ids: pl.Series, category_ids: pl.Series, protocol: Protocol
    ) -> None:
        own = {"image_ids": image_ids, "category_ids": category_ids, "protocol": protocol, "prepared": {}}
        for name, value in (own | {"objects": objects, "read_known": known}).items():
            object.__setattr__(self, name, value)

    objects: Objects
    read_known: Callable[[], Dataset]
    malformed = MALFORMED_KEPT  # or refused, when the shards were matched

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: nothing that can be read again."""
        names = ("image_ids", "category_ids", "protocol", "prepared", "objects", "read_known")
        return {name: self.__dict__[name] for name in names}

    @cached_property
    def known(self) -> Dataset:
        """The data set as far as it is in memory: images and categories."""
        known = self.read_known()
        return known.part(known.images.filter(is_known(known.images["image_id"], self.image_ids)), pl.DataFrame())

    @cached_property
    def in_memory(self) -> Inputs:
        """Everything in memory; see `Inputs` and `Objects.load`."""
        return self.objects.load(self.known.images.sort("image_id"))

    @cached_property
    def dataset(self) -> Dataset:
        """The ground truth, whose annotations are read when they are looked at."""
        return LateDataset(self.known, lambda: self.in_memory.dataset.annotations, self.objects.total("annotations"))

    @property
    def annotations(self) -> pl.DataFrame:
        """See `Inputs`."""
        return self.in_memory.annotations

    @property
    def detections(self) -> pl.DataFrame:
        """See `Inputs`."""
        return self.in_memory.detections

    @cached_property
    def first(self) -> Inputs:
        """What is evaluated of the first shard."""
        return self.objects.job.inputs(self.objects.shards[0])

    @property
    def notes(self) -> list[str]:
        """See `Inputs`."""
        return self.first.notes

    @property
    def n_detections(self) -> int:
        """See `Inputs`."""
        return self.objects.total("detections")

    @property
    def truth_mark(self) -> str | None:
        """See `Inputs`."""
        return self.objects.truth_mark

    @property
    def has_annotations(self) -> bool:
        """See `Inputs`; those in no area range are not counted."""
        return self.objects.total("positives") > 0

    def tables(self) -> dict[str, Any]:
        """The four tables; those of objects are read when columns of them are looked at."""
        categories = self.known.categories.sort("category_id")
        own = {
            "images": self.known.images.sort("image_id"),
            "categories": categories.filter(is_known(categories["category_id"], self.category_ids)),
        }
        first = self.first.tables()
        return own | {
            name: LateTable(self.objects, name, [column for column in first[name].columns if column != INPUT_ROW])
            for name in OBJECTS
        }


class LateDataset(Dataset):
    """A data set whose annotations are read when they are first looked at."""

    def __init__(self, known: Dataset, read: Callable[[], pl.DataFrame], n_annotations: int) -> None:
        for name, value in vars(known).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_core", _LateTables(self._core, read))
        object.__setattr__(self, "_n_annotations", n_annotations)

    _n_annotations: int

    def __repr__(self) -> str:
        counts = (self.images.height, "image"), (self.categories.height, "category"), (self._n_annotations, "annotation")
        return f"Dataset({', '.join(counted(*each) for each in counts)})"


class _LateTables(Mapping[str, pl.DataFrame]):
    """Tables by name, of which that of the annotations is read when it is looked at."""

    def __init__(self, tables: Mapping[str, pl.DataFrame], read: Callable[[], pl.DataFrame]) -> None:
        self._tables, self._read = tables, read

    @cached_property
    def _annotations(self) -> pl.DataFrame:
        return self._read()

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._annotations if name == "annotations" else self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

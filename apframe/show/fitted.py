"""Tables of results: frames that print their most informative columns, as many as there is room for."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from html import escape
from typing import Any, ClassVar, Self

import polars as pl

from apframe.protocols.headlines import KINDS
from apframe.show.text_tables import fit, not_shown

_PAGE_WIDTH = 120  # of a table in a notebook, in characters
_RECALL = re.compile(rf"(?:{'|'.join(kind.name for kind in KINDS.values() if kind.one_is_enough)})(\d*)([sml]|_.+)?")
_END = re.compile(r"(?<=_)(low|high)$|^(low|high)$|(?<=^estimate_)[ab]$|(?<=^influence_)[ab]$")
_DETAILS = (
    "n_resamples", "bias", "method", "reason", "influence_a", "influence_b", "share_better", "detectable",
    "p_randomisation", "p_randomisation_holm", "p_t", "p_t_holm", "n_units", "se",
)  # fmt: skip


class FittedTable(pl.DataFrame):
    """A frame like any other, but printed within the width of the terminal, and of the page in notebooks.

    Columns that do not fit are named below the table; the two ends of an interval, or two estimates, are shown or left out
    together. Sorting and filtering keep this type. If `pl.Config` sets a number of columns, Polars prints the table instead.

    Attributes
    ----------
    digits
        the number of decimals, if `pl.Config` sets none
    """

    digits: ClassVar[int]

    @property
    def expendable(self) -> Sequence[str]:
        """The least informative columns, in the order in which they are left out; the last columns follow them."""
        raise NotImplementedError

    def sort(self, *by: Any, **options: Any) -> Self:
        """Sort the rows as `polars.DataFrame.sort` does."""
        return type(self)(super().sort(*by, **options))

    def filter(self, *predicates: Any, **constraints: Any) -> Self:
        """Filter the rows as `polars.DataFrame.filter` does."""
        return type(self)(super().filter(*predicates, **constraints))

    def __str__(self) -> str:
        if "POLARS_FMT_MAX_COLS" in os.environ:
            return super().__str__()
        width = int(os.environ.get("POLARS_TABLE_WIDTH", shutil.get_terminal_size().columns))
        drawn, left_out = self._fit(None if width < 0 else width)
        return drawn + not_shown(left_out, width)

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        if "POLARS_FMT_MAX_COLS" in os.environ:
            return super()._repr_html_()
        _, left_out = self._fit(_PAGE_WIDTH)
        part = pl.DataFrame(self)[[name for name in self.columns if name not in left_out]]
        with pl.Config(tbl_cols=-1, float_precision=self._precision()):
            page = self._with_shape(part._repr_html_())
        return page + f"<p>{escape(not_shown(left_out, None).strip())}</p>" * bool(left_out)

    def _fit(self, width: int | None) -> tuple[str, list[str]]:
        """Return the table as text within a width, and the columns that are left out."""
        groups = dict[str, list[str]]()
        for name in [*self.expendable, *(name for name in reversed(self.columns) if name not in self.expendable)]:
            groups.setdefault(_END.sub("", name), []).append(name)
        return fit(pl.DataFrame(self), width, [tuple(group) for group in groups.values()], self._drawn)

    def _drawn(self, part: pl.DataFrame, length: int) -> str:
        with pl.Config(tbl_cols=-1, tbl_width_chars=-1, fmt_str_lengths=length, float_precision=self._precision()):
            return self._with_shape(str(part))

    def _precision(self) -> Any:
        chosen = pl.Config.state()["set_float_precision"]
        return self.digits if chosen is None else chosen

    def _with_shape(self, drawn: str) -> str:
        """Replace the shape of the printed part by that of the whole table."""
        return re.sub(r"(shape: \([\d_]+, )[\d_]+", rf"\g<1>{self.width}", drawn, count=1)


class SliceTable(FittedTable):
    """Numbers of slices, a column for each. Recalls of few detections are less informative than others, and all less than AP.

    >>> with pl.Config(tbl_width_chars=50, tbl_hide_column_data_types=True):
    ...     SliceTable({"night": [True], "AP": [0.25], "AP50": [0.5], "AR1": [0.5], "AR100": [0.5], "n_images": [3]})
    shape: (1, 6)
    ┌───────┬───────┬───────┬───────┬──────────┐
    │ night ┆ AP    ┆ AP50  ┆ AR100 ┆ n_images │
    ╞═══════╪═══════╪═══════╪═══════╪══════════╡
    │ true  ┆ 0.250 ┆ 0.500 ┆ 0.500 ┆ 3        │
    └───────┴───────┴───────┴───────┴──────────┘
    not shown: AR1
    """

    digits = 3

    @property
    def expendable(self) -> Sequence[str]:
        """The least informative columns, in the order in which they are left out."""
        errors = [name for name in self.columns if name.endswith("_se") and name[:-3] in self.columns]
        recalls = {name: parts for name in self.columns if (parts := _RECALL.fullmatch(name))}
        limits = {name: 0 if parts[2] else float(parts[1] or "inf") for name, parts in recalls.items()}
        strict = ["AP75", "AP75_low", "AP75_high"]
        return ["n_detections", "n_categories", *errors, *sorted(limits, key=limits.__getitem__), *strict]


class ComparisonTable(FittedTable):
    """Numbers with their intervals, or differences of them, a row for each. A run that is the same in all rows can be left out.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "difference": 0.25, "low": 0.125, "high": 0.375, "p": 0.01}
    >>> with pl.Config(tbl_width_chars=54, tbl_hide_column_data_types=True):
    ...     ComparisonTable([row])
    shape: (1, 7)
    ┌────────┬────────────┬────────┬────────┬────────┐
    │ metric ┆ difference ┆ low    ┆ high   ┆ p      │
    ╞════════╪════════════╪════════╪════════╪════════╡
    │ AP     ┆ 0.2500     ┆ 0.1250 ┆ 0.3750 ┆ 0.0100 │
    └────────┴────────────┴────────┴────────┴────────┘
    not shown: run_a, run_b
    """

    digits = 4

    @property
    def expendable(self) -> Sequence[str]:
        """The least informative columns, in the order in which they are left out."""
        runs = [name for name in ("run_a", "run_b") if name in self.columns]
        same = [name for name in runs if self[name].n_unique() < 2]
        others = ["p_holm", "q"] if same == runs else ["p", "q"]  # of two runs alone, p is not corrected
        if not {*self.columns[:1]} & {"metric", "measure"}:  # of slices or categories, q is corrected for all
            others = ["p_holm", "p"]
        return [*_DETAILS, *others, *same, "file_name", "share", "estimate_a", "estimate_b"]

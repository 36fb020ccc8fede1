"""Tables of benchmarks as data: what they name is there."""

from __future__ import annotations

from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.protocols.headlines import headlines
from apframe.protocols.kit_table import EachCategory, KitColumn, KitRow, KitTable
from apframe.protocols.protocol import Protocol
from tests.conformance.variants import TOY_NAME, VARIANTS

TABLES = [
    pytest.param(protocol, table, id=f"{variant}-{number}")
    for variant in VARIANTS
    if variant.name != TOY_NAME
    for protocol in [variant.protocol]
    for number, table in enumerate(protocol.tables)
]


@pytest.mark.parametrize(("protocol", "table"), TABLES)
def test_cells_are_headline_numbers(protocol: Protocol, table: KitTable) -> None:
    for _, metric, iou_type in table.columns:
        metrics = {line.metric for line in headlines(protocol.variant(iou_type or None), with_parts=True)}
        assert {metric + (row.ending if isinstance(row, KitRow) else "") for row in table.rows} <= metrics
    assert table.frame is not None or all(
        len(row.labels if isinstance(row, KitRow) else table.head[:1]) == len(table.head) for row in table.rows
    )
    assert len({*table.head, *(column.title for column in table.columns)}) == len(table.head) + len(table.columns)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"head": ("AP",), "rows": (KitRow(("all",)),)}, "tables: several columns have the title 'AP'; give each its own"),
        ({"rows": (KitRow(("all",)),)}, "has 1 label, and head has 0 titles; give a title for each label"),
        ({"head": ("class", "level"), "rows": (EachCategory(),)}, "has 1 label, and head has 2 titles"),
    ],
)
def test_tables_that_cannot_be_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        KitTable((KitColumn("AP", "AP"),), **table)
    assert message in str(error.value)


def test_tables_change_no_rules() -> None:
    table = KitTable((KitColumn("AP", "AP"),))
    one, other = Protocol("mine", ""), Protocol("mine", "", tables=(table,))
    assert one == other and hash(one) == hash(other) and "tables" not in other.choices()
    assert other.with_options(max_detections=[10]).tables == (table,)


def test_stored_protocols_have_the_published_tables() -> None:
    assert Protocol.from_dict(apf.KITTI.as_dict()).tables == apf.KITTI.tables != ()
    assert Protocol.from_dict(apf.KITTI.variant("3d").as_dict()).tables == apf.KITTI.variant("3d").tables != ()
    assert Protocol.from_dict(Protocol("mine", "").as_dict()).tables == ()

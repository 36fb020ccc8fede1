"""Tables to look things up in fit 80 columns, and texts in them are whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.listing import Listing

LISTINGS: list[Callable[..., Listing]] = [apf.list_formats, apf.list_protocols, apf.list_definitions, apf.list_measures]


@pytest.mark.slow
@pytest.mark.parametrize("listing", LISTINGS, ids=lambda each: each.__name__)
def test_listings_fit_80_columns(listing: Callable[..., Listing]) -> None:
    table = listing()
    assert max(map(len, str(table).splitlines())) <= 80
    assert max(map(len, table.lines(60).splitlines())) <= 60
    for name in table.to_series(0):
        described = str(listing(name.upper()))
        assert described.split()[1] == name and max(map(len, described.splitlines())) <= 80
        assert name in str(table)


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda each: each.__name__)
def test_an_unknown_name_is_an_error_with_the_near_ones(listing: Callable[..., Listing]) -> None:
    name = listing().to_series(0)[-1]
    with pytest.raises(ParameterError, match=f"did you mean .*{name}"):
        listing(f"{name}{name[-1]}")


def test_columns_that_do_not_fit_are_named() -> None:
    table = Listing({"name": ["a", "b"], "text": ["x " * 60, "y"], "more": [1, None], "flag": [True, False]})
    assert str(table).splitlines()[-1] == "More columns: more, flag. Name a row to see all of it."
    assert str(table[["name", "more", "flag"]]) == "name  more  flag\na     1     yes\nb           no"

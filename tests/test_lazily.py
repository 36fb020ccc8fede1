"""Methods that are imported when they are first used look like any other method, before and after."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from operator import attrgetter
from unittest import mock

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import RenamedWarning


def run(script: str) -> str:
    """What a new process prints, in which nothing has been used yet."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_a_method_is_imported_when_it_is_used() -> None:
    script = """
import sys, apframe
evaluation, name = apframe.Evaluation, "apframe.evaluation.slices.by"
print(name in sys.modules, callable(evaluation.by), name in sys.modules, evaluation.by is vars(evaluation)["by"])
"""
    assert run(script) == "False True True True\n"


def test_methods_have_their_signatures_and_texts() -> None:
    assert [*inspect.signature(apf.Evaluation.by).parameters][:3] == ["self", "keys", "level"]
    assert inspect.isfunction(apf.Evaluation.by) and "Parameters" in (apf.Evaluation.by.__doc__ or "")
    assert list(inspect.signature(apf.Protocol.at_version).parameters) == ["self", "version"]


@pytest.mark.slow
def test_a_test_may_replace_a_method_that_was_not_used_yet() -> None:
    script = """
from unittest import mock
import apframe
with mock.patch.object(apframe.Evaluation, "by", autospec=True, return_value=7) as replaced:
    print(apframe.Evaluation.by(None, "weather"), replaced.call_count)
print(apframe.Evaluation.by.__module__)
"""
    assert run(script) == "7 1\napframe.evaluation.slices.by\n"


def test_a_subclass_calls_the_method_of_its_base() -> None:
    class Own(apf.Evaluation):
        def by(self, *columns: object, **options: object) -> pl.DataFrame:
            return super().by(*columns, **options)  # type: ignore[arg-type]

    with mock.patch.object(apf.Evaluation, "by", return_value=pl.DataFrame({"a": [1]})):
        assert Own.by(mock.Mock(spec=Own, __class__=Own), "weather").item() == 1


def test_measures_are_an_attribute_of_expressions() -> None:
    ranked = pl.DataFrame({"relevant": [1, 0, 1], "score": [0.9, 0.8, 0.7]})
    assert ranked.select(pl.col("relevant").ap.average_precision("score", n_positives=2)).item() == pytest.approx(5 / 6)  # type: ignore[attr-defined]
    assert pl.Expr.ap.average_precision.__name__ == "average_precision"  # type: ignore[attr-defined]
    assert pl.Expr.ap.__doc__.startswith("Measures of a ranked list")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "old, new",
    [
        ("plot_confusion", "plot.confusion"),
        ("BoxIoU", "similarity.BoxIoU"),
        ("OKS", "similarity.OKS"),
        ("ndcg", "lists.ndcg"),
        ("Part", "protocols.Part"),
        ("ap_loss", "training.ap_loss"),
        ("RowError", "exceptions.RowError"),
        ("DoubtfulNumberWarning", "exceptions.DoubtfulNumberWarning"),
    ],
)
def test_old_names_work_and_name_the_new_ones(old: str, new: str) -> None:
    message = rf"^apframe\.{old} is now apframe\.{new}; the old name works until 0\.7$"
    with pytest.warns(RenamedWarning, match=message) as warned:
        value = getattr(apf, old)
    assert value is attrgetter(new)(apf) and warned[0].filename == __file__


@pytest.mark.parametrize(
    "typo, near",
    [("KITI", "protocols.KITTI"), ("plot_slicez", "plot.slices, "), ("BoxIou", "similarity.BoxIoU, "), ("ndgc", "lists.ndcg")],
)
def test_typos_of_names_in_packages_are_answered(typo: str, near: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module 'apframe' has no attribute '{typo}'; did you mean {re.escape(near)}"):
        getattr(apf, typo)
    assert not hasattr(apf, "xyzzy")


def test_short_names_of_protocols_stay() -> None:
    names = [name for name in dir(apf.protocols) if name.isupper()]
    assert len(names) > 35 and "KITTI" in names and "KITTI" not in dir(apf)
    assert all(getattr(apf, name) is getattr(apf.protocols, name) for name in names)


def test_tab_shows_few_names_and_help_few_lines() -> None:
    assert len(dir(apf)) <= 60 and {*dir(apf.exceptions)} == {*apf.exceptions.__all__}
    assert len(pydoc.render_doc(apf).splitlines()) <= 2_000

"""Options that a command has not: those of trec_eval that have other names here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apframe.cli.unknown_options import OF_TREC_EVAL
from tests.cli.test_rank import DENSE, QRELS, Done, apframe, rank

STREET = Path(__file__).parents[2] / "data" / "street" / "instances.json"
PAGE = Path(__file__).parents[2] / "docs" / "coming_from" / "trec_eval.md"


@pytest.mark.parametrize("option", OF_TREC_EVAL)
def test_an_option_of_trec_eval_is_named(option: str) -> None:
    said = f"trec_eval's {option} is {OF_TREC_EVAL[option]} here"
    assert rank(QRELS, DENSE, option) == Done(2, "", f"error: No such option: {option}; {said} (see `apframe rank --help`)\n")
    assert rank(f"-q{option[1]}", QRELS, DENSE).stderr == rank(QRELS, DENSE, option).stderr


@pytest.mark.parametrize("option", OF_TREC_EVAL)
def test_what_is_named_in_its_place_works(option: str) -> None:
    done = rank(QRELS, DENSE, "-m", "NumQ", "--csv", *OF_TREC_EVAL[option].split())
    assert (done.returncode, done.stderr) == (0, "")
    lines = {"-c": ["measure,value,n_queries", "NumQ,60.0,60"], "-J": ["measure,value,n_queries", "NumQ,59.0,59"]}
    assert done.stdout.splitlines()[:2] == lines.get(option, ["query_id,NumQ", "301,1.0"])


def test_only_commands_that_have_the_option_name_it() -> None:
    assert apframe("eval", "-c", "a", "b").stderr == "error: No such option: -c (see `apframe eval --help`)\n"
    assert apframe("report", "-n", "a", "b").stderr == "error: No such option: -n (see `apframe report --help`)\n"
    assert "trec_eval's -J is --unjudged remove here" in apframe("report", "-J", "a", "b").stderr
    assert "trec_eval" not in apframe("report", "-J", str(STREET), "b").stderr
    assert rank("-N", "10", QRELS, DENSE).stderr == "error: No such option: -N (see `apframe rank --help`)\n"


def test_the_page_for_users_of_trec_eval_says_the_same() -> None:
    rows = dict(re.findall(r"^\| `(-\w)`.*? \| `(.*?)`.* \|$", PAGE.read_text(), re.MULTILINE))
    assert {option: rows[option] for option in OF_TREC_EVAL} == OF_TREC_EVAL

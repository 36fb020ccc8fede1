"""Options that a command does not have, with the names that they have here, and surplus arguments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apframe.cli.usage_errors import OF_TREC_EVAL
from tests.cli.test_rank import DENSE, QRELS, Done, apframe, rank

STREET = Path(__file__).parents[2] / "data" / "street" / "instances.json"
PAGE = Path(__file__).parents[2] / "docs" / "coming_from" / "search_tools.md"


@pytest.mark.parametrize("option", OF_TREC_EVAL)
def test_an_option_of_trec_eval_is_named(option: str) -> None:
    hint = f"trec_eval's {option} is {OF_TREC_EVAL[option]} here"
    assert rank(QRELS, DENSE, option) == Done(2, "", f"error: No such option: {option}; {hint} (see `apframe rank --help`)\n")
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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("eval --classes car", "No such option: --classes; did you mean --categories?"),
        ("eval --filter car", "No such option: --filter; did you mean --where?"),
        ("eval --format coco", "No such option: --format; did you mean --gt-format?"),
        ("formats --filter x", "No such option: --filter"),
        ("eval --categores car", "No such option: --categores; did you mean --categories?"),
        ("eval {gt} {dt} --by weather camera", "Got unexpected extra argument (camera); separate several names by commas: "
         "--by weather,camera"),
        ("eval --by a b c {gt} {dt}", "Got unexpected extra arguments ({gt} {dt}); separate several names by commas: "
         "--by a,b,c"),
        ("errors {gt} {dt} --categories car bus --json", "Got unexpected extra argument (bus); separate several names by "
         "commas: --categories car,bus"),
        ("eval {gt} {dt} --intervals camera", "Got unexpected extra argument (camera)"),
        ("eval {gt} {dt} {dt}", "eval takes one model, not 2: use apframe compare {gt} {dt} {dt}"),
        ("eval {gt} {dt} {dt} {dt} {dt} {dt} {dt}", "eval takes one model, not 6: use apframe compare GT A [B...]"),
        ("eval {gt} {dt} x*", "eval takes one model, not 2: use apframe compare {gt} {dt} 'x*'; shards need --shards"),
    ],
)  # fmt: skip
def test_other_words(line: str, message: str) -> None:
    paths = {"gt": STREET, "dt": STREET.with_name("model_a.json")}
    arguments = line.format(**paths).split()
    assert apframe(*arguments) == Done(2, "", f"error: {message.format(**paths)} (see `apframe {arguments[0]} --help`)\n")

"""Nothing outside of `apframe.metrics` asks which type of metric or definition it has, or compares names of metrics.

A metric says itself what it can do, and `apframe.protocols.headlines` describes the kinds of headline numbers.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator

import pytest

import apframe as apf
from apframe.protocols.headlines import KINDS
from tests.test_layers import all_nodes

QUESTIONS = ("isinstance", "issubclass", "hasattr", "getattr", "type")
PREFIXES = ("startswith", "endswith", "removeprefix", "removesuffix")
HELD = {"metric", "definition", "miss_rates", "errors"}  # what variables and attributes are called that hold metrics
EXCEPTIONS = (  # the file, what the condition has in it, and what the name is there
    ("cli/errors.py", "name not in ('iou_threshold', 'error', 'n', 'ap', 'delta_ap')", "columns of `error_impact`"),
    ("evaluation/thresholds/operating_points.py", "column", "columns of `thresholds`"),
    ("formats/outputs.py", "library == 'ultralytics'", "a library"),
    ("lists/expressions.py", "isinstance(definition, (str, Definition))", "an argument is one definition, or several"),
    ("lists/list_curves.py", "name == 'n_positives'", "an argument of the function"),
    ("lists/measure_names.py", "name in _NOT_HERE", "measures of trec_eval"),
    ("lists/measures.py", "kind.cutoff", "kinds of cut-offs of measures"),
    ("lists/relevance.py", "over == 'n_positives'", "what measures divide by"),
    ("show/error_chart.py", "column not in _OWN", "columns of `error_impact`"),
    ("show/slice_charts.py", "name.startswith(('AP', 'AR'))", "a guess which columns of a user's frame are metrics"),
)


def names_of_numbers() -> set[str]:
    """Columns of metrics, names and columns of headline numbers, names of definitions."""
    protocols = [each for published in apf.PUBLISHED.values() for each in (published, *published.variants)]
    columns = {name for protocol in protocols for metric in protocol.all_metrics for name in metric.columns}
    return {*columns, *KINDS, *(kind.column for kind in KINDS.values()), *apf.list_definitions()["name"]}


def branches(nodes: Iterable[ast.AST], numbers: set[str]) -> Iterator[str]:
    """The questions of a file about the type or the name of a metric; names of columns in calls of Polars are none."""
    nodes = list(nodes)
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("apframe.metrics")]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    constants = {target.id: node.value for node in assigned for target in node.targets if isinstance(target, ast.Name)}

    def is_metric(node: ast.AST) -> bool:
        inside = list(ast.walk(node))
        names = {each.id for each in inside if isinstance(each, ast.Name)}
        attributes = {each.attr for each in inside if isinstance(each, ast.Attribute)}
        return bool(names & (imported | HELD) or attributes & HELD)

    def is_name(node: ast.AST | None) -> bool:
        if isinstance(node, ast.Name) and node.id.isupper():
            node = constants.get(node.id)
        if isinstance(node, ast.Dict):
            return any(map(is_name, node.keys))
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return any(map(is_name, node.elts))
        return isinstance(node, ast.Constant) and node.value in numbers

    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if name in QUESTIONS:
                is_question = any(map(is_metric, args))
            case ast.Call(func=ast.Attribute(attr=name), args=args) if name in PREFIXES:
                is_question = any(map(is_name, args))
            case ast.Compare(left=left, comparators=others):
                is_question = any(map(is_name, (left, *others)))
            case ast.MatchClass(cls=operand):
                is_question = is_metric(operand)
            case ast.MatchValue(value=operand):
                is_question = is_name(operand)
            case _:
                is_question = False
        if is_question:
            yield ast.unparse(node)


@pytest.mark.slow
def test_no_branch_is_on_the_type_or_name_of_a_metric() -> None:
    numbers = names_of_numbers()
    files = {path: nodes for path, nodes in all_nodes().items() if not path.startswith(("metrics/", "benchmarks/"))}
    questions = {(path, condition) for path, nodes in files.items() for condition in branches(nodes, numbers)}
    excused = [{each for each in questions if each[0] == path and part in each[1]} for path, part, _ in EXCEPTIONS]
    assert sorted(questions.difference(*excused)) == []
    assert [exception for exception, met in zip(EXCEPTIONS, excused, strict=True) if not met] == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(x, Levels)", "isinstance(protocol.definition, str)", "type(metric)", "hasattr(protocol.errors, 'x')",
        "line.column == 'cds'", "'ap' != x", "x in ('a', 'fwiou')", "x in KINDS", "name.startswith('LAMR')",
        "name.startswith(('AP', 'AR'))",
    ],
)  # fmt: skip
def test_branches_are_found(code: str) -> None:
    before = "from apframe.metrics.definitions import Levels\nKINDS = {'coco101': 1}\n"
    assert list(branches(ast.walk(ast.parse(before + code)), names_of_numbers())) == [ast.unparse(ast.parse(code))]
    matching = textwrap.dedent(
        """
        match x:
            case Levels(): pass
            case 'pq': pass
            case 'other': pass
        """
    )
    assert len(list(branches(ast.walk(ast.parse(before + matching)), names_of_numbers()))) == 2


def test_columns_of_tables_are_no_branches() -> None:
    code = "frame.filter(pl.col('ap') > 0); isinstance(x, str); x == 'other'; values['ap']"
    assert list(branches(ast.walk(ast.parse(code)), names_of_numbers())) == []

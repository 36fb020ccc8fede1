"""Run the `apframe` command in this process and print what it did: `python -m tests.counted CODE ARGUMENT...`.

CODE is Python that is run after the command and counted as well; usually nothing. Nothing depends on time, on the number of
cores or, with one thread, on which of two threads is first. The command runs twice: the second time for the peak alone,
when everything is imported.

A NumPy call is a call, an operator or an index in apframe's own code which an array or one of its elements enters or leaves.
Its rows are the elements of the largest of these arrays, without that which an index only looks into. Calls are seen because
the modules are compiled with `seen(f, ...)` instead of `f(...)`. What NumPy, Polars or DuckDB do inside of a call is not seen,
nor is a comparison of more than two values. The peak is that of Python and NumPy, as `tracemalloc` knows it. Memory of Polars,
Arrow and DuckDB is not seen.
"""

from __future__ import annotations

import ast
import builtins
import gc
import json
import operator
import os
import sys
import tracemalloc
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from textwrap import indent
from types import CodeType
from typing import Any

COUNTS = ("openings", "attribute_reads", "protocols", "queries", "numpy_calls", "numpy_rows")
NAMES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
         ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or_", ast.BitXor: "xor",
         ast.BitAnd: "and_", ast.MatMult: "matmul", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
         ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}  # fmt: skip
FRAMES = {"super", "locals", "globals", "vars"}  # these look at who calls them
LOOKS = {"getitem", "setitem", "take"}  # into the array that is first
counts = dict.fromkeys(COUNTS, 0)


class Seen(ast.NodeTransformer):
    """Calls, operators and indices inside of functions become calls of `seen`."""

    depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def call(
        self, node: ast.expr, function: ast.expr, *arguments: ast.expr, keywords: list[ast.keyword] | None = None
    ) -> ast.expr:
        if not self.depth:
            return node
        replacement = ast.Call(ast.Name("__seen__", ast.Load()), [function, *arguments], keywords or [])
        return ast.copy_location(replacement, node)

    def operate(self, node: ast.expr, name: str, *operands: ast.expr) -> ast.expr:
        return self.call(node, ast.Attribute(ast.Name("__operator__", ast.Load()), name, ast.Load()), *operands)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in FRAMES:
            return node
        return self.call(node, node.func, *node.args, keywords=node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self.operate(node, NAMES[type(node.op)], node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node if isinstance(node.op, ast.Not) else self.operate(node, NAMES[type(node.op)], node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in NAMES:
            return node
        return self.operate(node, NAMES[type(node.ops[0])], node.left, node.comparators[0])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return self.operate(node, "getitem", node.value, index(node.slice)) if isinstance(node.ctx, ast.Load) else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if len(node.targets) > 1 or not isinstance(target := node.targets[0], ast.Subscript):
            return node
        operation = self.operate(node.value, "setitem", target.value, index(target.slice), node.value)
        return ast.copy_location(ast.Expr(operation), node) if self.depth else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not self.depth or not isinstance(node.target, ast.Name):
            return node
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        operation = self.operate(name, f"i{NAMES[type(node.op)].rstrip('_')}", name, node.value)
        return ast.copy_location(ast.Assign([node.target], operation), node)


def index(node: ast.expr) -> ast.expr:
    """What stands between the brackets, as a value."""
    if isinstance(node, ast.Slice):
        bounds = [bound or ast.Constant(None) for bound in (node.lower, node.upper, node.step)]
        return ast.copy_location(ast.Call(ast.Name("slice", ast.Load()), bounds, []), node)
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([index(part) for part in node.elts], ast.Load()), node)
    return node


def elements(parts: list[Any]) -> list[int]:
    """The number of them in each array among these, or in a list among these."""
    flat = (part for each in parts for part in (each if isinstance(each, (list, tuple)) else (each,)))
    return [part.size for part in flat if type(part).__module__ == "numpy" and hasattr(part, "size")]


def seen(function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """Call it, and count it if it is NumPy's and an array enters or leaves."""
    value = function(*arguments, **options)
    owner = getattr(function, "__self__", None)
    of = {str(getattr(part, "__module__", "")).partition(".")[0] for part in (function, type(function), type(owner))}
    if of & {"numpy", "_operator"}:
        parts = [part for part in (owner, *arguments, *options.values()) if part is not None]
        looked_into = parts[:1] if getattr(function, "__name__", "") in LOOKS else []
        if elements([value, *parts]):
            counts["numpy_calls"] += 1
            counts["numpy_rows"] += max(elements([value, *parts[len(looked_into) :]]), default=0)
    return value


def compiled(source: bytes | str, path: str) -> CodeType:
    """Code whose calls are seen."""
    return compile(ast.fix_missing_locations(Seen().visit(ast.parse(source))), path, "exec", dont_inherit=True)  # type: ignore[no-any-return]


def counted(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        for name in names:
            counts[name] += 1
        return function(*arguments, **options)

    return wrapped


def watch(files: set[str]) -> None:
    """Count what is counted of everything that is imported from now on."""
    read_code = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        if name.partition(".")[0] != "apframe":
            return read_code(loader, name)
        path = loader.get_filename(name)
        return compiled(loader.get_data(path).decode(), path)

    def opened(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            counts["openings"] += os.fsdecode(arguments[0]) in files

    vars(builtins).update(__seen__=seen, __operator__=operator)
    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    os.cpu_count = lambda: 2
    sys.addaudithook(opened)
    import polars as pl

    from apframe.protocols.protocol import Protocol
    from apframe.tables.later import Later

    for owner, name in ((pl.LazyFrame, "collect"), (pl.LazyFrame, "_collect_eager"), (pl, "collect_all")):
        setattr(owner, name, counted(getattr(owner, name), "queries"))
    Protocol.__init__ = counted(Protocol.__init__, "protocols")  # type: ignore[method-assign]
    make_later = Later.__init__

    def make(later: Later, read_attributes: Callable[..., Any], *others: Any, **options: Any) -> None:
        make_later(later, counted(read_attributes, "attribute_reads"), *others, **options)

    Later.__init__ = make  # type: ignore[method-assign, assignment]


def run(arguments: list[str], code: str) -> None:
    """The command, and then the code, as the body of a function."""
    from apframe.cli.command import main

    sys.argv = ["apframe", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 0, ended.code
    names: dict[str, Any] = {}
    exec(compiled(f"def more():\n{indent(code or 'pass', '    ')}", "more"), names)
    names["more"]()


def peak(arguments: list[str], code: str) -> int:
    """The bytes that the command holds at once, beside what is there already."""
    gc.collect()
    tracemalloc.start()
    run(arguments, code)
    return tracemalloc.get_traced_memory()[1]


def main(code: str, *arguments: str) -> None:
    watch({*arguments})
    run([*arguments], code)
    modules = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "apframe"]
    print(json.dumps({"modules": modules, **counts, "peak_bytes": peak([*arguments], code)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

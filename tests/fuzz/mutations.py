"""What may happen to a file: bytes, tokens, values, columns and names are changed, all by one seeded `Random`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

NUMBERS = (
    "NaN", "nan", "Infinity", "-Infinity", "inf", "1e400", "-1e400", "1e308", "-1e308", "5e-324", "-0", "-0.0", "0", "-1",
    "2", "1.5", "1e18", "2147483648", "9007199254740993", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" + "0" * 30, "9" * 5000, "0x10", "1_000", "01",
    "+1", ".5", "1e", "--1", "٣", "10000000000", "1e10",
)  # fmt: skip
NAMES = (
    "", " ", "\t", "\n", "\0", "a\tb", "a\nb", "a\rb", "a\0b", "a b", "a/b", "/", "\\", "..", "../b", ".", ".b", "x" * 300,
    "x" * 5000, "\ud800", "a\udfffb", "é", "名前", "🙂", "*", "^x.*$", "[1]", "{x}", "$", "%s", "a,b", "a;b", '"', "'", 'a"b',
    "<b>", "&amp;", "&b;", "]]>", "#", "-", "--json", "null", "true", "NULL", "1", "01", "cat", "image_id", "score", "\ufeff",
    "\u2028", "\u202e", "\x07", "\x1b[0m", "\x85", "con", "x.txt", "a:b", "http://x", "2024-01-01", "2024-13-45",
)  # fmt: skip
_JSON = (
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    '[1,"a"]',
    '{"a":1}',
    '[{"a":[1]}]',
    '{"size":[1,2],"counts":""}',
)
_DEEP = ("[" * 900 + "]" * 900, "[" * 100_000 + "]" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000)
_YAML = (
    "&a [*a]",
    "*a",
    "{a: 1}",
    "[1, 2]",
    "!!python/object:os.system x",
    "!!binary x",
    "~",
    "|",
    "? x",
    "0o8",
    "1:9:9",
    "- -",
)
_DOCTYPE = '<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
_BYTES = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b'"', b"\n", b"\r", b",", b" ", b"\x80", b"{", b"<", b"]")
_TABLES = (".parquet", ".arrow")


def mutate(folder: Path, random: Random) -> str:
    """Change one of the files below the folder, and say how."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    if not files:
        return "nothing is left"
    path = random.choice(files)
    how: list[Callable[[Path, Random], str]] = [_bytes, _file]
    if path.suffix in _TABLES:
        how += [_table] * 6
    else:
        how += [_token] * 3 + [_line]
    how += [_of_ending[path.suffix]] * 6 if path.suffix in _of_ending else []
    change = random.choice(how)(path, random)
    return f"{path.relative_to(folder)}: {change}"


def _bytes(path: Path, random: Random) -> str:
    content = bytearray(path.read_bytes())
    begin = random.randrange(len(content) + 1)
    end = min(len(content), begin + random.choice((1, 1, 4, 40, 400)))
    how = random.choice(("truncated", "flipped", "flipped", "cut", "doubled", "inserted", "overwritten", "emptied"))
    if how == "truncated":
        del content[begin:]
    elif how == "flipped":
        for place in [random.randrange(len(content)) for _ in range(random.choice((1, 1, 3, 20)))] if content else []:
            content[place] ^= 1 << random.randrange(8)
    elif how == "cut":
        del content[begin:end]
    elif how == "doubled":
        content[end:end] = content[begin:end]
    elif how == "inserted":
        content[begin:begin] = random.choice(_BYTES)
    elif how == "overwritten":
        content[begin:end] = random.randbytes(end - begin)
    else:
        content.clear()
    path.write_bytes(content)
    return f"{how} at byte {begin} to {end}"


def _file(path: Path, random: Random) -> str:
    how = random.choice(("removed", "renamed", "a folder", "another", "a copy"))
    others = sorted(file for file in path.parent.iterdir() if file != path and file.is_file())
    if how == "removed":
        path.unlink()
    elif how == "a folder":
        path.unlink()
        path.mkdir()
    elif how == "another" and others:
        shutil.copy(random.choice(others), path)
    else:
        name = random.choice([each for each in NAMES if not re.search("[/\0\ud800-\udfff]", each) and 0 < len(each) < 200])
        name = random.choice((name, name + path.suffix, f"{path.stem}{name}{path.suffix}"))
        if name in (".", "..") or (path.parent / name).exists():
            return "as it is"
        (shutil.copy if how == "a copy" else shutil.move)(path, path.parent / name)
        return f"{how} called {name!r}"
    return how


def _token(path: Path, random: Random) -> str:
    """Replace a number or a word by an odd one."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    tokens = list(re.finditer(r"[^\s,;\"'<>:{}\[\]=/]+", text))
    if not tokens:
        return "as it is"
    token = random.choice(tokens)
    odd = random.choice(NUMBERS if random.random() < 0.6 else NAMES)
    _write(path, text[: token.start()] + odd + text[token.end() :])
    return f"{token[0][:40]!r} at {token.start()} became {odd[:40]!r}"


def _line(path: Path, random: Random) -> str:
    lines = path.read_bytes().split(b"\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.choice(("removed", "doubled", "swapped", "joined", "blanks", "longer", "shorter"))
    if how == "removed":
        del lines[place]
    elif how == "doubled":
        lines.insert(place, lines[other])
    elif how == "swapped":
        lines[place], lines[other] = lines[other], lines[place]
    elif how == "joined":
        lines[place : place + 2] = [b"".join(lines[place : place + 2])]
    elif how == "blanks":
        lines[place] = random.choice((b" ", b"\t", b"")) + lines[place].replace(b" ", random.choice((b"  ", b"\t", b"\v", b"")))
    elif how == "longer":
        lines[place] += random.choice((b" 1", b",1", b" x", b',"', b"\r"))
    else:
        lines[place] = lines[place].rpartition(random.choice((b" ", b",")))[0]
    path.write_bytes(b"\n".join(lines))
    return f"line {place + 1} {how}"


def _json(path: Path, random: Random) -> str:
    """Replace, remove, double or rename one of the values, wherever it stands."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # changed already
        return _token(path, random)
    every = list(places(document))
    if not every:
        return _token(path, random)
    parent, key = random.choice(every)
    how, before = random.choice(("replaced",) * 6 + ("removed", "doubled", "renamed", "wrapped")), json.dumps(parent[key])[:40]
    odd = random.choice((*NUMBERS, *map(json.dumps, NAMES), *_JSON, *_JSON, *_DEEP))
    if how == "replaced":
        parent[key] = "@odd@"
    elif how == "removed":
        del parent[key]
    elif how == "wrapped":
        parent[key] = random.choice(([parent[key]], {"a": parent[key]}, json.dumps(parent[key])))
    elif isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        odd = json.dumps(random.choice(NAMES))
        parent["@odd@"] = parent[key] if how == "doubled" else parent.pop(key)
    path.write_text(json.dumps(document).replace('"@odd@"', odd))
    return f"{how} at {key!r}: {before}, {odd[:40]}"


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """The objects and lists of a document, with each key or number of an item."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


def _xml(path: Path, random: Random) -> str:
    """Replace the text of an element or of an attribute; remove, double, rename or nest an element; add entities."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    odd = random.choice(NUMBERS if random.random() < 0.5 else NAMES)
    odd = random.choice((odd, odd.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")))
    how = random.choice(("text",) * 6 + ("element", "nested", "entities"))
    if how == "text":
        parts = list(re.finditer(r'(?<==")[^"]*(?=")|(?<=>)[^<>\s][^<>]*(?=<)|(?<=<)/?\w+|\w+(?==")', text))
    elif how == "element":
        parts = list(re.finditer(r"<(\w+)[^<>]*>(?:[^<>]*</\1>)?", text))
        odd = random.choice(("", "{0}{0}", "<a>{0}</a>", "{0}" * 50))
    elif how == "nested":
        parts, odd = list(re.finditer(r"(?<=>)(?=<)", text)), "<a>" * 3000 + "</a>" * 3000
    else:
        parts, odd = list(re.finditer(r"\A(<\?.*?\?>)?", text)), "{0}" + _DOCTYPE
        text = re.sub(r">([^<>\s]+)<", ">&c;<", text, count=random.randrange(1, 4))
    if not parts:
        return "as it is"
    part = random.choice(parts)
    _write(path, text[: part.start()] + odd.replace("{0}", part[0]) + text[part.end() :])
    return f"{how} {part[0][:40]!r} at {part.start()} became {odd[:40]!r}"


def _csv(path: Path, random: Random) -> str:
    lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    row = random.randrange(len(lines))
    cells = lines[row].split(",")
    column = random.randrange(len(cells))
    odd = random.choice(NUMBERS if random.random() < 0.5 else (*NAMES, 'a"', '"a', '""', '"a\nb"', "{0},{0}"))
    before = cells[column]
    cells[column] = odd.replace("{0}", before)
    lines[row] = ",".join(cells)
    _write(path, "\n".join(lines))
    return f"row {row} column {column}: {before[:40]!r} became {odd[:40]!r}"


def _yaml(path: Path, random: Random) -> str:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    parts = list(re.finditer(r"(?<=: )[^\n]+|(?<=:)\n(?: [^\n]*\n)+|^ *[^\n:]+(?=:)", text, re.MULTILINE))
    part = random.choice(parts) if parts else None
    if part is None:
        return "as it is"
    odd = random.choice((*_YAML, *_YAML, *_JSON, *NUMBERS, *map(json.dumps, NAMES), *NAMES, *_DEEP))
    _write(path, text[: part.start()] + f" {odd}\n" * (part[0][:1] == "\n") + odd * (part[0][:1] != "\n") + text[part.end() :])
    return f"{part[0][:40]!r} at {part.start()} became {odd[:40]!r}"


_of_ending = {".json": _json, ".xml": _xml, ".csv": _csv, ".yaml": _yaml}

_CASTS = (
    pl.String, pl.Binary, pl.Float64, pl.Float32, pl.Int64, pl.Int8, pl.UInt64, pl.Int128, pl.Boolean, pl.Categorical,
    pl.Date, pl.Null, pl.Datetime("us", "UTC"), pl.Duration("ns"), pl.Time, pl.Decimal(38, 0), pl.List(pl.Float64),
    pl.List(pl.String), pl.Struct({"a": pl.Int64}), pl.Array(pl.Float64, 4),
)  # fmt: skip
_VALUES = (
    None, True, 0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, float("nan"), float("inf"), -float("inf"), 1e308, -0.0,
    "", "a\tb", "a/b", "..", "\0", "x" * 300, "a\nb", "*", b"\xff", [], [None], [1, 2, 3, 4], [float("nan")] * 4, ["a"],
    {"a": 1},
)  # fmt: skip


def _table(path: Path, random: Random) -> str:
    """Change a column's type, name, place or values, or the rows there are."""
    try:
        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_ipc(path)
    except (pl.exceptions.PolarsError, OSError):  # changed already
        return _bytes(path, random)
    name = random.choice(frame.columns)
    how = random.choice(("cast", "cast", "value", "value", "value", "renamed", "dropped", "rows", "added", "order"))
    odd: Any = None
    if how == "cast":
        odd = random.choice(_CASTS)
        try:
            changed = frame.with_columns(pl.col(f"^{re.escape(name)}$").cast(odd, strict=False))
        except pl.exceptions.PolarsError:
            changed = frame.with_columns(pl.lit(None, odd).alias(name))
    elif how == "value":
        odd, row = random.choice(_VALUES), random.randrange(max(1, frame.height))
        values = frame[name].to_list()
        try:
            column = pl.Series(name, [odd if each == row else value for each, value in enumerate(values)])
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            column = pl.Series(name, [odd] * len(values), dtype=pl.UInt64 if odd == 2**64 - 1 else None)
        changed = frame.with_columns(column)
    elif how == "renamed":
        odd = random.choice([each for each in NAMES if not re.search("[\ud800-\udfff]", each)])
        changed = frame if odd in frame.columns else frame.rename({name: odd})
    elif how == "dropped":
        changed = frame.drop(name)
    elif how == "rows":
        odd = random.choice((0, 1, 2))
        changed = (frame.clear(), pl.concat([frame, frame]), frame.head(1))[odd]
    elif how == "added":
        odd = random.choice([each for each in NAMES if not re.search("[\ud800-\udfff]", each)])
        changed = frame.with_columns(frame[name].alias(odd))
    else:
        changed = frame[sorted(frame.columns, reverse=True)].reverse()  # names may be patterns
    try:
        rewrite(changed, path)
    except pl.exceptions.PolarsError:  # a table that no file can hold
        rewrite(frame, path)
    return f"column {name!r} {how} {str(odd)[:40]!r}"


def rewrite(table: pl.DataFrame, path: Path) -> None:
    """Replace a table in a file; what the footer of a stored set's says stays the same."""
    if path.suffix == ".parquet":
        footer = {
            key: value for key, value in pl.read_parquet_metadata(path).items() if key.startswith(("apframe.", "huggingface"))
        }
        table.write_parquet(path, metadata=footer)
    else:
        table.write_ipc(path)


def _write(path: Path, text: str) -> None:
    """Write text that may hold bytes that were no text before, or halves of characters."""
    is_half = re.search("[\ud800-\udc7f\udd00-\udfff]", text)
    path.write_bytes(text.encode("utf-8", "surrogatepass" if is_half else "surrogateescape"))

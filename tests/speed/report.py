"""From raw measurements to their report: medians, bars, and whether all tools return the same numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import Required, TypedDict

OURS = "apframe"
ABSOLUTE = {"seconds": "s", "MB": "MB"}  # quantities whose limit is a number of these


class Run(TypedDict, total=False):
    """One process: its seconds, megabytes and the numbers it returned, or the error that ended it."""

    set: Required[str]
    job: Required[str]
    tool: Required[str]
    wall: float
    cpu: float
    peak: float
    anonymous: float  # megabytes that are not of files
    elapsed: float  # of the whole process
    others: float  # seconds that other processes worked meanwhile
    stats: list[float]
    error: str


@dataclass(frozen=True)
class Cell:
    """The medians of all runs of one tool at one job on one set; `error` if any of them did not end well."""

    runs: int
    error: str = ""
    wall: float = inf
    fastest: float = inf
    slowest: float = inf
    cpu: float = inf
    peak: float = inf
    anonymous: float = inf


Cells = dict[tuple[str, str, str], Cell]  # by set, job, tool


@dataclass(frozen=True)
class Bar:
    """What is asked of apframe: at most `limit` times the best peer's, that of one, or, with a base and no peer, its own there.

    Of the quantities "seconds" and "MB" (of peak memory) the limit is so many of them, and nothing else is measured against.
    """

    job: str
    set: str
    limit: float
    below: bool = False  # less than the limit, rather than at most
    quantity: str = "time"
    base: str = ""
    base_job: str = ""
    peer: str = ""

    @property
    def reference(self) -> tuple[str, str]:
        """The set and job that it is measured against."""
        return self.base or self.set, self.base_job or self.job

    @property
    def of_its_own(self) -> bool:
        return bool(self.base or self.base_job) and not self.peer

    def is_against(self, tool: str) -> bool:
        return tool == self.peer if self.peer else (tool == OURS) == self.of_its_own

    def __str__(self) -> str:
        if unit := ABSOLUTE.get(self.quantity):
            return f"{self.job}, {self.set}: {'<' if self.below else '≤'} {self.limit:g} {unit}"
        base = ", ".join(name for name in (self.base_job, self.base) if name)
        of = f"that of {base}" if base else f"{self.peer or 'the best peer'}'s"
        if base and self.peer:
            of = f"{self.peer}'s of {base}"
        return f"{self.job}, {self.set}: {self.quantity} {'<' if self.below else '≤'} {round(self.limit, 3)} × {of}"


@dataclass(frozen=True)
class Set:
    """Input files, without their suffixes; a script, or several joined by " && ", makes them, unless they lie in `data`."""

    meaning: str
    files: tuple[str, ...]
    made_by: str = ""
    tools: tuple[str, ...] = ()  # where not all of the topic's are measured
    jobs: tuple[str, ...] = ()  # likewise
    rows: int = 0  # detections, where the page shows the time of a million of them
    sample: bool = False  # small: to try the measuring itself


@dataclass(frozen=True)
class Job:
    """What a process does, on files of this suffix."""

    meaning: str
    suffix: str
    inside: bool = False  # timed by the worker, rather than from the interpreter's start to its end
    answer: str = ""  # what it returns: jobs with the same answer return the same numbers
    tools: tuple[str, ...] = ()  # where not all of the topic's can do it


@dataclass(frozen=True)
class Topic:
    """One topic of `make bench`: who does what on which files, what they have to return, and what is asked of apframe."""

    name: str
    worker: str
    tools: tuple[str, ...]
    sets: dict[str, Set]
    jobs: dict[str, Job]
    bars: tuple[Bar, ...]
    reference: str  # the tool whose numbers are right
    numbers: int  # how many each process returns
    numbers_are: str
    tolerance: float
    metrics: tuple[str, ...] = ()  # of detections: as they are named, in the order of pycocotools
    iou_type: str = ""  # of detections that are not boxes
    unpackaged: tuple[str, ...] = ()  # tools that have no version of their own
    per_row: tuple[str, str] = ("", "")  # the set and job whose time for each row the page compares the others' with
    cpus: int = 0  # that a process may use; all of them unless it is said
    compiled: tuple[str, ...] = ()  # tools that compile at their first run and keep the result on disk: it is not counted


def summarize(runs: Iterable[Run]) -> Cells:
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["set"], run["job"], run["tool"]), []).append(run)
    cells = {}
    for key, group in groups.items():
        if errors := [run["error"] for run in group if "error" in run]:
            cells[key] = Cell(len(group), errors[0])
        else:
            walls = [run["wall"] for run in group]
            cpu, peak = median(run["cpu"] for run in group), median(run["peak"] for run in group)
            anonymous = median(run.get("anonymous", inf) for run in group)
            cells[key] = Cell(len(group), "", median(walls), min(walls), max(walls), cpu, peak, anonymous)
    return cells


def judge(bar: Bar, cells: Cells) -> str:
    """The bar, met or MISSED, and the number that was reached."""

    def value(cell: Cell) -> float:
        return {"peak memory": cell.peak, "MB": cell.peak, "CPU time": cell.cpu}.get(bar.quantity, cell.wall)

    others = {
        tool: value(cell)
        for (set_, job, tool), cell in cells.items()
        if (set_, job) == bar.reference and not cell.error and bar.is_against(tool)
    }
    if bar.quantity in ABSOLUTE:
        others = {"": 1.0}
    ours = cells.get((bar.set, bar.job, OURS))
    if not others or ours is None or ours.error:
        return f"- **not measured** {bar}"
    best = min(others, key=others.__getitem__)
    ratio = value(ours) / others[best]
    met = ratio < bar.limit if bar.below else ratio <= bar.limit
    whose = f" ({best})" if not (bar.of_its_own or bar.peer) else ""
    if unit := ABSOLUTE.get(bar.quantity):
        whose = f" {unit}"
    return f"- **{'met' if met else 'MISSED'}** {bar}; reached {ratio:.3g}{whose}"


def deviations(topic: Topic, runs: Sequence[Run]) -> dict[str, tuple[str, dict[str, float]]]:
    """By set and answer: the reference (the topic's, or else the first tool that ran), and how far each tool is from it."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        if "stats" in run:
            answer = topic.jobs[run["job"]].answer
            groups.setdefault(f"{run['set']}, {answer}" if answer else run["set"], []).append(run)
    result = {}
    for group, found in groups.items():
        reference = next((run for run in found if run["tool"] == topic.reference), found[0])
        largest: dict[str, float] = {}
        for run in found:
            gaps = [abs(a - b) for a, b in zip(run["stats"], reference["stats"], strict=False)]
            complete = len(run["stats"]) == topic.numbers and not any(map(isnan, gaps))
            largest[run["tool"]] = max([*gaps, largest.get(run["tool"], 0.0)]) if complete else inf
        result[group] = (reference["tool"], largest)
    return result


def all_equal(topic: Topic, runs: Sequence[Run]) -> bool:
    return all(gap <= topic.tolerance for _, gaps in deviations(topic, runs).values() for gap in gaps.values())


def table(cells: Cells, set_: str, job: str) -> list[str]:
    """The Markdown table of one job on one set, the fastest tool first."""
    rows = {tool: cell for (s, j, tool), cell in cells.items() if (s, j) == (set_, job)}
    ours = rows.get(OURS)
    lines = ["| tool | runs | wall s (min to max) | CPU s | peak MB | apframe ÷ tool |", "|---|--:|--:|--:|--:|--:|"]
    for tool, cell in sorted(rows.items(), key=lambda row: row[1].wall):
        if cell.error:
            lines.append(f"| {tool} | {cell.runs} | {cell.error.replace('|', '/')} | | | |")
        else:
            wall = f"{cell.wall:.3f} ({cell.fastest:.3f} to {cell.slowest:.3f})"
            ratio = f"{ours.wall / cell.wall:.2f}" if ours and not ours.error else ""
            lines.append(f"| {tool} | {cell.runs} | {wall} | {cell.cpu:.3f} | {cell.peak:,.0f} | {ratio} |")
    return lines


def disturbance(runs: Iterable[Run]) -> str:
    """How much other work there was on the machine: with much of it, times say little."""
    measured = [run for run in runs if "others" in run]
    share = sum(run["others"] for run in measured) / max(sum(run["elapsed"] for run in measured), 1e-9)
    return f"Other processes used {share:.0%} of a core meanwhile{': these times say little' if share > 0.2 else ''}."


def render(topic: Topic, machine: dict[str, str], inputs: dict[str, str], runs: Sequence[Run]) -> str:
    """The whole report as Markdown."""
    cells = summarize(runs)
    lines = [f"## Speed: {topic.name}", "", *(f"- {name}: {value}" for name, value in machine.items()), ""]
    lines += ["Every run is a fresh process; medians; a peak is the whole process's resident memory, MB are 10^6 bytes."]
    if topic.compiled:
        lines[-1] += f" Code that {', '.join(topic.compiled)} compiles and keeps on disk is there before the first run."
    for set_, job in dict.fromkeys((run["set"], run["job"]) for run in runs):
        lines += ["", f"### {job}, {set_}", "", f"{topic.sets[set_].meaning}; {topic.jobs[job].meaning}.", ""]
        lines += [*table(cells, set_, job), ""]
        lines.append(disturbance(run for run in runs if (run["set"], run["job"]) == (set_, job)))
    lines += ["", "### Bars, against the fastest or leanest peer above", "", *(judge(bar, cells) for bar in topic.bars)]
    lines += ["", disturbance(runs).replace("meanwhile", "in all of this")]
    lines += ["", f"### Same numbers: {'yes' if all_equal(topic, runs) else 'NO'}", ""]
    lines += [f"The largest deviation of any of {topic.numbers_are}, in all runs; at most {topic.tolerance:g} is allowed.", ""]
    for group, (reference, gaps) in deviations(topic, runs).items():
        verdicts = [f"{tool} {gap:.2g}{'' if gap <= topic.tolerance else ' (DIFFERS)'}" for tool, gap in gaps.items()]
        lines.append(f"- {group}, from {reference}: {', '.join(verdicts)}")
    lines += ["", "### Inputs (SHA-256)", "", *(f"- `{name}` {digest}" for name, digest in inputs.items())]
    return "\n".join(lines) + "\n"


def of_rows(topic: Topic, cells: Cells, set_: str, job: str) -> list[str]:
    """The seconds for a million rows, these divided by the base's, and the peak of memory that is not of files."""
    cell, base = cells.get((set_, job, OURS)), cells.get((*topic.per_row, OURS))
    if cell is None or cell.error or not topic.sets[set_].rows:
        return ["", "", ""]
    each = cell.wall / topic.sets[set_].rows
    relative = "" if base is None or base.error else f"{each / (base.wall / topic.sets[topic.per_row[0]].rows):.2f}"
    return [f"{1e6 * each:.3f}", relative, f"{cell.anonymous:,.0f}"]


def page(topic: Topic, machine: dict[str, str], runs: Sequence[Run], command: str) -> str:
    """The table of a topic for docs/speed.md: seconds / CPU seconds (peak memory), and how they were measured."""
    cells = summarize(runs)
    tools = [tool for tool in topic.tools if any(run["tool"] == tool for run in runs)]
    versions = {entry.split()[0]: entry for entry in machine["versions"].split(", ")}
    head = ["data", "job", *(tool if tool == OURS else versions.get(tool, tool) for tool in tools)]
    if any(topic.per_row):
        head += ["s per million", f"relative to {', '.join(topic.per_row)}", "anonymous MB"]
    lines = [f"| {' | '.join(head)} |", f"|---|---|{'--:|' * (len(head) - 2)}"]
    for set_, job in dict.fromkeys((run["set"], run["job"]) for run in runs):
        row = [cells.get((set_, job, tool)) for tool in tools]
        shown = ["" if cell is None else cell.error or f"{cell.wall:.3f} / {cell.cpu:.3f} ({cell.peak:,.0f})" for cell in row]
        shown += of_rows(topic, cells, set_, job) if any(topic.per_row) else []
        lines.append(f"| {' | '.join([set_, topic.jobs[job].meaning, *shown])} |")
    says = f"{versions[OURS]}, {machine['date']}, {machine['machine']}: `{command}`. {disturbance(runs)}"
    return "\n".join([*lines, "", *paragraph(says)])


def paragraph(text: str) -> list[str]:
    """The lines of a paragraph of a page."""
    return wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def marked(name: str, text: str) -> str:
    """A text between the marks of its name, as pages have them."""
    return f"<!-- {name} -->\n\n{text}\n\n<!-- end of {name} -->"


def put(page: Path, block: str) -> None:
    """Put a marked text in place of the one that a page has between the same marks; a page without them stays as it is."""
    begin, *_, end = block.splitlines()
    page.write_text(re.sub(f"{begin}.*{end}", lambda _: block, page.read_text(), flags=re.DOTALL))

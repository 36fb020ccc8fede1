"""From raw measurements to the benchmark's report: medians, bars, and whether all tools return the same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from statistics import median
from typing import Required, TypedDict

METRICS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
OURS, REFERENCE, TOLERANCE = "apframe", "pycocotools", 1e-12
SETS = {
    "street": "the sample set",
    "45k": "45,000 detections, 5,000 images, 80 categories, 35,000 annotations",
    "450k": "450,000 detections, 5,000 images, 80 categories, 35,000 annotations",
    "5m": "5,000,000 detections, 80,000 images, 365 categories, 1,200,000 annotations",
}
JOBS = {
    "process": "two JSON files to twelve numbers, the whole process from the interpreter's start to its end",
    "warm": "two JSON files to twelve numbers in a warm process",
    "loaded": "tables or objects already loaded, to complete metrics, in a warm process",
}


class Run(TypedDict, total=False):
    """One process: its seconds, megabytes and twelve numbers, or the error that ended it."""

    set: Required[str]
    job: Required[str]
    tool: Required[str]
    wall: float
    cpu: float
    peak: float
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


Cells = dict[tuple[str, str, str], Cell]  # by set, job, tool


@dataclass(frozen=True)
class Bar:
    """What is asked of apframe: at most `limit` times the best peer's, or, with `base`, its own on that set."""

    job: str
    set: str
    limit: float
    below: bool = False  # less than the limit, rather than at most
    quantity: str = "time"
    base: str = ""

    def __str__(self) -> str:
        of = f"that of {self.base}" if self.base else "the best peer's"
        return f"{self.job}, {self.set}: {self.quantity} {'<' if self.below else '≤'} {self.limit} × {of}"


BARS = (
    Bar("process", "450k", 1.5),
    Bar("process", "5m", 1.0, below=True),
    Bar("warm", "45k", 1.3),
    Bar("warm", "450k", 1.0),
    Bar("loaded", "45k", 1.5),
    Bar("loaded", "450k", 1.0, below=True),
    Bar("loaded", "5m", 1.0, below=True),
    Bar("warm", "450k", 10.0, base="45k"),
    Bar("loaded", "450k", 10.0, base="45k"),
    Bar("process", "5m", 2.0, quantity="peak memory"),
)


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
            cells[key] = Cell(len(group), "", median(walls), min(walls), max(walls), cpu, peak)
    return cells


def judge(bar: Bar, cells: Cells) -> str:
    """The bar, met or MISSED, and the number that was reached."""

    def value(cell: Cell) -> float:
        return cell.peak if bar.quantity == "peak memory" else cell.wall

    wanted = (bar.base or bar.set, bar.job)
    others = {
        tool: value(cell)
        for (set_, job, tool), cell in cells.items()
        if (set_, job) == wanted and not cell.error and (tool == OURS) == bool(bar.base)
    }
    ours = cells.get((bar.set, bar.job, OURS))
    if not others or ours is None or ours.error:
        return f"- **not measured** {bar}"
    best = min(others, key=others.__getitem__)
    ratio = value(ours) / others[best]
    met = ratio < bar.limit if bar.below else ratio <= bar.limit
    return f"- **{'met' if met else 'MISSED'}** {bar}; reached {ratio:.3g}" + ("" if bar.base else f" ({best})")


def deviations(runs: Sequence[Run]) -> dict[str, tuple[str, dict[str, float]]]:
    """By set: the reference (pycocotools, or else the first tool that ran), and how far each tool is from it."""
    result = {}
    for set_ in dict.fromkeys(run["set"] for run in runs if "stats" in run):
        found = [run for run in runs if run["set"] == set_ and "stats" in run]
        reference = next((run for run in found if run["tool"] == REFERENCE), found[0])
        largest: dict[str, float] = {}
        for run in found:
            gaps = [abs(a - b) for a, b in zip(run["stats"], reference["stats"], strict=False)]
            complete = len(run["stats"]) == len(METRICS) and not any(map(isnan, gaps))
            largest[run["tool"]] = max([*gaps, largest.get(run["tool"], 0.0)]) if complete else inf
        result[set_] = (reference["tool"], largest)
    return result


def all_equal(runs: Sequence[Run]) -> bool:
    return all(gap <= TOLERANCE for _, gaps in deviations(runs).values() for gap in gaps.values())


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


def render(machine: dict[str, str], inputs: dict[str, str], runs: Sequence[Run]) -> str:
    """The whole report as Markdown."""
    cells = summarize(runs)
    lines = ["## Benchmark", "", *(f"- {name}: {value}" for name, value in machine.items()), ""]
    lines += ["Every run is a fresh process; medians; a peak is the whole process's resident memory, MB are 10^6 bytes."]
    for set_, job in dict.fromkeys((run["set"], run["job"]) for run in runs):
        lines += ["", f"### {job}, {set_}", "", f"{SETS[set_]}; {JOBS[job]}.", "", *table(cells, set_, job), ""]
        lines.append(disturbance(run for run in runs if (run["set"], run["job"]) == (set_, job)))
    lines += ["", "### Bars, against the fastest or leanest peer above", "", *(judge(bar, cells) for bar in BARS)]
    lines += ["", disturbance(runs).replace("meanwhile", "in all of this")]
    lines += ["", f"### Same numbers: {'yes' if all_equal(runs) else 'NO'}", ""]
    lines += [f"The largest deviation of any of the twelve numbers, in all runs; at most {TOLERANCE:g} is allowed.", ""]
    for set_, (reference, gaps) in deviations(runs).items():
        verdicts = [f"{tool} {gap:.2g}{'' if gap <= TOLERANCE else ' (DIFFERS)'}" for tool, gap in gaps.items()]
        lines.append(f"- {set_}, from {reference}: {', '.join(verdicts)}")
    lines += ["", "### Inputs (SHA-256)", "", *(f"- `{name}` {digest}" for name, digest in inputs.items())]
    return "\n".join(lines) + "\n"

"""How time and bytes grow with the data, and the plan for a billion detections that follows from it.

    python -m tests.speed.growth --write

Each set is evaluated with one thread, in a process of its own. `--write` puts the tables into docs/decisions/engineering.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .__main__ import OUT, ROOT, busy_seconds, describe, input_files
from .growth_worker import REST
from .report import marked, paragraph, put
from .topics import SHARDS

PAGE = ROOT / "docs" / "decisions" / "engineering.md"
WORKER = Path(__file__).with_name("growth_worker.py")
BILLION = 10**9
WORKERS = 32  # of the plan, a core each
MACHINE = 16 * 10**9  # bytes of memory that a process of the plan may take
NETWORK = 125 * 10**6  # bytes that a worker of the plan sends or gets in a second: 1 Gbit
RESAMPLES = 1000
U32 = 1 << 32
# what a stage is called, and where it runs; a stage of "each shard" can run on as many workers as there are shards
STAGES = {
    "read": ("read Parquet", "each shard"),
    "prepare": ("check the tables, apply the rules", "each shard"),
    "pair": ("order, and pair with annotations", "each shard"),
    "match": ("match", "each shard"),
    "table": ("verdicts as a table by category", "each shard"),
    "write": ("write the table", "each shard"),
    "number": ("number images and rows of all shards", "driver"),
    "merge": ("put verdicts of all shards together", "each block of categories"),
    "rank": ("rank, to metrics", "each block of categories"),
    REST: (REST, "driver"),
}


@dataclass(frozen=True)
class Grown:
    """What `growth_worker.py stages` measured on one set.

    Attributes
    ----------
    n_detections, n_images, n_shards, largest
        how many there are; `largest`: detections of the largest category
    cpu, made
        microseconds of one core, and bytes, for each detection, by stage
    files, written
        bytes of the shards and of their verdicts, on disk, for each detection
    matching, ranking
        peaks in MB while shards are matched, and while they are ranked: all memory (`resident`), what is not of files
        (`anonymous`), and what was so before
    block
        how many detections the largest block of categories has
    """

    n_detections: int
    n_images: int
    n_shards: int
    largest: int
    cpu: Mapping[str, float]
    made: Mapping[str, float]
    files: float
    written: float
    matching: Mapping[str, float]
    ranking: Mapping[str, float]
    block: float

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Grown:
        """From what the worker prints."""
        n, stages = measured["n_detections"], measured["stages"]
        sizes = {name: stage["bytes"] / n for name, stage in stages.items()}
        return cls(
            cpu={name: 1e6 * stage["cpu"] / n for name, stage in stages.items()},
            made=sizes,
            files=measured["files"] / n,
            written=measured["written"] / n,
            block=stages["merge"]["most"] / sizes["merge"],
            **{name: measured[name] for name in ("n_images", "n_shards", "largest", "matching", "ranking")},
            n_detections=n,
        )

    def core(self, where: str) -> float:
        """The microseconds of one core for each detection, of all stages that run there."""
        return sum(took for name, took in self.cpu.items() if STAGES[name][1] == where)

    @property
    def total(self) -> float:
        """The microseconds of one core for each detection."""
        return sum(self.cpu.values())

    @property
    def in_a_block(self) -> float:
        """The bytes of memory for each detection of a block of categories that is put together and ranked."""
        return 1e6 * (self.ranking["anonymous"] - self.ranking["before"]) / self.block


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(text: Sequence[str], numbers: Sequence[str]) -> list[str]:
    return [row(*text, *numbers), f"|{'---|' * len(text)}{'--:|' * len(numbers)}"]


def in_bytes(number: float) -> str:
    """A number of bytes in GB, MB or kB.

    >>> in_bytes(2.5e9), in_bytes(3e6), in_bytes(4e3)
    ('2.5 GB', '3 MB', '4 kB')
    """
    if number >= 1e9:
        return f"{number / 1e9:,.1f} GB"
    return f"{number / 1e6:,.0f} MB" if number >= 1e6 else f"{number / 1e3:,.0f} kB"


def in_time(seconds: float) -> str:
    """A time in hours, minutes or seconds.

    >>> in_time(7200), in_time(90), in_time(89)
    ('2.0 hours', '1.5 minutes', '89 seconds')
    """
    units = ((3600, "hours"), (60, "minutes"))
    return next((f"{seconds / unit:,.1f} {name}" for unit, name in units if seconds >= 1.5 * unit), f"{seconds:.0f} seconds")


def in_detections(number: float) -> str:
    """A number of detections in words.

    >>> in_detections(2.5e9), in_detections(3e13)
    ('2.5 billion', '30,000 billion')
    """
    return f"{number / BILLION:,.{0 if number >= 20 * BILLION else 1}f} billion"


def growth_table(grown: Mapping[str, Grown]) -> list[str]:
    """The rows of stages: microseconds of a core and bytes made for each detection, of each set."""
    names = list(grown)
    lines = head(["stage", "runs for"], [*(f"µs, {name}" for name in names), *(f"bytes, {name}" for name in names)])
    for stage, (name, where) in STAGES.items():
        took = [f"{each.cpu[stage]:.3f}" for each in grown.values()]
        sizes = [f"{each.made[stage]:.1f}" if each.made[stage] else "" for each in grown.values()]
        lines.append(row(name, where, *took, *sizes))
    lines.append(row("all stages", "", *(f"{each.total:.3f}" for each in grown.values()), *([""] * len(names))))
    for what, value in (("shards on disk", "files"), ("verdicts on disk", "written")):
        lines.append(row(what, "", *([""] * len(names)), *(f"{getattr(each, value):.1f}" for each in grown.values())))
    return lines


def peaks_table(grown: Mapping[str, Grown]) -> list[str]:
    """The rows of memory."""
    lines = head(["peak memory, MB"], list(grown))
    for what, phase in (("while shards are matched", "matching"), ("while they are ranked", "ranking")):
        lines.append(row(what, *(f"{getattr(each, phase)['resident']:,.0f}" for each in grown.values())))
        lines.append(row("of it not of files", *(f"{getattr(each, phase)['anonymous']:,.0f}" for each in grown.values())))
    lines.append(row("detections of the largest block", *(f"{each.block:,.0f}" for each in grown.values())))
    return lines


def plan_table(base: Grown, whole: Mapping[str, Any]) -> list[str]:
    """The rows of the plan for a billion detections, from the figures of the largest set and of the numbering of its images."""
    times = BILLION / base.n_detections
    images = times * base.n_images
    matching, ranking = (1e-6 * BILLION * base.core(where) for where in ("each shard", "each block of categories"))
    largest = base.largest / base.n_detections
    sent = {
        "shards": BILLION * base.files,
        "verdicts": BILLION * base.written,
    }
    sending = sent["shards"] / WORKERS / NETWORK + sent["verdicts"] / NETWORK
    slowest = max(ranking / WORKERS, ranking * largest)
    lines = head(["what", "where"], ["a billion detections"])
    lines += [
        row("images", "", f"{images:,.0f}"),
        row("shards, as large as those measured", "", f"{times * base.n_shards:,.0f}"),
        row("shards on disk", "object store", in_bytes(BILLION * base.files)),
        row("core time of matching", "workers", in_time(matching)),
        row(f"matching on {WORKERS} workers", "workers", in_time(matching / WORKERS)),
        row("memory of a worker that matches", "workers", in_bytes(1e6 * base.matching["anonymous"])),
        row("verdicts on a disk that all share", "work=", in_bytes(BILLION * base.written)),
        row("numbering of the images", "driver", in_time(whole["numbering"])),
        row("memory for that", "driver", in_bytes(1e6 * whole["megabytes"])),
        row("core time of ranking", "driver", in_time(ranking)),
        row("detections of the largest category", "", f"{BILLION * largest:,.0f}"),
        row(f"ranking on {WORKERS} cores, this category on one of them", "driver", in_time(slowest)),
        row("memory for this category", "driver", in_bytes(BILLION * largest * base.in_a_block)),
        row("over the network: shards", "object store to workers", in_bytes(sent["shards"])),
        row("over the network: verdicts", "workers to driver", in_bytes(sent["verdicts"])),
        row(f"all of that at {in_bytes(NETWORK)} per second for each machine", "", in_time(sending)),
        row("all together, one after the other", "", in_time(matching / WORKERS + whole["numbering"] + slowest + sending)),
    ]
    return lines


def limits(base: Grown, whole: Mapping[str, Any]) -> list[tuple[float, str, str]]:
    """What breaks: at how many detections, why, and what helps; the first one first."""
    images = base.n_images / base.n_detections
    largest = base.largest / base.n_detections
    each_image = 1e6 * whole["megabytes"] / whole["n_images"]
    memory = in_bytes(MACHINE)
    more = "a machine with more memory for it"
    bounds = [
        (
            MACHINE / (part * base.in_a_block),
            f"{what} takes {memory} where it is ranked; it takes {in_bytes(BILLION * part * base.in_a_block)} at a billion",
            more,
        )
        for part, what in (
            (largest, f"the largest category ({100 * largest:.1f}% of all detections)"),
            (0.5, "a category that has half of all detections"),
        )
    ]
    bounds += [
        (
            MACHINE / (images * each_image),
            f"the driver takes {memory} to number all images",
            "shorter ids: whole numbers, not names",
        ),
        (
            U32,
            "numbers of rows no longer fit into 32 bits",
            "nothing to do: they take 64, which are 4 more bytes for each detection",
        ),
        (U32 / images, "numbers of images no longer fit into 32 bits", "evaluate parts"),
    ]
    return sorted(bounds)


def limits_table(base: Grown, whole: Mapping[str, Any]) -> list[str]:
    """The rows of what breaks first."""
    lines = ["| at | what breaks | what helps |", "|--:|---|---|"]
    return [*lines, *(row(in_detections(at), why, remedy) for at, why, remedy in limits(base, whole))]


def resampling(base: Grown, whole: Mapping[str, Any]) -> str:
    """What intervals cost at a billion detections."""
    ranking = 1e-6 * BILLION * base.cpu["rank"]
    return (
        f"One resample of {whole['n_images']:,} images takes {in_time(whole['drawing'])} to draw and "
        f"{in_bytes(whole['bytes of a resample'])} to hold. {RESAMPLES:,} of them take {in_time(RESAMPLES * whole['drawing'])} "
        f"of one core to draw. If ranking a resample takes as long as ranking the data, they take "
        f"{in_time(RESAMPLES * ranking)} of one core to rank."
    )


def measure(*words: str) -> dict[str, Any]:
    """What the worker prints, and how much other work there was."""
    busy, own, start = busy_seconds(), cpu_of_children(), time.perf_counter()
    done = subprocess.run([sys.executable, WORKER, *words], stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    measured["elapsed"] = time.perf_counter() - start
    measured["others"] = max(0.0, busy_seconds() - busy - (cpu_of_children() - own))
    return measured


def cpu_of_children() -> float:
    """CPU seconds of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_page(tables: Mapping[str, Sequence[str]]) -> None:
    """Put each text between its marks."""
    for name, lines in tables.items():
        put(PAGE, marked(name, "\n".join(lines)))


def report(grown: Mapping[str, Grown], whole: Mapping[str, Any], measured_by: str) -> dict[str, list[str]]:
    """The texts of the page, by the names of their marks; the plan is made from the largest set."""
    base = list(grown.values())[-1]
    return {
        "growth": [*growth_table(grown), "", *peaks_table(grown), "", *paragraph(measured_by)],
        "plan": plan_table(base, whole),
        "limits": [*limits_table(base, whole), "", *paragraph(resampling(base, whole))],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.speed.growth", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SHARDS.sets, default=["500k", "5m", "50m"], help="the last: of the plan")
    parser.add_argument("--data", type=Path, default=OUT, help="where the large sets are, or are made; default: .bench")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/decisions/engineering.md")
    options = parser.parse_args(arguments)

    measured = {}
    for name in options.sets:
        files = input_files(SHARDS, name, "shards", options.data.resolve())
        assert files is not None
        measured[name] = measure("stages", str(files[0].parent))
        print(f"{name}: {measured[name]['elapsed']:.0f} s", file=sys.stderr, flush=True)
    grown = {name: Grown.of(each) for name, each in measured.items()}
    base = list(grown.values())[-1]
    times = BILLION / base.n_detections
    whole = measure("whole", str(round(times * base.n_images)), str(round(times * base.n_shards)))
    about = describe(["apframe"])
    OUT.mkdir(exist_ok=True)
    (OUT / "growth.json").write_text(json.dumps({"machine": about, "sets": measured, "whole": whole}, indent=1) + "\n")
    share = sum(each["others"] for each in measured.values()) / sum(each["elapsed"] for each in measured.values())
    command = f"python -m tests.speed.growth --sets {' '.join(options.sets)} --write"
    tables = report(
        grown,
        whole,
        f"{about['versions']}, {about['date']}, {about['machine']}: `{command}`. Other processes used {share:.0%} of a core "
        "meanwhile.",
    )
    for lines in tables.values():
        print("\n".join(lines), end="\n\n")
    if options.write:
        write_page(tables)


if __name__ == "__main__":
    main()

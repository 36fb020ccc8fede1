"""The driver of `make bench`: measures apframe and its peers, on Linux.

A topic's report goes to standard output and, with all raw measurements, into `.bench/`. The exit code is 1 if two tools do
not return the same numbers or apframe fails; a bar that is missed is only reported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile

from .processes import Peaks
from .report import OURS, Run, Topic, all_equal, marked, page, put, render
from .topics import TOPICS

ROOT = Path(__file__).resolve().parents[2]
OUT, PAGE = ROOT / ".bench", ROOT / "docs" / "speed.md"
SECONDS, GIGABYTES = 600, 16  # a process that needs more is ended
SKIPPED = "skipped"  # how the error of a job begins that needs what is not installed
SLOW, SLOW_RUNS = 60, 2  # a tool whose first run takes longer than SLOW seconds runs so often


def input_files(topic: Topic, set_: str, job: str, data: Path) -> tuple[Path, ...] | None:
    """The files of a set, which are made where they are missing; None if a sample has none for this job."""
    made_by = topic.sets[set_].made_by
    folder = data if made_by else ROOT / "data"
    files = tuple(folder / f"{name}{topic.jobs[job].suffix}" for name in topic.sets[set_].files)
    if not all(file.exists() for file in files):
        if not made_by:
            return None
        print(f"making the files of {set_}", file=sys.stderr)
        for command in made_by.split(" && "):
            script, *arguments = command.split()
            subprocess.run([sys.executable, ROOT / script, "--out", files[0].parent, *arguments], check=True)
    return files


def files_of(topic: Topic, set_: str, jobs: Iterable[str], data: Path) -> dict[str, tuple[Path, ...]]:
    """The files of each job that has some, see `input_files`."""
    inputs = {job: input_files(topic, set_, job, data) for job in jobs}
    return {job: files for job, files in inputs.items() if files}


def make_folder() -> None:
    """Make the folder of large sets and results, which Git does not see."""
    OUT.mkdir(exist_ok=True)
    (OUT / ".gitignore").write_text("*\n")


def watch(child: subprocess.Popen[bytes], done: threading.Event, peaks: Peaks, verdict: list[str]) -> None:
    """End the child when it takes too long or holds too much memory with its descendants, and say which."""
    deadline = time.monotonic() + SECONDS
    while not done.wait(0.05):
        held = peaks.look(child.pid).resident
        if time.monotonic() > deadline or held > GIGABYTES * 1e3:
            verdict.append(f"> {GIGABYTES} GB" if held > GIGABYTES * 1e3 else f"> {SECONDS} s")
            os.kill(child.pid, 9)
            return


def busy_seconds() -> float:
    """The time that all cores together have worked since the machine started, for whatever process."""
    user, nice, system, _, _, irq, softirq, steal, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def in_order(output: str, metrics: tuple[str, ...]) -> list[float]:
    """The numbers that `apframe eval --json` prints, as pycocotools orders them, with its -1 for null."""
    values = json.loads(output)
    return [-1.0 if values[name] is None else float(values[name]) for name in metrics]


def command_of(topic: Topic, job: str, tool: str, files: tuple[Path, ...]) -> tuple[bool, list[str]]:
    """Whether it is apframe's own command, rather than the topic's worker, and what Python is to run."""
    names, other = [file.name for file in files], [topic.iou_type] if topic.iou_type else []
    if tool == OURS and job == "process":
        return True, ["-m", "apframe", "eval", *names, "--json", *(f"--iou-type={name}" for name in other)]
    return False, [topic.worker, tool, job, *names, *other]


@contextmanager
def restricted(n: int) -> Iterator[None]:
    """A process that is started meanwhile may use n cores; with 0, all of them."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[: n or None])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def measure(topic: Topic, set_: str, job: str, tool: str, files: tuple[Path, ...]) -> Run:
    """One cell's process. It runs in the folder of its files, so that what it prints need not name that folder."""
    cell: Run = {"set": set_, "job": job, "tool": tool}
    shell, command = command_of(topic, job, tool, files)
    done, peaks, verdict = threading.Event(), Peaks(), list[str]()
    with TemporaryFile() as out, TemporaryFile() as err:
        busy, start = busy_seconds(), time.perf_counter()
        with restricted(topic.cpus):
            child = subprocess.Popen([sys.executable, *command], cwd=files[0].parent, stdout=out, stderr=err)
        watcher = threading.Thread(target=watch, args=(child, done, peaks, verdict), daemon=True)
        watcher.start()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # its id stays taken until wait4
        wall, busy = time.perf_counter() - start, busy_seconds() - busy
        done.set()
        watcher.join()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        output, errors = out.read().decode().strip(), err.read().decode().strip()
    if child.returncode:
        last = re.sub(r"/\S*/", "", errors.splitlines()[-1]) if errors else f"exit code {child.returncode}"
        return {**cell, "error": verdict[0] if verdict else f"failed: {last}"}
    cpu = max(usage.ru_utime + usage.ru_stime, peaks.cpu)  # the kernel adds up only children that were waited for
    peak = max(usage.ru_maxrss * 1024 / 1e6, peaks.resident)  # and knows the peak of one process, rather than of all
    run: Run = {**cell, "wall": wall, "cpu": cpu, "peak": peak, "anonymous": peaks.anonymous}
    run["elapsed"], run["others"] = wall, max(busy - cpu, 0.0)
    try:
        if shell:
            return {**run, "stats": in_order(output, topic.metrics)}
        answer = json.loads(output.splitlines()[-1])  # what the tool itself prints stands above
        if "skipped" in answer:
            return {**cell, "error": f"{SKIPPED}: {answer['skipped']}"}
        if topic.jobs[job].inside:
            run["wall"], run["cpu"] = answer["wall"], answer["cpu"]
        return {**run, "stats": answer["stats"]}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return {**cell, "error": f"failed: cannot read its output, {error!r}"}


def measure_set(topic: Topic, set_: str, tools: list[str], files: Mapping[str, tuple[Path, ...]], runs: int) -> Iterator[Run]:
    """All jobs (the keys of `files`), repetitions and tools; the tools in turn forwards and backwards."""
    ended: dict[str, str] = {}  # tools that went over a limit: the next jobs contain the same work
    for job in list(files)[:1]:
        for tool in set(topic.compiled).intersection(tools):
            measure(topic, set_, job, tool, files[job])
    for job in files:
        able = chosen(tools, list(topic.jobs[job].tools) or None)
        times: dict[str, list[float]] = {tool: [] for tool in able}
        for repetition in range(runs):
            for tool in able[:: -1 if repetition % 2 else 1]:
                if tool not in times or (len(times[tool]) >= SLOW_RUNS and times[tool][0] > SLOW):
                    continue
                if tool in ended:
                    run: Run = {"set": set_, "job": job, "tool": tool, "error": ended[tool]}
                else:
                    run = measure(topic, set_, job, tool, files[job])
                if "error" in run:
                    del times[tool]  # not again
                    if run["error"].startswith(">"):
                        ended.setdefault(tool, f"{run['error']} in {job}")
                else:
                    times[tool].append(run["wall"])
                message = run.get("error") or f"{run['wall']:.3f} s, {run['peak']:,.0f} MB"
                print(f"{set_} {job} {repetition + 1}/{runs} {tool}: {message}", file=sys.stderr, flush=True)
                yield run


def sha256(file: Path) -> str:
    """Of a file; of a folder, that of the names and the contents of its files."""
    if file.is_dir():
        parts = (f"{part.relative_to(file)} {sha256(part)}\n" for part in sorted(file.rglob("*")) if part.is_file())
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def describe(tools: list[str]) -> dict[str, str]:
    """What the numbers depend on, and nothing that names the machine."""
    versions = []
    for name in (*tools, "numpy", "polars", "duckdb", "pyarrow"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"{name} (not installed)")
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{len(os.sched_getaffinity(0))} cores, {cpu[1] if cpu else platform.machine()}",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(versions),
    }


def write_page(topic: Topic, about: dict[str, str], runs: list[Run], options: argparse.Namespace) -> None:
    """Put the topic's table between its marks in docs/speed.md."""
    choices = {"topics": [topic.name], **{part: getattr(options, part) for part in ("sets", "jobs", "tools")}}
    words = [word for part, names in choices.items() if names for word in (f"--{part}", *names)]
    table = page(topic, about, runs, f'make bench BENCH="{" ".join([*words, "--runs", str(options.runs)])}"')
    put(PAGE, marked(topic.name, table))


def chosen(names: Iterable[str], wanted: list[str] | None) -> list[str]:
    """The topic's names among those that are wanted, in the order of the topic."""
    return [name for name in names if wanted is None or name in wanted]


def run_topic(topic: Topic, options: argparse.Namespace) -> str:
    """Measure and report; the answer is what went wrong."""
    packages = [tool for tool in chosen(topic.tools, options.tools) if tool not in topic.unpackaged]
    about, inputs = describe(packages), dict[str, str]()
    save = OUT / f"{topic.name}{'_quick' if options.quick else ''}.json"
    runs: list[Run] = []
    default = [set_ for set_, files in topic.sets.items() if files.sample == options.quick]
    for set_ in chosen(topic.sets, options.sets or default):
        jobs = chosen(chosen(topic.jobs, list(topic.sets[set_].jobs) or None), options.jobs)
        files = files_of(topic, set_, jobs, options.data.resolve())
        inputs.update({f"{file.parent.name}/{file.name}": sha256(file) for pair in files.values() for file in pair})
        tools = chosen(topic.sets[set_].tools or topic.tools, options.tools)
        for run in measure_set(topic, set_, tools, files, 1 if options.quick else options.runs):
            runs.append(run)
            save.write_text(json.dumps({"machine": about, "inputs": inputs, "runs": runs}, indent=1) + "\n")
    if options.write:
        write_page(topic, about, runs, options)
    report = render(topic, about, inputs, runs)
    save.with_suffix(".md").write_text(report)
    print(report)
    if not all_equal(topic, runs):
        return "the tools do not return the same numbers"
    failed = any(run["tool"] == OURS and not run.get("error", SKIPPED).startswith(SKIPPED) for run in runs)
    return "apframe has not run everywhere" if failed else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.speed", description=__doc__)
    parser.add_argument("--topics", nargs="+", choices=TOPICS, default=list(TOPICS), help="default: all")
    for part, default in (("sets", "all but the samples"), ("jobs", "all"), ("tools", "all")):
        names = dict.fromkeys(name for topic in TOPICS.values() for name in getattr(topic, part))
        parser.add_argument(f"--{part}", nargs="+", choices=names, help=f"those of a topic among these; default: {default}")
    parser.add_argument("--runs", type=int, default=5, help="processes for each tool, set and job; default: 5")
    parser.add_argument("--data", type=Path, default=OUT, help="where the large sets are, or are made; default: .bench")
    parser.add_argument("--quick", action="store_true", help="one run on the samples, to try the measuring itself")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/speed.md, where it has marks")
    options = parser.parse_args()

    make_folder()
    failed = False
    for name in options.topics:
        if reason := run_topic(TOPICS[name], options):
            print(f"FAILED: {name}: {reason}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

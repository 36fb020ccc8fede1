"""The driver of `make bench`: measures apframe and its peers, on Linux.

The report goes to standard output and, with all raw measurements, into `.bench/`. The exit code is 1 if two tools do
not return the same numbers or apframe fails; a bar that is missed is only reported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile

from .report import JOBS, METRICS, OURS, SETS, Run, all_equal, render
from .worker import TOOLS

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench"
WORKER = Path(__file__).with_name("worker.py")
SECONDS, GIGABYTES = 600, 16  # a process that needs more is ended
SLOW, SLOW_RUNS = 60, 2  # a tool whose first run takes longer than SLOW seconds runs so often
FILES = {
    "street": ("street/instances.json", "street/model_a.json"),
    "45k": ("5k/instances.json", "5k/detections_45000.json"),
    "450k": ("5k/instances.json", "5k/detections_450000.json"),
    "5m": ("80k/instances.json", "80k/detections_5000000.json"),
}
GENERATE = {
    "5k": "--images 5000 --categories 80 --annotations 35000 --detections 45000 --detections 450000",
    "80k": "--images 80000 --categories 365 --annotations 1200000 --detections 5000000",
}


def input_files(set_: str, data: Path) -> tuple[Path, Path]:
    """Ground truth and detections of a set; they are made where they are missing."""
    folder = ROOT / "data" if set_ == "street" else data
    gt, dt = (folder / name for name in FILES[set_])
    if not (gt.exists() and dt.exists()):
        print(f"making the files of {set_}", file=sys.stderr)
        arguments = GENERATE[gt.parent.name].split()
        subprocess.run([sys.executable, ROOT / "data" / "generate.py", "--out", gt.parent, *arguments], check=True)
    return gt, dt


def watch(child: subprocess.Popen[bytes], done: threading.Event, verdict: list[str]) -> None:
    """End the child when it takes too long or holds too much memory, and say which."""
    deadline = time.monotonic() + SECONDS
    while not done.wait(0.1):
        held = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1]) * resource.getpagesize()
        if time.monotonic() > deadline or held > GIGABYTES * 1e9:
            verdict.append(f"> {GIGABYTES} GB" if held > GIGABYTES * 1e9 else f"> {SECONDS} s")
            os.kill(child.pid, 9)
            return


def busy_seconds() -> float:
    """The time that all cores together have worked since the machine started, for whatever process."""
    user, nice, system, _, _, irq, softirq, steal, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def twelve(output: str) -> list[float]:
    """The numbers that `apframe eval --json` prints, as pycocotools orders them, with its -1 for null."""
    values = json.loads(output)
    return [-1.0 if values[name] is None else float(values[name]) for name in METRICS]


def measure(set_: str, job: str, tool: str, gt: Path, dt: Path) -> Run:
    """One cell's process. It runs in the folder of its files, so that what it prints need not name that folder."""
    cell: Run = {"set": set_, "job": job, "tool": tool}
    shell = tool == OURS and job == "process"
    head = ["-m", "apframe", "eval"] if shell else [str(WORKER), tool, job]
    command = [sys.executable, *head, gt.name, dt.name, *(["--json"] if shell else [])]
    done, verdict = threading.Event(), list[str]()
    with TemporaryFile() as out, TemporaryFile() as err:
        busy, start = busy_seconds(), time.perf_counter()
        child = subprocess.Popen(command, cwd=gt.parent, stdout=out, stderr=err)
        watcher = threading.Thread(target=watch, args=(child, done, verdict), daemon=True)
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
    cpu = usage.ru_utime + usage.ru_stime
    run: Run = {**cell, "wall": wall, "cpu": cpu, "peak": usage.ru_maxrss * 1024 / 1e6}
    run["elapsed"], run["others"] = wall, max(busy - cpu, 0.0)
    try:
        if shell:
            return {**run, "stats": twelve(output)}
        answer = json.loads(output.splitlines()[-1])  # what the tool itself prints stands above
        if job != "process":
            run["wall"], run["cpu"] = answer["wall"], answer["cpu"]
        return {**run, "stats": answer["stats"]}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return {**cell, "error": f"failed: cannot read its output, {error!r}"}


def measure_set(set_: str, gt: Path, dt: Path, options: argparse.Namespace) -> Iterator[Run]:
    """All jobs, repetitions and tools; the tools in turn forwards and backwards."""
    ended: dict[str, str] = {}  # tools that went over a limit: the next jobs contain the same work
    for job in options.jobs:
        times: dict[str, list[float]] = {tool: [] for tool in options.tools}
        for repetition in range(options.runs):
            for tool in options.tools[:: -1 if repetition % 2 else 1]:
                if tool not in times or (len(times[tool]) >= SLOW_RUNS and times[tool][0] > SLOW):
                    continue
                if tool in ended:
                    run: Run = {"set": set_, "job": job, "tool": tool, "error": ended[tool]}
                else:
                    run = measure(set_, job, tool, gt, dt)
                if "error" in run:
                    del times[tool]  # not again
                    if run["error"].startswith(">"):
                        ended.setdefault(tool, f"{run['error']} in {job}")
                else:
                    times[tool].append(run["wall"])
                said = run.get("error") or f"{run['wall']:.3f} s, {run['peak']:,.0f} MB"
                print(f"{set_} {job} {repetition + 1}/{options.runs} {tool}: {said}", file=sys.stderr, flush=True)
                yield run


def sha256(file: Path) -> str:
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["45k", "450k", "5m"], help="default: all but street")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS), help="default: all")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), help="default: all")
    parser.add_argument("--runs", type=int, default=5, help="processes for each tool, set and job; default: 5")
    parser.add_argument("--data", type=Path, default=OUT, help="where the large sets are, or are made; default: .bench")
    parser.add_argument("--quick", action="store_true", help="one run on the sample set, to try the benchmark itself")
    options = parser.parse_args()
    if options.quick:
        options.sets, options.runs = ["street"], 1

    OUT.mkdir(exist_ok=True)
    (OUT / ".gitignore").write_text("*\n")
    save = OUT / ("quick.json" if options.quick else "results.json")
    about, inputs = describe(options.tools), dict[str, str]()
    runs: list[Run] = []
    for set_ in options.sets:
        gt, dt = input_files(set_, options.data.resolve())
        inputs.update({f"{file.parent.name}/{file.name}": sha256(file) for file in (gt, dt)})
        for run in measure_set(set_, gt, dt, options):
            runs.append(run)
            save.write_text(json.dumps({"machine": about, "inputs": inputs, "runs": runs}, indent=1) + "\n")
    report, same = render(about, inputs, runs), all_equal(runs)
    save.with_suffix(".md").write_text(report)
    print(report)
    broken = any(run["tool"] == OURS and "error" in run for run in runs)
    if broken or not same:
        reason = "apframe has not run everywhere" if same else "the tools do not return the same numbers"
        print(f"FAILED: {reason}", file=sys.stderr)
    return int(broken or not same)


if __name__ == "__main__":
    sys.exit(main())

"""The driver of `make bench-quick`: apframe and its fastest peers on a few sets, in at most three minutes.

The table goes into docs/speed.md, with the ratios that stood there before, so that a reader sees a rise. Files are made at
the first use. A ratio is that of the fastest runs: with two of them, a median says less.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping

from . import __main__ as driver
from .report import OURS, Run, Topic, all_equal, disturbance, paragraph, put, summarize
from .topics import TOPICS

FASTEST = (OURS, "hotcoco", "ultrafast-pycocotools")
PARTS = (
    ("detection", ("45k", "450k"), FASTEST),
    ("masks", ("masks",), FASTEST),
    ("keypoints", ("persons",), FASTEST),
    ("retrieval", ("5m",), (OURS, "pytrec_eval-terrier")),
)
BEGIN, END = "<!-- quick -->", "<!-- end of quick -->"
Key = tuple[str, str]  # set, job


def ratios(runs: Iterable[Run]) -> dict[Key, tuple[float, str, float]]:
    """The seconds of apframe, and the fastest peer with its own."""
    cells = {key: cell for key, cell in summarize(runs).items() if not cell.error}
    times = {}
    for (set_, job, tool), cell in cells.items():
        peers = {key[2]: other.fastest for key, other in cells.items() if key[:2] == (set_, job) and key[2] != OURS}
        if tool == OURS and peers:
            best = min(peers, key=peers.__getitem__)
            times[set_, job] = (cell.fastest, best, peers[best])
    return times


def before(page: str) -> tuple[str, dict[Key, str]]:
    """The commit and the ratios of the table that the page has."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    rows = (line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| "))
    commit = re.search(r"commit\s(\w+)", table)
    return commit[1] if commit else "", {(row[0], row[1]): row[4] for row in rows if row[0] != "data"}


def table(found: Mapping[Key, tuple[float, str, float]], old: tuple[str, dict[Key, str]], says: str) -> str:
    """The table, beside the ratios of the one before."""
    commit, of_old = old
    lines = [f"| data | job | apframe s | fastest peer s | ratio | at {commit or 'no commit'} |", "|---|---|--:|--:|--:|--:|"]
    for (set_, job), (ours, peer, theirs) in found.items():
        shown = (set_, job, f"{ours:.3f}", f"{theirs:.3f} ({peer})", f"{ours / theirs:.2f}", of_old.get((set_, job), ""))
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join([BEGIN, "", *lines, "", *paragraph(says), "", END])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.speed.quick", description=__doc__)
    parser.add_argument("--runs", type=int, default=2, help="processes for each tool, set and job; default: 2")
    n_runs: int = parser.parse_args().runs
    driver.make_folder()
    measured: list[tuple[Topic, list[Run]]] = []
    for name, sets, tools in PARTS:
        topic, runs = TOPICS[name], list[Run]()
        for set_ in sets:
            jobs = ("text",) if name == "retrieval" else tuple(topic.jobs)
            runs += driver.measure_set(topic, set_, [*tools], driver.files_of(topic, set_, jobs, driver.OUT), n_runs)
        measured.append((topic, runs))
    every = [run for _, runs in measured for run in runs]
    about = driver.describe(list(FASTEST))
    git = ("git", "rev-parse", "--short=8", "HEAD")
    commit = subprocess.run(git, capture_output=True, text=True, cwd=driver.ROOT, check=True).stdout.strip()
    says = f"On top of commit {commit}, {about['date']}, {about['machine']}: `make bench-quick`. {disturbance(every)}"
    section = table(ratios(every), before(driver.PAGE.read_text()), says)
    put(driver.PAGE, section)
    print(section)
    wrong = [topic.name for topic, runs in measured if not all_equal(topic, runs)]
    if wrong or any(run["tool"] == OURS and "error" in run for run in every):
        print(f"FAILED: {', '.join(wrong) or OURS}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

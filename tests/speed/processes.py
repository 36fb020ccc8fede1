"""What a process and its descendants hold and use, read from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

KILOBYTE = 1024  # what /proc calls kB


@dataclass(frozen=True)
class Held:
    """Megabytes of memory of some processes, and the CPU seconds that they have used.

    Attributes
    ----------
    resident
        the sum of what each holds; pages that several of them share count once for each
    anonymous
        the part that is not of files: pages of a mapped file can be dropped and read again, these cannot
    cpu
        by process id
    """

    resident: float
    anonymous: float
    cpu: dict[int, float]


def tree(root: int) -> list[int]:
    """The process and all its descendants, as far as their parents live."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - only names are wanted
        if entry.isdigit() and (fields := _stat(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, at = [root], 0
    while at < len(found):
        found += children.get(found[at], [])
        at += 1
    return found


def held_by(processes: list[int]) -> Held:
    """What they hold at the moment; those that have ended count for nothing."""
    resident = anonymous = 0
    cpu = {}
    for process in processes:
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        sizes = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith(("VmRSS", "RssAnon"))}
        resident += int(sizes.get("VmRSS", 0))  # a process that is about to end has none
        anonymous += int(sizes.get("RssAnon", 0))
        if fields := _stat(process):
            cpu[process] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return Held(resident * KILOBYTE / 1e6, anonymous * KILOBYTE / 1e6, cpu)


@dataclass
class Peaks:
    """The most that a tree of processes held at any moment at which it was looked at, and the CPU seconds of all."""

    resident: float = 0.0
    anonymous: float = 0.0
    processes: int = 0

    def __post_init__(self) -> None:
        self._cpu: dict[int, float] = {}

    def look(self, root: int) -> Held:
        """Note what the process and its descendants hold now."""
        held = held_by(tree(root))
        self.resident = max(self.resident, held.resident)
        self.anonymous = max(self.anonymous, held.anonymous)
        self.processes = max(self.processes, len(held.cpu))
        self._cpu |= held.cpu
        return held

    @property
    def cpu(self) -> float:
        """The CPU seconds as they were at the last look at each process."""
        return sum(self._cpu.values())


def _stat(process: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may have spaces; nothing if the process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []

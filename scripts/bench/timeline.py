"""Where the wall time of a run goes: how busy its parent and its workers are, slice by slice (Linux).

    python scripts/bench/timeline.py [--slice 0.05] [--json FILE] -- gassst map REF.gsi R1.fq R2.fq -t 32 -o /dev/null

The kernel counts the time that every thread has run, and the time that it has waited for a core. Both are read from
/proc every few milliseconds. A thread of the parent is named by the order in which it began: `main`, then `1`, `2` and
so on. With worker processes, `1` waits for signals, `2` collects results, `3` checks the index; the others read.
A worker is a process that the parent has started, and it counts as all of its threads.

The summary has four parts of the wall time: before any worker has run; until half of them are busy; then; and from the
time on when fewer than half are busy again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SAMPLES_A_SLICE = 4
BUSY = 0.5  # share of the most that workers reach, from which on they count as busy


class Used(NamedTuple):
    """Seconds of a thread up to now: on a core, and waiting for one."""

    ran: float
    waited: float


class Slice(NamedTuple):
    """What threads did from `begin` to `end`, seconds since the start; all in cores.

    Attributes
    ----------
    parent : dict
        Of every thread of the parent, by name, the cores that it kept busy: at most 1.
    workers, waiting : float
        Cores that all workers kept busy, and those that they waited for.
    """

    begin: float
    end: float
    parent: dict[str, float]
    workers: float
    waiting: float


def children_of(pid: int) -> Iterator[int]:
    """The processes that a process has started and not yet waited for."""
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            yield from map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())


def used_by(pid: int) -> dict[tuple[int, int], Used]:
    """By process and thread."""
    used = {}
    with suppress(OSError):
        for task in map(int, os.listdir(f"/proc/{pid}/task")):
            with suppress(OSError):
                ran, waited, _ = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()
                used[pid, task] = Used(int(ran) / 1e9, int(waited) / 1e9)
    return used


def slices(command: list[str], seconds: float) -> tuple[list[Slice], int]:
    """Run a command; what its processes did in slices of about so many seconds, and its exit code."""
    run = subprocess.Popen(command)
    began = last = time.perf_counter()
    before: dict[tuple[int, int], Used] = {}
    latest: dict[tuple[int, int], Used] = {}
    found, ended = [], False
    while not ended:
        try:
            run.wait(seconds / SAMPLES_A_SLICE)
            ended = True
        except subprocess.TimeoutExpired:
            for pid in (run.pid, *children_of(run.pid)):
                latest.update(used_by(pid))
        now = time.perf_counter()
        if ended or now - last >= seconds:
            found.append(_slice(run.pid, last - began, now - began, before, latest))
            before, last = dict(latest), now
    return found, run.returncode


def _slice(
    parent: int,
    begin: float,
    end: float,
    before: dict[tuple[int, int], Used],
    latest: dict[tuple[int, int], Used],
) -> Slice:
    own = sorted(task for pid, task in latest if pid == parent)
    by_thread: dict[str, float] = defaultdict(float)
    workers = waiting = 0.0
    for (pid, task), used in latest.items():
        known = before.get((pid, task), Used(0, 0))
        ran, waited = (used.ran - known.ran) / (end - begin), (used.waited - known.waited) / (end - begin)
        if pid == parent:
            by_thread["main" if task == parent else str(own.index(task))] = ran
        else:
            workers += ran
            waiting += waited
    return Slice(begin, end, dict(by_thread), workers, waiting)


def summary(found: list[Slice]) -> dict[str, float]:
    """Wall seconds before workers, until they are busy, while they are, and after; cores busy meanwhile."""
    most = max(part.workers for part in found)
    some = [i for i, part in enumerate(found) if part.workers > 0]
    busy = [i for i, part in enumerate(found) if part.workers > BUSY * most]
    if not some:
        return {"wall": found[-1].end}
    first, last = found[busy[0]], found[busy[-1]]
    plateau = found[busy[0] : busy[-1] + 1]
    return {
        "wall": found[-1].end,
        "before_workers": found[some[0]].begin,
        "until_busy": first.begin - found[some[0]].begin,
        "busy": last.end - first.begin,
        "after": found[-1].end - last.end,
        "workers_cores_while_busy": _mean(plateau, "workers"),
        "workers_waiting_while_busy": _mean(plateau, "waiting"),
        "workers_cpu": sum(part.workers * (part.end - part.begin) for part in found),
    } | {
        f"parent_{name}_while_busy": sum(p.parent.get(name, 0.0) * (p.end - p.begin) for p in plateau)
        / (last.end - first.begin)
        for name in sorted({name for part in plateau for name in part.parent})
    }


def _mean(parts: list[Slice], field: str) -> float:
    seconds = sum(part.end - part.begin for part in parts)
    return float(sum(getattr(part, field) * (part.end - part.begin) for part in parts) / seconds)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slice", type=float, default=0.05, help="seconds of each line (default: 0.05)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("command", nargs="+", help="what to run, behind --")
    args = parser.parse_args(argv)
    found, code = slices(args.command, args.slice)
    names = sorted({name for part in found for name in part.parent}, key=lambda name: (name != "main", name))
    print(
        f"{'from':>6} {'to':>6}  {'parent:':<8}"
        + "".join(f"{name:>6}" for name in names)
        + "   workers  waiting"
    )
    for part in found:
        shares = "".join(f"{part.parent.get(name, 0.0):6.2f}" for name in names)
        print(f"{part.begin:6.2f} {part.end:6.2f}  {'':<8}{shares}  {part.workers:8.2f} {part.waiting:8.2f}")
    totals = summary(found)
    print("\n".join(f"{name:<30} {value:8.3f}" for name, value in totals.items()))
    if args.json:
        args.json.write_text(
            json.dumps({"summary": totals, "slices": [part._asdict() for part in found]}, indent=1) + "\n"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())

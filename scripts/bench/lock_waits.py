"""The share of their time that worker threads wait for the lock of the interpreter (Linux).

    python scripts/bench/lock_waits.py -- gassst map REF.gsi READS.fq -t 16 --processes 8 -o /dev/null --format sam

Every few milliseconds, the kernel is asked what each thread of each worker process does (/proc/PID/task/TID/syscall).
A worker waits for its next call in `read`. A futex is the lock of the interpreter, but for the few samples in which
malloc or the end of a process waits for one. Samples count from the first one in which all workers have worked to
the last one in which none waits for a call.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from timeline import children_of

SECONDS = 0.004  # from one sample to the next
FUTEX, READ = {"x86_64": ("202", "0"), "aarch64": ("98", "63")}[os.uname().machine]
STATES = {FUTEX: "waits for the lock", READ: "waits for a call", "running": "runs"}


def states(pid: int) -> Iterator[str]:
    """What each thread of a process does: a value of `STATES`, or "else"."""
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/task/{task}/syscall").read_text().split()
                yield STATES.get(words[0], "else") if words else "else"


def samples(command: list[str]) -> tuple[list[Counter[str]], int]:
    """Run a command; how many threads of its workers did what, sample by sample, and its exit code."""
    run = subprocess.Popen(command)
    found = []
    while True:
        try:
            return found, run.wait(SECONDS)
        except subprocess.TimeoutExpired:
            found.append(Counter(state for pid in children_of(run.pid) for state in states(pid)))


def while_busy(found: list[Counter[str]]) -> Counter[str]:
    """Sums over the samples between the first and the last one in which all threads have work."""
    most = max((sample.total() for sample in found), default=0)
    full = [i for i, sample in enumerate(found) if sample.total() == most and not sample["waits for a call"]]
    return sum(found[full[0] : full[-1] + 1], Counter()) if full else Counter()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="+", help="what to run, behind --")
    found, code = samples(parser.parse_args(argv).command)
    busy = while_busy(found)
    for state, count in busy.most_common():
        print(f"{state:<20} {100 * count / busy.total():6.2f} %")
    return code


if __name__ == "__main__":
    sys.exit(main())

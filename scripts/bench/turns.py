#!/usr/bin/env python3
"""Time commands in turn, A B A B: CPU and wall seconds and peak memory of every run, and ratios of the least.

    python scripts/bench/turns.py "sort=gassst map ref.gsi R1.fq R2.fq --sort -o out.bam" \\
        "markdup=gassst map ref.gsi R1.fq R2.fq --sort --markdup -o out.bam" --rounds 5 --json out.json
    python scripts/bench/turns.py --show out.json

A slow minute of the machine falls on all commands, and the least of the rounds counts. Every run is a process of its
own (timed.py): user and system time are those of it and all its children, its peak is that of its largest process.
What it writes to stdout is thrown away. Other scripts time their commands with `timed` and `in_turn`.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import benchmark_parser, describe_machine, run, table, write_json

from gassst.errors import GassstError, UsageError

NO_LIMIT = 10**9
HEADER = ["command", "user s", "CPU s", "wall s", "peak MB", "to the first"]
Usage = dict[str, float]  # "user", "cpu" and "wall" in seconds, "rss" in bytes


class RunFailed(Exception):
    """A command ended with an error or ran out of time."""


def timed(
    command: Sequence[str],
    out: Path,
    timeout: float = NO_LIMIT,
    environment: Mapping[str, str] | None = None,
) -> Usage:
    """Runs `command` with stdout to `out`. Raises RunFailed with the last line of what it said."""
    usage, err = out.with_name(f"{out.name}.usage"), out.with_name(f"{out.name}.err")
    launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("timed.py"))]
    words = [*launcher, str(usage), str(out), str(err), str(timeout), *command]
    subprocess.run(words, check=True, env=environment)
    result = json.loads(usage.read_text())
    said = err.read_text(errors="replace").strip()
    usage.unlink()
    err.unlink()
    status, timed_out = result.pop("status"), result.pop("timed_out")
    if timed_out:
        raise RunFailed(f"> {timeout:g} s")
    if status:
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        raise RunFailed(f"{how}: {said.splitlines()[-1] if said else 'no message'}")
    return result


def in_turn(
    commands: Mapping[str, Sequence[str]], rounds: int, outputs: Mapping[str, Path]
) -> dict[str, list[Usage]]:
    """The runs of every command, by its name; stdout of each goes to its file. Raises RunFailed."""
    runs: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(timed(command, outputs[name]))
    return runs


def least(runs: Sequence[Usage], key: str = "cpu") -> float:
    return min(one[key] for one in runs)


def rows(result: Mapping[str, Any]) -> list[list[Any]]:
    """The cells of a table from the JSON file: the least of all rounds, and CPU time over that of the first."""
    first, found = None, []
    for name, runs in result["runs"].items():
        cpu = least(runs)
        first = cpu if first is None else first
        peak = max(one["rss"] for one in runs) / 1e6
        seconds = [f"{least(runs, key):.2f}" for key in ("user", "cpu", "wall")]
        found.append([name, *seconds, f"{peak:.0f}", f"{cpu / max(first, 1e-9):.2f}"])
    return found


def named(text: str) -> tuple[str, list[str]]:
    """("a", ["sleep", "1"]) of "a=sleep 1"."""
    name, _, command = text.partition("=")
    words = shlex.split(command)
    if not name or not words:
        raise UsageError(f"{text!r} is not NAME=COMMAND")
    return name, words


def measure(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Usage]]:
    with tempfile.TemporaryDirectory() as folder:
        outputs = {name: Path(folder, f"out{i}") for i, name in enumerate(commands)}
        try:
            return in_turn(commands, rounds, outputs)
        except RunFailed as error:
            raise GassstError(str(error)) from error


def main(argv: Sequence[str] | None = None) -> None:
    p = benchmark_parser(__doc__)
    p.add_argument("commands", nargs="*", metavar="NAME=COMMAND")
    p.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each (default: %(default)s)")
    p.add_argument("--show", type=Path, metavar="FILE", help="print the table of a JSON file, and do no more")
    args = p.parse_args(argv)
    if args.show:
        print(table(HEADER, rows(json.loads(args.show.read_text()))))
        return
    commands = dict(map(named, args.commands))
    if not commands or len(commands) < len(args.commands) or args.rounds < 1:
        raise UsageError("give commands with a name each, and one round or more")
    print(describe_machine(), end="\n\n")
    result = {"runs": measure(commands, args.rounds)}
    print(table(HEADER, rows(result)))
    write_json(args.json, result)


if __name__ == "__main__":
    run(main)

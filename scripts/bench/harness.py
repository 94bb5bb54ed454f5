"""What all benchmarks share: the machine in words, clocks, tables for people and JSON for comparisons."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xopen import xopen

from gassst import __version__
from gassst.errors import GassstError, UsageError
from gassst.workers.thread_count import usable_threads

LINE = 4000  # of a JSON file


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def machine() -> dict[str, Any]:
    """The machine and the versions that a figure belongs to; no host or user name."""
    return {
        "cpu": _cpu_model(), "cpus": usable_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None, "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version(),
        "numpy": np.__version__, "gassst": __version__, "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def commit() -> str:
    """The commit of the code that runs, or "unknown"."""
    words = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parent)
    except OSError:
        return "unknown"  # there is no git
    return done.stdout.strip() or "unknown"


def measured(result: dict[str, Any]) -> str:
    """Which code a JSON file measured, when and where: the beginning of a sentence."""
    facts = result["machine"]
    return (
        f"Measured {facts['date']} at commit {result['commit'][:8]} on {facts['cpu']}, "
        f"{plural(facts['cpus'], 'core')}, load {facts['load']:.1f} at the end"
    )


def describe_machine() -> str:
    """One line for the head of a report; the load tells whether wall-clock times can be trusted."""
    facts = machine()
    load = "" if facts["load"] is None else f", load {facts['load']:.1f}"
    return (
        f"{facts['cpu']}, {facts['cpus']} CPUs{load}, {facts['memory_bytes'] / 2**30:.0f} GiB; "
        f"Python {facts['python']}, numpy {facts['numpy']}, gassst {facts['gassst']}"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.{4 if abs(value) < 0.1 and value else 2 if abs(value) < 10 else 1}f}"
    return f"{value:,}" if isinstance(value, (int, np.integer)) else str(value)


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A markdown table whose columns also line up as plain text; all but the first two are numbers."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: list[str]) -> str:
        padded = (
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (w + 2) if i < 2 else "-" * (w + 1) + ":" for i, w in enumerate(widths))
    return "\n".join([line(cells[0]), f"|{rule}|", *map(line, cells[1:])])


def plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def benchmark_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that benchmarks share."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=formatter)
    parser.add_argument("--json", metavar="FILE", help="also write machine and results there")
    return parser


def write_json(path: str | None, results: dict[str, Any]) -> None:
    """`results`, the machine and the commit to `path`, if there is one."""
    if path:
        report = {"machine": machine(), "commit": commit(), "command": _shared_command(), **results}
        Path(path).write_text(laid_out(json.loads(json.dumps(report, default=_plain))) + "\n")


def laid_out(value: Any, indent: int = 0) -> str:
    """JSON with a row of a table on each line."""
    line = json.dumps(value)
    parts = (
        list(value.values() if isinstance(value, dict) else value) if isinstance(value, dict | list) else []
    )
    if len(line) <= LINE or not any(isinstance(part, dict | list) for part in parts):
        return line
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(parts)
    rows = [name + laid_out(part, indent + 1) for name, part in zip(names, parts, strict=True)]
    pad = "\n" + " " * (indent + 1)
    return line[0] + pad + f",{pad}".join(rows) + pad[:-1] + line[-1]


def _shared_command() -> list[str]:
    """The command of this process, with the names of files alone: folders are those of one machine."""
    names = (Path(word).name if os.path.isabs(word) else word for word in sys.argv[1:])
    return [Path(sys.argv[0]).name, *names]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON")


def simulated(
    genome: str, stem: str, options: Sequence[str], number: int, mates: int, folder: Path
) -> list[str]:
    """The files of a set of simulated reads, one for each mate, made where they are not there yet."""
    paths = [str(folder / f"{stem}_{mate + 1}.fq") for mate in range(mates)]
    if not all(map(os.path.exists, paths)):
        outputs = [word for path in paths for word in ("-o", path)]
        command = [sys.executable, "-m", "gassst", "simulate", genome, "-n", str(number), *options, *outputs]
        subprocess.run(command, check=True)
    return paths


def quietly(*command: Any) -> None:
    """A command whose output matters only where it fails. Raises UsageError where it does, or is missing."""
    try:
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UsageError(f"{Path(command[0]).name}: {error}") from None


def by_dwgsim(genome: Path, files: list[Path], *options: Any) -> None:
    """Reads, or mates, of dwgsim without its random reads and variants, as plain FASTQ."""
    with tempfile.TemporaryDirectory(dir=files[0].parent) as scratch:
        quietly("dwgsim", "-y", 0, "-o", 1, "-c", 0, *options, genome, Path(scratch) / "d")
        for mate, file in enumerate(files, 1):
            found = next(Path(scratch).glob(f"d.bwa.read{mate}.fastq*"))
            with xopen(found, "rb") as source, file.open("wb") as target:
                shutil.copyfileobj(source, target)


def run(main: Callable[[], None]) -> None:
    """`main()` with the errors a user can cause as one line on stderr."""
    try:
        main()
    except GassstError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)

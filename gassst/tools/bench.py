"""`gassst bench`: how gassst and other mappers on this machine do on simulated reads of a reference.

Reads are simulated, every mapper that is installed maps them, and `gassst evaluate` judges. One page shows it: a table,
and a picture of the share placed right against speed. A mapper that is missing or fails is named there.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gassst.errors import GassstError, InputError, OutputError, UsageError, WorkerError
from gassst.files.inflate import open_input
from gassst.files.scratch import Scratch
from gassst.files.whole_file import write_text
from gassst.tools import bench_page
from gassst.tools.arguments import add_seed, file_path, output_path
from gassst.tools.evaluate import evaluate
from gassst.tools.mappers import METH_TOOLS, TOOLS, MapperRun, ReadSet, Tool, find, indexer, version
from gassst.tools.report_plots import require_matplotlib
from gassst.workers.children import adopting_orphans, die_with_parent
from gassst.workers.thread_count import MAX_THREADS

log = logging.getLogger("gassst")
INSERT = "350,40"
CONFIDENT = 20  # MAPQ
STARTED = "could not be started"
# This gassst, wherever it was imported from; a variable in the environment would reach mappers in Python, too.
THIS = "import sys; sys.path[:] = sys.argv.pop(1).split(':'); from gassst.__main__ import run; run()"


@dataclass(frozen=True)
class Kind:
    """Reads of one kind: their length, errors per base, and whether they are pairs."""

    length: int
    error: float
    pairs: bool = False

    @property
    def name(self) -> str:
        return f"{'2 x ' if self.pairs else ''}{self.length} bp {100 * self.error:g} %"


# Those of the table in README.md.
KINDS = (
    Kind(50, 0.05),
    Kind(100, 0.02),
    Kind(100, 0.1),
    Kind(200, 0.05),
    Kind(100, 0.02, True),
    Kind(150, 0.005, True),
    Kind(150, 0.05, True),
)
# Of reads that bisulfite converted, and their mean methylation of CpG, CHG and CHH.
METH_KINDS = (Kind(100, 0.01), Kind(100, 0.01, True), Kind(150, 0.01, True))
LEVELS = "0.7,0.01,0.01"


@dataclass(frozen=True)
class Usage:
    """What a finished program took, and why it failed, "" if it did not."""

    cpu: float
    wall: float
    failure: str = ""


def measured(command: Sequence[str], stdout: Path, timeout: float) -> Usage:
    """Run a program to its end, or until `timeout` seconds have passed; it ends with this process.

    CPU time is that of the program and of all that it has started: bwa-meth ends without waiting for bwa.
    """
    parent, expired = os.getpid(), threading.Event()
    with open(stdout, "wb") as out, tempfile.TemporaryFile() as messages, adopting_orphans():
        start = time.perf_counter()
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=messages,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),
            )
        except OSError as error:
            return Usage(0.0, 0.0, f"{STARTED}: {error.strerror}")

        def expire() -> None:
            expired.set()
            os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, expire)
        timer.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
            cpu = used.ru_utime + used.ru_stime + _cpu_of_orphans(child.pid)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        child.returncode = code = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        messages.seek(0)
        said = messages.read().decode(errors="replace").split("\n")
    if expired.is_set():
        return Usage(cpu, wall, f"ended after {timeout:g} s")
    if code == 0:
        return Usage(cpu, wall)
    last = next((line.strip() for line in reversed(said) if line.strip()), "no message")
    how = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
    return Usage(cpu, wall, f"{how}: {last[:200]}")


def _cpu_of_orphans(group: int) -> float:
    """CPU seconds of the processes that the leader of a process group has left behind, once they have ended."""
    cpu = 0.0
    with suppress(ChildProcessError):
        while True:
            _, _, used = os.wait4(-group, 0)
            cpu += used.ru_utime + used.ru_stime
    return cpu


class Bench:
    """One comparison in a folder of its own.

    Parameters
    ----------
    folder : Path
        Holds the reference, the reads, all indexes and alignments.
    number : int
        Reads of each kind, both mates counted.
    timeout : float
        Seconds that one program may take.
    meth : bool
        Bisulfite converts the reads.
    """

    def __init__(
        self, folder: Path, threads: int, number: int, seed: int, timeout: float, meth: bool = False
    ):
        self.folder, self.threads, self.number, self.seed = folder, threads, number, seed
        self.timeout, self.meth = timeout, meth
        self.failures: dict[str, str] = {}
        """By mapper: why it was left out from some point on."""

    def simulate(self, kind: Kind) -> ReadSet:
        """Reads of one kind. Raises what `gassst simulate` raises, as GassstError."""
        mates = 2 if kind.pairs else 1
        paths = [self.folder / f"reads{mate}.fq" for mate in range(1, mates + 1)]
        options: list[object] = [
            "-n",
            self.number // mates,
            "-l",
            kind.length,
            "-e",
            kind.error,
            "--seed",
            self.seed,
        ]
        options += [word for path in paths for word in ("-o", path)]
        options += ["--pairs", INSERT] if kind.pairs else []
        options += ["--meth", LEVELS] if self.meth else []
        reference = self.folder / "reference.fa"
        usage = measured(
            [*_this(), "simulate", str(reference), *map(str, options)], self.folder / "out", self.timeout
        )
        if usage.failure:
            raise GassstError(usage.failure.partition("gassst: ")[2] or f"gassst simulate: {usage.failure}")
        number = self.number // mates * mates
        return ReadSet(
            kind.name, paths[0], number, kind.length, kind.error, mates=paths[1] if kind.pairs else None
        )

    def run(self, name: str, program: tuple[str, ...], reads: ReadSet) -> dict[str, Any] | None:
        """The figures of one mapper on one set of reads; None where it failed, and for good."""
        tool, home = tools_of(self.meth)[name], self.folder / name
        job = MapperRun(program, home, self.threads, reads)
        if not home.exists() or tool.per_length:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            os.link(self.folder / "reference.fa", home / "reference.fa")
            if tool.index is not None:
                made = measured([*indexer(tool, program), *tool.index(job)], home / "log", self.timeout)
                if made.failure:
                    self._fail(name, f"indexing: {made.failure}")
                    return None
        out = home / "out.sam"
        usage = measured(
            [*program, *tool.map(job, str(out))], home / "log" if tool.writes else out, self.timeout
        )
        if usage.failure:
            self._fail(name, f"{reads.name}: {usage.failure}")
            return None
        out = tool.output(job, out)
        try:
            result = evaluate(str(out), mapq=CONFIDENT, total=reads.number)
        except GassstError as error:
            self._fail(name, f"{reads.name}: {str(error).removeprefix(f'{out}: ')}")
            return None
        finally:
            out.unlink(missing_ok=True)
        part = result["all"]
        return {
            "right": part["placed_right"],
            "sensitivity": part["sensitivity"],
            "accuracy": part["accuracy"],
            "cpu": usage.cpu,
            "wall": usage.wall,
        }

    def _fail(self, name: str, why: str) -> None:
        self.failures[name] = why
        log.warning("%s: %s; it is left out from here on", name, why)


def compare(
    bench: Bench, tools: dict[str, tuple[str, ...]], kinds: Sequence[Kind]
) -> Iterator[dict[str, Any]]:
    """Every mapper on every kind of reads: sets with their `runs` by mapper. Raises WorkerError where gassst fails."""
    for kind in kinds:
        reads, runs = bench.simulate(kind), {}
        for name, program in tools.items():
            if name in bench.failures:
                continue
            found = bench.run(name, program, reads)
            if found is not None:
                runs[name] = found
                log.info(
                    "%s: %s: %.2f %% right, %.2f s CPU", reads.name, name, 100 * found["right"], found["cpu"]
                )
            elif name == "gassst":
                raise WorkerError(f"gassst itself fails: {bench.failures[name]}")
        yield {"name": reads.name, "reads": reads.number, **asdict(kind), "runs": runs}


def tools_of(meth: bool) -> dict[str, Tool]:
    """The mappers of reads that bisulfite converted, or of others."""
    return METH_TOOLS if meth else TOOLS


def choose_tools(only: str | None, meth: bool = False) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Programs by mapper, and what to do about each one that is missing. Raises UsageError."""
    tools = tools_of(meth)
    asked = (
        list(tools) if only is None else ["gassst", *(name for name in only.split(",") if name != "gassst")]
    )
    if unknown := [name for name in asked if name not in tools]:
        raise UsageError(f"--tools {unknown[0]}: must be among {', '.join(tools)}")
    found = {name: _this() if name == "gassst" else find(tools[name]) for name in asked}
    missing = {name: f"not on PATH ({tools[name].get})" for name, program in found.items() if program is None}
    return {name: program for name, program in found.items() if program is not None}, missing


def _this() -> tuple[str, ...]:
    return sys.executable, "-c", THIS, ":".join(map(os.path.abspath, sys.path))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `gassst bench`."""
    add = parser.add_argument
    add(
        "reference",
        metavar="REF.fa",
        type=file_path,
        help="Simulate reads of this FASTA, plain or compressed.",
    )
    add(
        "-o",
        "--output",
        default="bench.html",
        metavar="OUT.html",
        type=output_path,
        help="Write the page to this file; a dash means stdout.",
    )
    add(
        "--json", metavar="OUT.json", type=output_path, help="Write all figures as JSON; a dash means stdout."
    )
    add(
        "-n", "--number", type=int, default=20_000, metavar="N", help="Simulate this many reads of each kind."
    )
    add("-t", "--threads", type=int, default=2, metavar="N", help="Give each mapper this many threads.")
    add(
        "--tools",
        metavar="NAMES",
        help=f"Compare only these mappers, separated by commas: {', '.join(TOOLS)}; with --meth "
        f"{', '.join(METH_TOOLS)}.",
    )
    add(
        "--meth",
        action="store_true",
        help="Convert the reads as bisulfite does, and compare mappers of bisulfite reads.",
    )
    add_seed(add)
    add("--timeout", type=float, default=3600, metavar="SECONDS", help="Stop a mapper after this time.")
    add(
        "--folder",
        metavar="DIR",
        help="Keep reads and indexes below this folder during the run (default: that of temporary files).",
    )


def main(args: argparse.Namespace) -> int:
    """Runs `gassst bench`. Raises UsageError, InputError, OutputError, WorkerError."""
    if args.number < 2 or args.seed < 0:
        raise UsageError("-n must be at least 2, and --seed must not be negative")
    if not 1 <= args.threads <= MAX_THREADS or not args.timeout > 0:
        raise UsageError(f"-t must be from 1 to {MAX_THREADS}, and --timeout must be positive")
    require_matplotlib()
    tools, missing = choose_tools(args.tools, args.meth)
    for name, why in missing.items():
        log.info("%s: %s", name, why)
    kinds = METH_KINDS if args.meth else KINDS
    folder = args.folder or tempfile.gettempdir()
    try:
        scratch = Scratch(folder, "bench")
    except OSError as error:
        raise OutputError(f"cannot make a folder in {folder}: {error.strerror}") from None
    try:
        reference = Path(scratch.file("reference.fa"))
        _copy_plain(args.reference, reference)
        bench = Bench(reference.parent, args.threads, args.number, args.seed, args.timeout, args.meth)
        result: dict[str, Any] = {
            "reference": os.path.basename(args.reference),
            "meth": args.meth,
            "threads": args.threads,
            "versions": {
                name: version(tools_of(args.meth)[name], program) for name, program in tools.items()
            },
            "sets": [],
        }
        is_printed = bool({args.output, args.json} & {"-", "/dev/stdout"})
        for one in compare(bench, tools, kinds):
            result["sets"].append(one)
            result["not_run"] = missing | bench.failures
            if not is_printed:
                _write(args, result)
        if is_printed:
            _write(args, result)
    finally:
        scratch.remove()
    if not is_printed:
        print(bench_page.text(result))
    return 0


def _write(args: argparse.Namespace, result: dict[str, Any]) -> None:
    """The sets up to now: what stops a long run leaves those behind."""
    write_text(args.output, bench_page.render(result))
    if args.json:
        write_text(args.json, json.dumps(result, indent=1) + "\n")


def _copy_plain(source: str, target: Path) -> None:
    """Many mappers take no compressed FASTA."""
    with open_input(source) as text, open(target, "wb") as copy:
        first = text.read(1)
        if first != b">":
            raise InputError(f"{source}: no FASTA")
        copy.write(first)
        shutil.copyfileobj(text, copy, 1 << 20)

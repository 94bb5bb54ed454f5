"""What the constants of the search are worth: each is varied alone, on reads with known places.

    python scripts/bench/constants.py human13.fa --index human13.gsi -n 10000 --groups pairs clipped
    python scripts/bench/constants.py human13.fa --only STRIDE,MUCH_CLIPPED --json constants.json

Reads are simulated once for each set. A row is one value of one constant on one set: reads placed right, right and
wrong at MAPQ >= 20, and CPU seconds of mapping in one thread, the median of --rounds that go through all values in
turn. The value in use is marked. Constants are those of the Python modules; those that are compiled in are widths of
prefetch, which change nothing but time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
from harness import benchmark_parser, describe_machine, run, table, write_json

import gassst
from gassst.errors import UsageError
from gassst.tools.evaluate import evaluate

PAIRED = ("--pairs", "350,50")
SHORT_INSERTS = ("--inserts", "40,400", "--adapter", "truseq", "--bad-tails", "0.2")
SETS = {
    "50 bp 5 %": ("-l", "50", "-e", "0.05"),
    "100 bp 8 %": ("-l", "100", "-e", "0.08"),
    "pairs 50 bp 5 %": ("-l", "50", "-e", "0.05", *PAIRED),
    "pairs 100 bp 8 %": ("-l", "100", "-e", "0.08", *PAIRED),
    "pairs 150 bp adapters": ("-l", "150", "-e", "0.02", *SHORT_INSERTS),
}


@dataclass(frozen=True)
class Varied:
    """A constant of a module, the values it is given, and the sets on which it could matter."""

    name: str
    module: str
    values: tuple[int, ...]
    sets: tuple[str, ...]


SINGLE = ("50 bp 5 %", "100 bp 8 %")
PAIRS = ("pairs 50 bp 5 %", "pairs 100 bp 8 %")
CLIPPED = ("pairs 100 bp 8 %", "pairs 150 bp adapters")
GROUPS = {
    "single": [
        Varied("LIKELY_ERRORS", "gassst.search.plan", (5, 10, 20), SINGLE),
    ],
    "pairs": [
        Varied("RESCUE_PLACES", "gassst.search.host", (16, 64, 256), PAIRS),
        Varied("LEARN_READS", "gassst.pairing.insert_size", (1024, 4096, 16384), PAIRS),
        Varied("LEARN_PART", "gassst.runs.run", (256, 1024, 4096), PAIRS[1:]),
    ],
    "clipped": [
        Varied("MUCH_CLIPPED", "gassst.local.align", (10, 20, 40), CLIPPED),
    ],
    "dense seeds": [
        Varied("STRIDE", "gassst.local.reseed", (1, 3, 6), CLIPPED[1:]),
        Varied("SPECIFIC", "gassst.local.reseed", (2, 4, 6), CLIPPED[1:]),
    ],
}


@dataclass
class Outcome:
    """Of one value on one set: the report of `evaluate`, and CPU seconds of every round."""

    judged: dict[str, Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)


@contextmanager
def given(varied: Varied, value: int) -> Iterator[None]:
    """The constant has this value in every module that has taken its name from where it is defined."""
    before = getattr(sys.modules[varied.module], varied.name)
    holders = [
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith("gassst.") and _borrowed(module, varied, before)
    ]
    for module in holders:
        setattr(module, varied.name, value)
    try:
        yield
    finally:
        for module in holders:
            setattr(module, varied.name, before)


def _borrowed(module: Any, varied: Varied, value: int) -> bool:
    """Whether the module has the constant itself, not another one of that name."""
    if module.__name__ == varied.module:
        return True
    owned = getattr(module, "__annotations__", {}).keys() | _assigned(module)
    return getattr(module, varied.name, None) == value and varied.name not in owned


def _assigned(module: Any) -> set[str]:
    """Names that the module's own source assigns."""
    path = getattr(module, "__file__", None) or ""
    if not path.endswith(".py"):
        return set()
    lines = Path(path).read_text("utf-8").splitlines()
    return {line.split(" =")[0] for line in lines if " = " in line and line[:1].isupper()}


def simulated(args: argparse.Namespace, name: str, folder: Path) -> list[str]:
    """The files of a set, made where they are not there yet."""
    stem = name.replace(" ", "_").replace("_%", "")
    paired = any(option in SETS[name] for option in ("--pairs", "--inserts"))
    return harness.simulated(args.reference, stem, SETS[name], args.number, 1 + paired, folder)


def measure(
    index: Any, reads: Sequence[str], varied: Varied, value: int, outcome: Outcome, sam: Path
) -> None:
    """Map once with this value; the mapper is made anew, since plans depend on constants, too."""
    with given(varied, value):
        mode = None if len(reads) > 1 else "global"
        mapper = gassst.Mapper(index, threads=1, device="none", mode=mode)
        began = time.process_time()
        mapper.map_file(reads[0], sam, mates=reads[1] if len(reads) > 1 else None)
        outcome.seconds.append(time.process_time() - began)
    if not outcome.judged:
        outcome.judged = evaluate(str(sam))["all"]


def rows_of(varied: Varied, name: str, outcomes: dict[int, Outcome], used: int) -> Iterator[list[Any]]:
    """A line of the table for every value."""
    for value, outcome in outcomes.items():
        judged = outcome.judged
        wrong = judged["confident"] / judged["reads"] - judged["sensitivity"]
        shares = [100 * x for x in (judged["placed_right"], judged["sensitivity"], wrong)]
        shown = f"**{value}**" if value == used else str(value)
        seconds = statistics.median(outcome.seconds)
        yield [varied.name, name, shown, *(f"{x:.3f}" for x in (*shares, seconds))]


def vary(
    index: Any, varied: Varied, files: dict[str, list[str]], rounds: int, folder: Path
) -> list[list[Any]]:
    used = getattr(sys.modules[varied.module], varied.name)
    values = sorted({*varied.values, used})
    rows: list[list[Any]] = []
    for name in varied.sets:
        outcomes = {value: Outcome() for value in values}
        for _ in range(rounds):
            for value, outcome in outcomes.items():
                measure(index, files[name], varied, value, outcome, folder / "out.sam")
        rows += rows_of(varied, name, outcomes, used)
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("reference", metavar="REF.fa")
    parser.add_argument("--index", metavar="REF.gsi", help="of the same genome (default: made for this run)")
    parser.add_argument(
        "-n", "--number", type=int, default=10_000, metavar="N", help="reads or pairs of a set (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(%(default)s)")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), help="(default: all)")
    parser.add_argument("--only", metavar="NAME,NAME", help="these constants")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep reads there")
    args = parser.parse_args(argv)
    only = set(args.only.split(",")) if args.only else None
    chosen = [varied for group in args.groups for varied in GROUPS[group] if not only or varied.name in only]
    if not chosen:
        raise UsageError(f"--only {args.only}: no such constant in these groups")
    index = gassst.Index.open(args.index) if args.index else gassst.Index.build(args.reference)
    gassst.Mapper(index, threads=1, device="none")  # imports what constants are varied in
    print(describe_machine(), end="\n\n")
    header = ["constant", "reads", "value", "right %", "right, Q20 %", "wrong, Q20 %", "CPU s"]
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        files = {
            name: simulated(args, name, folder) for name in dict.fromkeys(n for v in chosen for n in v.sets)
        }
        for varied in chosen:
            rows = vary(index, varied, files, args.rounds, Path(scratch))
            print(table(header, rows), flush=True)
            results += [dict(zip(header, row, strict=True)) for row in rows]
    write_json(args.json, {"constants": results})


if __name__ == "__main__":
    run(main)

"""Every place within the limit: CPU time of `gassst map --all`, with and without filters, and of RazerS 3.

    python scripts/bench/all_places.py --set "50 bp 5 %=human13.fa,human13.gsi,h50.fq" --json out.json

A set is a name, a genome, its index and reads. `gassst map --all -s 5 -p P` runs as by default, with `--filters none`
and with others that `--filters` names; `razers3 -rr 100` where it is found. They take turns, one thread each, and the
least CPU time of all rounds counts: user time of the whole process, index from disk and SAM to disk. Places that one
program reports are counted as missing from another if none of the same read and strand overlaps there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harness import benchmark_parser, machine, write_json
from turns import in_turn, least

GASSST = (sys.executable, "-m", "gassst")
RAZERS = "razers3"
DEFAULT, NO_FILTER = "gassst", "no filter"
# RazerS counts errors in floating point, which must not cost it one.
SLACK = 0.01
ON_REFERENCE = re.compile(r"(\d+)[MDN=X]")
REVERSE, UNMAPPED = 0x10, 4

Places = dict[tuple[str, str, bool], list[tuple[int, int]]]


class Set(NamedTuple):
    """One row: a name, a genome, its index and reads."""

    name: str
    genome: str
    index: str
    reads: str

    @classmethod
    def parse(cls, text: str) -> Set:
        name, _, files = text.partition("=")
        if files.count(",") != 2:
            raise argparse.ArgumentTypeError(f"not NAME=GENOME,INDEX,READS: {text}")
        return cls(name, *files.split(","))


def commands(one: Set, args: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """By program or choice of filters; each writes `folder`/NAME.sam."""
    own = [*GASSST, "map", "-q", "-t", "1", "--device", "none", "--all", "-s", str(args.sensitivity)]
    own += ["-p", f"{args.identity:g}", one.index, one.reads]
    found = {
        DEFAULT: own,
        NO_FILTER: [*own, "--filters", "none"],
        **{filters: [*own, "--filters", filters] for filters in args.filters},
    }
    named = {name: [*command, "-o", str(folder / f"{name}.sam")] for name, command in found.items()}
    if razers := shutil.which(args.razers3):
        options = ["-i", f"{args.identity - SLACK:g}", "-rr", "100", "-m", "1000000000", "-rl", "1000000"]
        output = str(folder / f"{RAZERS}.sam")
        named[RAZERS] = [razers, *options, "-ds", "-tc", "1", "-o", output, one.genome, one.reads]
    return named


def records(path: Path) -> Iterator[list[str]]:
    """The fields of every record that is mapped."""
    with path.open() as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if not line.startswith("@") and not int(fields[1]) & UNMAPPED:
                yield fields


def places(path: Path) -> Places:
    """(first, last) of every place on the reference, by read, contig and strand."""
    found: Places = defaultdict(list)
    for name, flag, contig, position, _, cigar, *_ in records(path):
        first = int(position)
        last = first + sum(map(int, ON_REFERENCE.findall(cigar))) - 1
        found[name, contig, bool(int(flag) & REVERSE)].append((first, last))
    return found


def missing(wanted: Places, found: Places) -> int:
    """How many of the places `wanted` no place of `found` overlaps."""
    return sum(
        not any(begin <= last and first <= end for begin, end in found.get(key, ()))
        for key, ranges in wanted.items()
        for first, last in ranges
    )


def differing(one: Path, other: Path) -> int:
    """Records of `one` that `other` has not, byte for byte."""
    return len(
        {"\t".join(fields) for fields in records(one)} - {"\t".join(fields) for fields in records(other)}
    )


def measure(one: Set, args: argparse.Namespace) -> dict[str, Any]:
    """CPU seconds and places of every program on one set."""
    with tempfile.TemporaryDirectory() as folder:
        named = commands(one, args, Path(folder))
        runs = in_turn(named, args.rounds, {name: Path(folder) / f"{name}.log" for name in named})
        sam = {name: Path(folder) / f"{name}.sam" for name in named}
        found = {name: places(path) for name, path in sam.items()}
        row: dict[str, Any] = {
            "name": one.name,
            "cpu": {name: least(ours, "user") for name, ours in runs.items()},
            "places": {name: sum(map(len, ranges.values())) for name, ranges in found.items()},
            "lost_by_filters": differing(sam[NO_FILTER], sam[DEFAULT]),
        }
        if RAZERS in found:
            row["only_razers3"] = missing(found[RAZERS], found[DEFAULT])
            row["only_gassst"] = missing(found[DEFAULT], found[RAZERS])
    return row


def table(result: dict[str, Any]) -> str:
    """A row for each set, in Markdown."""
    others = [name for name in result["sets"][0]["cpu"] if name not in (DEFAULT, NO_FILTER, RAZERS)]
    header = ["set", "default, s", "no filter, s", *(f"`{name}`, s" for name in others)]
    header += ["RazerS 3, s", "RazerS 3 / default", "places", "changed by filters", "missing beside RazerS 3"]
    rows = [header, ["---", *["--:"] * (len(header) - 1)]]
    for one in result["sets"]:
        cpu = one["cpu"]
        row = [one["name"], *(f"{cpu[name]:.2f}" for name in (DEFAULT, NO_FILTER, *others))]
        row += [f"{cpu[RAZERS]:.2f}", f"{cpu[RAZERS] / cpu[DEFAULT]:.1f}"] if RAZERS in cpu else ["-", "-"]
        row += [f"{one['places'][DEFAULT]:,}", f"{one['lost_by_filters']:,}"]
        rows.append([*row, f"{one['only_razers3']:,}" if RAZERS in cpu else "-"])
    facts = result["machine"]
    about = f"Measured {facts['date']} on {facts['cpu']}, load {facts['load']:.1f}, with gassst {facts['gassst']}."
    return about + "\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(argv: list[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--set", action="append", type=Set.parse, required=True, metavar="NAME=FA,GSI,FQ")
    parser.add_argument("--filters", action="append", default=[], metavar="F1,F2", help="time these, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-p", "--identity", type=float, default=90)
    parser.add_argument("-s", "--sensitivity", type=int, default=5)
    parser.add_argument("--razers3", default=RAZERS, metavar="PROGRAM")
    args = parser.parse_args(argv)
    result = {"machine": machine(), "sets": [measure(one, args) for one in args.set]}
    print(table(result))
    write_json(args.json, result)


if __name__ == "__main__":
    main()

"""Whether `--sort-memory` bounds what sorting and marking take: the peak of memory over ever more pairs (Linux).

    python scripts/bench/sort_memory.py [-n 1000000,2500000,5000000,10000000] [--memory 100M] [--again 0.15]
                                        [-t 2] [--kinds sort,markdup,metrics] [--json FILE]

Records are made by workers and go straight into the sorter, as those of a mapper would. A share of the pairs is there
`--again` under other names; all qualities are equal, so each of these sets is a tie. Every size runs in processes of
its own. The peak is that of the parent, and of the parent with its children, whose shared pages count once (PSS).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from harness import benchmark_parser, describe_machine, numbers, table, write_json

from gassst.cli.options import parse_size
from gassst.files.destination import AlignmentDestination
from gassst.records.duplicate_metrics import metrics_files
from gassst.records.duplicates import DuplicateSearch, LibraryNames, Signed, signer_for
from gassst.records.marking import MarkedBamFormat, SignedRun
from gassst.records.options import DuplicateRules
from gassst.records.sorted_runs import Run
from gassst.records.sorting import SortedBamFormat
from gassst.workers.threads import Workers

KINDS = ("sort", "markdup", "metrics")
GENOME = 100_000_000
LENGTH = 150
BATCH = 20_000  # pairs
NAME = b"M1:7:FLOWCELL:1:"  # then tile, x and y, with a colon between two
DIGITS = (4, 5, 9)
CORE = [
    ("size", "<i4"), ("tid", "<i4"), ("position", "<i4"), ("l_name", "u1"), ("mapq", "u1"), ("bin", "<u2"),
    ("n_cigar", "<u2"), ("flag", "<u2"), ("length", "<i4"), ("mate_tid", "<i4"), ("mate", "<i4"), ("tlen", "<i4"),
]  # fmt: skip
TEXT = len(NAME) + sum(DIGITS) + len(DIGITS)  # with the NUL behind it
RECORD = np.dtype(
    [*CORE, ("name", "u1", TEXT), ("cigar", "<u4"), ("bases", "u1", LENGTH // 2), ("quals", "u1", LENGTH)]
)
HEADER = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "SQ": [{"SN": "chr", "LN": GENOME}]})


def mixed(numbers: np.ndarray, salt: int) -> np.ndarray:
    """Numbers that look random, the same for the same ones."""
    made = (numbers + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
    made = (made ^ made >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return made ^ made >> np.uint64(32)


def records_of(first: int, n: int, again: float) -> bytes:
    """BAM of pairs `first` to `first` + `n` - 1; some lie where one before them lies."""
    pairs = np.arange(first, first + n, dtype=np.uint64)
    is_copy = (mixed(pairs, 1) % np.uint64(1 << 20) < int(again * (1 << 20))) & (pairs > 0)
    origin = np.where(is_copy, mixed(pairs, 2) % np.maximum(pairs, np.uint64(1)), pairs)
    left = (mixed(origin, 3) % np.uint64(GENOME - 1000)).astype(np.int64)
    right = left + 100 + (mixed(origin, 4) % np.uint64(300)).astype(np.int64)
    records = np.zeros((n, 2), RECORD)
    records["size"], records["l_name"], records["mapq"] = RECORD.itemsize - 4, TEXT, 60
    records["n_cigar"], records["cigar"], records["length"] = 1, LENGTH << 4, LENGTH
    records["flag"], records["quals"] = (99, 147), 37
    records["position"] = np.stack([left, right], 1)
    records["mate"] = np.stack([right, left], 1)
    records["tlen"] = np.stack([right - left + LENGTH, left - right - LENGTH], 1)
    records["name"][:, :, :-1] = names_of(pairs)[:, None, :]
    records["bases"] = np.array([0x11, 0x12, 0x48, 0x84], np.uint8)[
        (mixed(pairs, 5)[:, None, None] >> np.arange(38, dtype=np.uint64)) % np.uint64(4)
    ].repeat(2, axis=2)[:, :, : LENGTH // 2]
    return records.tobytes()


def names_of(pairs: np.ndarray) -> np.ndarray:
    """uint8[n, TEXT - 1]; no two are the same."""
    spots = mixed(pairs, 6)
    fields = (1101 + spots % np.uint64(78), spots >> np.uint64(8) & np.uint64(0x7FFF), pairs)
    columns = [np.broadcast_to(np.frombuffer(NAME, np.uint8), (len(pairs), len(NAME)))]
    for values, width in zip(fields, DIGITS, strict=True):
        powers = np.uint64(10) ** np.arange(width - 1, -1, -1, dtype=np.uint64)
        columns.append((values[:, None] // powers % np.uint64(10) + np.uint64(48)).astype(np.uint8))
        columns.append(np.full((len(pairs), 1), ord(":"), np.uint8))
    return np.concatenate(columns[:-1], axis=1)


def run_of(signer: Any, first: int, n: int, again: float) -> Run | SignedRun:
    """A call of workers: what they make of a batch."""
    bam = records_of(first, n, again)
    if signer is None:
        return Run.of(bam, 2 * n)
    templates, signed = Signed.of(signer, bam, 2 * n)
    return SignedRun(Run.of(bam, 2 * n, templates), signed)


class Peak:
    """The most memory of this process and its children, looked at ten times a second."""

    def __init__(self) -> None:
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="gassst-peak", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            with suppress(OSError, ValueError):
                children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
                self.bytes = max(self.bytes, sum(map(proportional, ["self", *children])))

    def end(self) -> int:
        """Bytes."""
        self._stop.set()
        self._thread.join()
        return self.bytes


def proportional(process: str) -> int:
    """Bytes of a process, of which shared ones count by their share; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def parent_peak() -> int:
    """Bytes of this process at most."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def measure(kind: str, pairs: int, args: argparse.Namespace) -> dict[str, Any]:
    """Sort so many pairs in this process."""
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        output = os.path.join(folder, "out.bam")
        is_metrics = kind == "metrics"
        rules = DuplicateRules(metrics_path=os.path.join(folder, "metrics") if is_metrics else None)
        libraries = LibraryNames.of(str(HEADER), rules.within)
        search = DuplicateSearch(rules, libraries) if kind != "sort" else None
        signer = None if search is None else signer_for(rules, libraries, HEADER.lengths)
        workers, call = Workers(args.threads), partial(run_of, signer)
        peak, start = Peak(), time.perf_counter()
        destination = AlignmentDestination(output, ".bai")
        common = HEADER.lengths, str(HEADER), args.level, destination, workers, args.memory
        target: Any = SortedBamFormat(*common) if search is None else MarkedBamFormat(search, *common)
        target.begin(destination.open())
        waiting: deque[Any] = deque()
        for first in range(0, pairs, BATCH):
            waiting.append(workers.submit(call, first, min(BATCH, pairs - first), args.again))
            if len(waiting) > args.threads + 1:
                target.write(waiting.popleft().result())
        while waiting:
            target.write(waiting.popleft().result())
        target.close()
        destination.commit()
        for file in [] if search is None else metrics_files(rules, search.counts):
            file.close()
            file.commit()
        found = {
            "kind": kind,
            "pairs": pairs,
            "seconds": time.perf_counter() - start,
            "duplicates": 0 if search is None else search.counts.reads,
            "parent": parent_peak(),
            "all": max(peak.end(), parent_peak()),
        }
        workers.close()
        return found


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("-n", "--pairs", type=numbers, default=(1_000_000, 2_500_000, 5_000_000, 10_000_000))
    parser.add_argument("--memory", type=parse_size, default=100 << 20, help="as --sort-memory of gassst")
    parser.add_argument("--again", type=float, default=0.15, help="share of the pairs that are copies")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--kinds", default="sort,markdup", help="some of " + ", ".join(KINDS))
    parser.add_argument("--level", type=int, default=1, help="of compression")
    parser.add_argument("--folder", help="where files lie meanwhile")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.one:
        print(json.dumps(measure(args.one, args.pairs[0], args)))
        return
    runs = []
    for kind in args.kinds.split(","):
        for pairs in args.pairs:
            words = sys.argv[1:] if argv is None else argv
            command = [sys.executable, os.path.abspath(__file__), *words, "--one", kind, "-n", str(pairs)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            runs.append(json.loads(done.stdout))
            print(runs[-1], file=sys.stderr, flush=True)
    rows = [
        (
            f"{r['kind']}, {r['pairs']:,} pairs",
            r["duplicates"],
            r["seconds"],
            r["parent"] >> 20,
            r["all"] >> 20,
        )
        for r in runs
    ]
    print(describe_machine())
    print(table(["records", "duplicates", "seconds", "MB, parent", "MB, all"], rows))
    write_json(args.json, {"memory": args.memory, "runs": runs})


if __name__ == "__main__":
    main()

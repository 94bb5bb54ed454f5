#!/usr/bin/env python3
"""Pairs and cells per second of the extension kernels, on every OpenCL device and CPU instruction set found.

    scripts/bench/kernels.py --quick
    scripts/bench/kernels.py --device gpu --lengths 100,150 --pairs 1048576 --json h100.json

Kernels: score, profile, align. GCUPS: 1e9 cells of (read bases x band diagonals) per
second of wall clock, with transfers. Compile, upload, kernel and download are OpenCL's own clock, per
call (the reads' own upload apart, in the JSON); `host` is the rest of the wall clock. Reads have 2 % errors
and lie in a random reference; how many words of 64 diagonals a length needs follows from -p as in
`gassst map`. A sample of pairs of every case is checked in the same run against edlib, or against the
portable CPU code where edlib is not installed. Needs numpy, and pyopencl for devices.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from harness import benchmark_parser, describe_machine, numbers, run, table, write_json

from gassst._core.banded import instruction_sets
from gassst.bands.base import WORDS
from gassst.bands.cpu import CpuExtender
from gassst.errors import DeviceError, GassstError
from gassst.gpu import platforms
from gassst.gpu.opencl import OpenCLExtender
from gassst.model.params import MAX_ERRORS, MAX_GAPS
from gassst.model.times import Times
from gassst.workers.thread_count import usable_threads

USUAL = {
    "lengths": (36, 50, 100, 150, 250, 500),
    "pairs": (1 << 14, 1 << 18),
    "reference": 1 << 26,
    "seconds": 0.3,
}
QUICK = {"lengths": (100, 250), "pairs": (4096,), "reference": 1 << 22, "seconds": 0.02}
ERROR_RATE = 0.02
KERNELS = "score", "profile", "align"
SHIFT = 4  # buckets of 16 diagonals: the band must hold them and the gaps on both sides
MAX_READS = 1 << 15  # distinct; larger batches take them again
MAX_ERROR_BYTES = 1 << 29  # of a profile: 64 * words * 2 bytes a pair
MIN_IDENTITY = 70.0
BASES = np.frombuffer(b"ACGT", np.uint8)


class CheckFailed(GassstError):
    """A kernel disagrees with the oracle."""


def planes_of(codes: np.ndarray) -> np.ndarray:
    """uint64[n, W, 3] of codes 0..3 uint8[n, m] (docs/pipeline.md); bits past the end are 0."""
    padded = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 64)))
    bits = np.stack([padded & 1, padded >> 1, np.zeros_like(padded)], axis=1)
    words = np.packbits(bits, axis=-1, bitorder="little").view("<u8")
    return np.ascontiguousarray(words.transpose(0, 2, 1), np.uint64)


@dataclass
class Reads:
    """What `open_reads` needs of PackedReads."""

    planes: np.ndarray
    plane_start: np.ndarray
    lengths: np.ndarray


@dataclass
class Workload:
    """Reads of one length on the reference, and the pairs to extend; `oriented` are reads as they align."""

    packed: Reads
    oriented: np.ndarray
    position: np.ndarray
    strand: np.ndarray

    def pairs(self, n: int, words: int) -> tuple[np.ndarray, np.ndarray]:
        """(read_strand, band_start) uint32[n], true places in the middle of their bands."""
        read = np.arange(n) % len(self.position)
        start = self.position[read] - 32 * words
        return (2 * read + self.strand[read]).astype(np.uint32), start.astype(np.uint32)


def make_workload(reference: np.ndarray, m: int, n: int, rng: np.random.Generator) -> Workload:
    """`n` reads of `m` bases with ERROR_RATE errors, a fifth of them gaps, from both strands."""
    margin = 64 * max(WORDS) + m
    position = rng.integers(margin, len(reference) - margin, n)
    kind = rng.random((n, m), np.float32)
    gap = np.select([kind < ERROR_RATE / 10, kind < ERROR_RATE / 5], [-1, 1], 0)
    source = np.arange(m) + np.clip(np.cumsum(gap, axis=1), -16, 16)
    codes = reference[position[:, None] + source]
    wrong = (kind >= ERROR_RATE / 5) & (kind < ERROR_RATE)
    codes = np.where(wrong, (codes + rng.integers(1, 4, (n, m))) % 4, codes).astype(np.uint8)
    strand = rng.integers(0, 2, n)
    both = np.stack([codes, 3 - codes[:, ::-1]], axis=1)
    both[strand == 1] = both[strand == 1][:, ::-1]
    planes = planes_of(both.reshape(2 * n, m))
    rows = 2 * planes.shape[1]
    flat = np.concatenate([planes.reshape(-1, 3), np.zeros((1, 3), np.uint64)])
    packed = Reads(flat, np.arange(n, dtype=np.uint32) * np.uint32(rows), np.full(n, m, np.uint32))
    return Workload(packed, codes, position, strand)


def words_for(m: int, min_identity: float) -> list[int]:
    """Band widths up to what reads of `m` bases with as many gaps as errors need."""
    gaps = min(MAX_GAPS, MAX_ERRORS, math.floor(m * (100 - min_identity) / 100))
    return [w for w in WORDS if w == 1 or 32 * w < 2 * gaps + (1 << SHIFT)]


# --- checks -------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What the kernels of one case returned."""

    best: np.ndarray
    end: np.ndarray
    profile: np.ndarray
    start: np.ndarray
    cigars: np.ndarray
    cigar_start: np.ndarray
    cigar_runs: np.ndarray


def extend_all(reads: Any, read_strand: np.ndarray, band_start: np.ndarray, words: int) -> Result:
    best, end = reads.score(read_strand, band_start, words)
    profile = reads.profile(read_strand, band_start, words)
    return Result(best, end, profile, *reads.align(read_strand, band_start, words, end, best))


def _expect(holds: bool, case: str, pair: int, what: str) -> None:
    if not holds:
        raise CheckFailed(f"{case}: pair {pair}: {what}")


def path_errors(read: np.ndarray, reference: np.ndarray, at: int, runs: np.ndarray) -> tuple[int, int, int]:
    """(errors, bases of the read, reference coordinate behind the alignment) of a CIGAR laid from `at`."""
    errors = base = 0
    for run_ in runs.tolist():
        length, op = run_ >> 4, run_ & 15
        if op == 0:
            errors += int((read[base : base + length] != reference[at : at + length]).sum())
        else:
            errors += length
        base += length if op != 2 else 0
        at += length if op != 1 else 0
    return errors, base, at


def check_paths(
    case: str, load: Workload, reference: np.ndarray, band_start: np.ndarray, got: Result
) -> None:
    """Every CIGAR has the score's errors, all of the read, and the end that the score said."""
    for i, first in enumerate(band_start.tolist()):
        read = load.oriented[i % len(load.oriented)]
        runs = got.cigars[got.cigar_start[i] :][: got.cigar_runs[i]]
        errors, bases, end = path_errors(read, reference, first + int(got.start[i]), runs)
        _expect(errors == got.best[i], case, i, f"{errors} errors in its CIGAR, score {got.best[i]}")
        _expect(bases == len(read), case, i, f"{bases} bases of {len(read)} in its CIGAR")
        _expect(end == first + int(got.end[i]) + len(read), case, i, "its CIGAR ends elsewhere")
        _expect(
            got.profile[i].argmin() == got.end[i], case, i, "profile and score end on different diagonals"
        )
        _expect(got.profile[i].min() == got.best[i], case, i, "profile and score differ")


def check_scores(
    case: str, load: Workload, reference: np.ndarray, band_start: np.ndarray, words: int, got: Result
) -> int:
    """Scores against edlib's; returns how many were certain to be equal.

    edlib is not bound to the band, so it may find fewer errors, unless its own alignment cannot have left it.
    """
    import edlib  # type: ignore[import-not-found,unused-ignore]

    certain = 0
    for i, first in enumerate(band_start.tolist()):
        read = load.oriented[i % len(load.oriented)]
        target = reference[first : first + 64 * words + len(read)]
        found = edlib.align(BASES[read].tobytes(), BASES[target].tobytes(), mode="HW", task="locations")
        errors = found["editDistance"]
        start, stop = found["locations"][0]
        diagonals = start, stop + 1 - len(read)
        inside = min(diagonals) - errors >= 0 and max(diagonals) + errors < 64 * words
        best = int(got.best[i])
        _expect(best == errors or (best > errors and not inside), case, i, f"score {best}, edlib {errors}")
        certain += inside
    return certain


def check_equal(case: str, got: Result, expected: Result) -> None:
    """All arrays equal to those of the other backend."""
    for name, array in vars(expected).items():
        if name == "cigar_start":
            continue
        if not np.array_equal(getattr(got, name), array):
            raise CheckFailed(f"{case}: {name} differs from that of the portable CPU code")


class Checker:
    """Checks a sample of every case, with edlib if there is one."""

    def __init__(self, reference: np.ndarray, planes: np.ndarray, sample: int):
        self.reference, self.sample = reference, sample
        try:
            import edlib  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
        except ImportError:
            print("edlib is not installed: pairs are checked against the portable CPU code instead\n")
            self.portable: CpuExtender | None = CpuExtender(planes, instruction_sets()[-1])
        else:
            self.portable = None

    def __call__(self, case: str, load: Workload, reads: Any, words: int) -> str:
        """Checks; returns in words what was checked. Raises CheckFailed."""
        n = min(self.sample, len(load.position))
        read_strand, band_start = load.pairs(n, words)
        got = extend_all(reads, read_strand, band_start, words)
        check_paths(case, load, self.reference, band_start, got)
        if self.portable is None:
            certain = check_scores(case, load, self.reference, band_start, words, got)
            return f"{n} as edlib, {certain} of them in the band for certain"
        with self.portable.open_reads(load.packed) as other:
            check_equal(case, got, extend_all(other, read_strand, band_start, words))
        return f"{n} as {self.portable.describe()}"


# --- measurements -------------------------------------------------------------------------------------------


def targets(device: str | None, threads: int) -> dict[str, Callable[[np.ndarray], Any]]:
    """How to make the extender of every instruction set and device; `device` "none": no OpenCL."""
    made: dict[str, Callable[[np.ndarray], Any]] = {}
    if device in (None, "none"):
        made = {f"cpu {name}": partial(CpuExtender, instruction_set=name) for name in instruction_sets()}
    names = [device] if device else [info.index for info in platforms.devices(threads) if info.usable]
    options = {"threads": threads, "profiling": True}
    return made | {name: partial(OpenCLExtender, device=name, **options) for name in names if name != "none"}


def inputs_of(reads: Any, kernel: str, load: Workload, n: int, words: int) -> tuple[Any, ...]:
    """Arguments of the kernel's method for `n` pairs."""
    read_strand, band_start = load.pairs(n, words)
    if kernel == "align":
        best, end = reads.score(read_strand, band_start, words)
        return read_strand, band_start, words, end, best
    return read_strand, band_start, words


def repeated(reads: Any, kernel: str, inputs: tuple[Any, ...], seconds: float) -> list[int]:
    """Wall-clock ns of calls, at least one, until `seconds` are over."""
    function = getattr(reads, kernel)
    walls: list[int] = []
    began = time.perf_counter()
    while not walls or time.perf_counter() - began < seconds:
        start = time.perf_counter_ns()
        function(*inputs)
        walls.append(time.perf_counter_ns() - start)
    return walls


def spent(extender: Any, reads: Any) -> Times:
    """Counters so far; those of a device's open handle are of its bands."""
    bands = getattr(reads, "bands", None)
    return replace(bands.times if bands is not None else extender.counters)


def measure(extender: Any, load: Workload, kernel: str, n: int, words: int, seconds: float) -> dict[str, Any]:
    """The fastest of the calls that fit into `seconds`, after one that is not counted."""
    with extender.open_reads(load.packed) as reads:
        opened = spent(extender, reads)
        inputs = inputs_of(reads, kernel, load, n, words)
        repeated(reads, kernel, inputs, 0)
        before = spent(extender, reads)
        walls = repeated(reads, kernel, inputs, seconds)
        after = spent(extender, reads)
    wall, rows = min(walls), load.oriented.shape[1]
    parts = {
        part: (getattr(after, part) - getattr(before, part)) / len(walls)
        for part in ("upload", "kernel", "download")
    }
    return {
        "kernel": kernel, "length": rows, "words": words, "pairs": n, "calls": len(walls), "wall_ns": wall,
        "pairs_per_second": n * 1e9 / wall, "gcups": n * rows * 64 * words / wall,
        "upload_reads_ns": opened.upload, **{f"{part}_ns": ns for part, ns in parts.items()},
    }  # fmt: skip


def run_target(
    name: str, make: Callable[[np.ndarray], Any], planes: np.ndarray, loads: dict, args: Any, check: Any
) -> dict[str, Any]:
    """All cases of one device or instruction set."""
    began = time.perf_counter_ns()
    extender = make(planes)
    result: dict[str, Any] = {"target": name, "device": extender.describe(), "cases": []}
    result["setup_ns"] = time.perf_counter_ns() - began
    print(f"{name}: {extender.describe()}, set up in {result['setup_ns'] / 1e9:.2f} s", flush=True)
    for m, load in loads.items():
        for words in args.words or words_for(m, args.min_identity):
            compiled = extender.counters.compile
            with extender.open_reads(load.packed) as reads:
                checked = check(f"{name}, {m} bases, {words} words", load, reads, words)
            case: dict[str, Any] = {"length": m, "words": words, "checked": checked, "measurements": []}
            case["compile_ns"] = extender.counters.compile - compiled
            for n in args.pairs:
                for kernel in KERNELS:
                    if kernel == "profile" and n * 128 * words > MAX_ERROR_BYTES:
                        continue
                    case["measurements"].append(measure(extender, load, kernel, n, words, args.seconds))
            result["cases"].append(case)
    result["compile_ns"] = extender.counters.compile
    return result


def report(result: dict[str, Any]) -> str:
    """One row a measurement; shares of a call's wall clock."""
    rows = []
    for m in (m for case in result["cases"] for m in case["measurements"]):
        calls = m["upload_ns"], m["kernel_ns"], m["download_ns"]
        milliseconds = [ns / 1e6 for ns in (*calls, max(0.0, m["wall_ns"] - sum(calls)))]
        name = f"{m['length']:>4} x {64 * m['words']:<3} {m['kernel']}"
        speed = m["pairs_per_second"] / 1e6, m["gcups"], m["wall_ns"] / m["pairs"]
        rows.append([name, m["pairs"], *speed, *milliseconds])
    header = ["bases x band, kernel", "pairs", "Mpairs/s", "GCUPS", "ns a pair"]
    header += ["upload ms", "kernel ms", "download ms", "host ms"]
    return table(header, rows, f"{result['target']}, compiled in {result['compile_ns'] / 1e9:.2f} s")


def checks(result: dict[str, Any]) -> str:
    """What was checked, one line for each case."""
    lines = (f"  {c['length']} bases, {c['words']} words: {c['checked']}" for c in result["cases"])
    return "\n".join(("checked samples:", *lines)) + "\n"


def build_parser() -> argparse.ArgumentParser:
    p = benchmark_parser(__doc__)
    add = p.add_argument
    add("--device", metavar="D", help="one OpenCL device as `gassst map` names it; none: CPU backend only")
    add("--lengths", type=numbers, metavar="M,..", help="of the reads (default: 36 to 500)")
    add(
        "--words", type=numbers, metavar="W,..", help="of 64 diagonals, 1 2 4 8 (default: as the gaps demand)"
    )
    add("-p", "--min-identity", type=float, default=MIN_IDENTITY, metavar="P", help="%% (%(default)s)")
    add("--pairs", type=numbers, metavar="N,..", help="batch sizes (default: 16384,262144)")
    add("--reference", type=int, metavar="BASES", help="(default: 67108864)")
    add("--seconds", type=float, metavar="S", help="for each measurement (default: 0.3)")
    add("--sample", type=int, default=200, metavar="N", help="pairs of every case to check (%(default)s)")
    add("--threads", type=int, default=usable_threads(), metavar="N", help="of PoCL (default: all)")
    add("--quick", action="store_true", help="100 and 250 bases, small batches: a few seconds")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    usual = QUICK if args.quick else USUAL
    args = argparse.Namespace(**(vars(args) | {k: v for k, v in usual.items() if getattr(args, k) is None}))
    print(describe_machine(), end="\n\n")
    rng = np.random.default_rng(1)
    reference = rng.integers(0, 4, args.reference, dtype=np.uint8)
    planes = planes_of(reference[None, :])[0]
    reads = min(MAX_READS, max(args.pairs))
    loads = {m: make_workload(reference, m, reads, rng) for m in args.lengths}
    check, results = Checker(reference, planes, args.sample), []
    for name, make in targets(args.device, args.threads).items():
        try:
            results.append(run_target(name, make, planes, loads, args, check))
        except DeviceError as error:
            if args.device is not None:
                raise
            print(f"{name}: {error}\n")
            continue
        print(report(results[-1]))
        print(checks(results[-1]), flush=True)
    write_json(args.json, {"targets": results, "options": vars(args)})


if __name__ == "__main__":
    run(main)

"""Places where callers go wrong: BED of the tandem repeats with long units, or of the duplicated segments, of a genome.

    python scripts/bench/hard_places.py genome.fa --kind vntr --bases 100000 > vntr.bed
    python scripts/bench/hard_places.py genome.fa --kind segmental --bases 300000 > segmental.bed

A VNTR is a stretch in which nine of ten bases equal the base one unit before, of 7 to 100 bases, over 60 bases
or more and two and a half units. Homopolymers and short tandem repeats are none. A segment is duplicated where most
31-mers occur two to eight times in the genome, over 4,000 bases or more. Both are chosen at random until there are
`--bases`.
`scripts/bench/variants.py --bed` takes the output.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pysam

UNITS = range(7, 101)
LEAST_ARRAY, LEAST_UNITS, LEAST_EQUAL = 60, 2.5, 0.9
SHORT_UNIT = 6
K, WINDOW, LEAST_WINDOWS, MOST_COPIES, LEAST_COPIED = 31, 1000, 4, 8, 0.6
SAMPLED = 8  # of the k-mers, one in so many: chosen by their hash, so that all copies are

Place = tuple[str, int, int]
"""Contig, begin and end, 0-based and half open."""


def contigs(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Names and bases, uint8: 0 to 3, and 4 for all that is not A, C, G or T."""
    code = np.full(256, 4, np.uint8)
    code[np.frombuffer(b"ACGTacgt", np.uint8)] = np.tile(np.arange(4), 2)
    with pysam.FastxFile(str(path)) as file:
        for record in file:
            yield record.name, code[np.frombuffer((record.sequence or "").encode(), np.uint8)]


def stretches(chosen: np.ndarray) -> np.ndarray:
    """int64[n, 2]: begin and end of the runs of True."""
    edges = np.flatnonzero(np.diff(np.r_[False, chosen, False].astype(np.int8)))
    return edges.reshape(-1, 2)


def tandem_share(bases: np.ndarray, unit: int, width: int) -> np.ndarray:
    """Share of the `width` bases from each that equal the base one unit before, float32."""
    equal = (bases[unit:] == bases[:-unit]) & (bases[unit:] < 4)
    total = np.r_[0, np.cumsum(equal, dtype=np.int32)]
    return (total[width:] - total[:-width]) / np.float32(width)


def vntrs(name: str, bases: np.ndarray) -> list[Place]:
    found: list[Place] = []
    short = np.zeros(len(bases), bool)
    for unit in range(1, SHORT_UNIT + 1):
        for begin, end in stretches(tandem_share(bases, unit, LEAST_ARRAY) >= LEAST_EQUAL):
            short[begin : end + unit + LEAST_ARRAY] = True
    for unit in UNITS:
        width = max(LEAST_ARRAY, int((LEAST_UNITS - 1) * unit))
        for begin, end in stretches(tandem_share(bases, unit, width) >= LEAST_EQUAL):
            place = name, int(begin), int(end + unit + width - 1)
            if not short[begin : place[2]].any():
                found.append(place)
    return merged(found)


def merged(places: list[Place]) -> list[Place]:
    """Ascending, without overlaps."""
    found: list[Place] = []
    for name, begin, end in sorted(places):
        if found and found[-1][0] == name and begin <= found[-1][2]:
            found[-1] = name, found[-1][1], max(end, found[-1][2])
        else:
            found.append((name, begin, end))
    return found


def sampled_kmers(bases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of some canonical k-mers, uint64, and where they begin, int64."""
    size = len(bases) - K + 1
    forward, reverse = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    for i in range(K):
        letter = np.minimum(bases[i : i + size], 3).astype(np.uint64)
        forward = (forward << np.uint64(2)) | letter
        reverse |= (np.uint64(3) - letter) << np.uint64(2 * i)
    hashes = np.minimum(forward, reverse) * np.uint64(0x9E3779B97F4A7C15)
    unknown = np.r_[0, np.cumsum(bases > 3)]
    kept = np.flatnonzero((hashes >> np.uint64(40)) % np.uint64(SAMPLED) == 0)
    kept = kept[unknown[kept + K] == unknown[kept]]
    return hashes[kept], kept


def segments(genome: list[tuple[str, np.ndarray]]) -> list[Place]:
    sampled = [sampled_kmers(bases) for _, bases in genome]
    _, index, copies = np.unique(
        np.concatenate([hashes for hashes, _ in sampled]), return_inverse=True, return_counts=True
    )
    copied = (copies[index] > 1) & (copies[index] <= MOST_COPIES)
    found, start = [], 0
    for (name, bases), (hashes, position) in zip(genome, sampled, strict=True):
        windows = len(bases) // WINDOW + 1
        is_copied = copied[start : start + len(hashes)]
        start += len(hashes)
        of_all = np.bincount(position // WINDOW, minlength=windows)
        of_copied = np.bincount(position // WINDOW, is_copied, windows)
        chosen = (of_all > WINDOW // SAMPLED // 2) & (of_copied >= LEAST_COPIED * of_all)
        for begin, end in stretches(chosen):
            if end - begin >= LEAST_WINDOWS:
                found.append((name, int(begin * WINDOW), int(min(end * WINDOW, len(bases)))))
    return found


def chosen(places: list[Place], bases: int, seed: int) -> list[Place]:
    """Some places at random, ascending, until they have so many bases."""
    picked: list[Place] = []
    for i in np.random.default_rng(seed).permutation(len(places)):
        if sum(end - begin for _, begin, end in picked) >= bases:
            break
        picked.append(places[i])
    return sorted(picked)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reference", type=Path, metavar="GENOME.fa")
    parser.add_argument("--kind", choices=("vntr", "segmental"), required=True)
    parser.add_argument("--bases", type=int, default=100_000, help="[100000]")
    parser.add_argument(
        "--scan", type=int, default=30_000_000, help="VNTRs: bases of a contig to look at [30000000]"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.kind == "vntr":
        found = [
            place for name, bases in contigs(args.reference) for place in vntrs(name, bases[: args.scan])
        ]
    else:
        found = segments(list(contigs(args.reference)))
    picked = chosen(found, args.bases, args.seed)
    sizes = [sum(end - begin for _, begin, end in some) for some in (found, picked)]
    print(f"{len(found)} places, {sizes[0]} bases; chosen {len(picked)}, {sizes[1]} bases", file=sys.stderr)
    for place in picked:
        print(*place, sep="\t")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

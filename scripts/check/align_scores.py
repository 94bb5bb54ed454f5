#!/usr/bin/env python3
"""Scores of gassst.align against parasail: DNA and protein, every mode, every instruction set, 100,000 pairs each.

    scripts/check/align_scores.py
    scripts/check/align_scores.py -n 2000 --device gpu

Half of the pairs are a sequence and a changed piece of it, half are random. Lengths run from 1 to 400. Costs of gaps
change from block to block, and are linear in some: there parasail's functions of the kind `scan` are the oracle, as its
striped ones miss some optimal scores where opening a gap costs nothing.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import parasail

from gassst import align
from gassst._core.pairwise import instruction_sets
from gassst.align import groups
from gassst.align.gaps import Gaps
from gassst.align.modes import mode_flags
from gassst.align.products import Product
from gassst.align.scoring import prepare

LETTERS = {"NUC4.4": "ACGTN", "BLOSUM62": "ARNDCQEGHILKMFPSTWYVBZX*"}
THEIRS = {"NUC4.4": parasail.nuc44, "BLOSUM62": parasail.blosum62}
FUNCTIONS = {
    ("local", "both"): "sw",
    ("global", "both"): "nw",
    ("semiglobal", "both"): "sg",
    ("semiglobal", "query"): "sg_qx",
    ("semiglobal", "target"): "sg_dx",
}
COSTS = ((10, 1), (0, 2), (5, 3), (11, 1), (60, 1))
BLOCK, LONGEST = 500, 400  # pairs of one call: 20 queries and 25 targets


def sequences(rng: np.random.Generator, letters: str, count: int) -> list[str]:
    """Half of them changed pieces of one random sequence."""
    base = rng.choice(list(letters), LONGEST)
    found = []
    for i in range(count):
        length = int(rng.integers(1, LONGEST + 1))
        text = [*rng.choice(list(letters), length)]
        if i % 2:
            start = int(rng.integers(0, LONGEST - length + 1))
            text = [*base[start : start + length]]
            for at in rng.integers(0, length, length // 12):
                text[at : at + int(rng.integers(0, 4))] = rng.choice(list(letters), int(rng.integers(0, 4)))
        found.append("".join(text) or letters[0])
    return found


def wrong_in_block(rng: np.random.Generator, matrix: str, mode: tuple[str, str], device: str | None) -> int:
    """How many scores of a block differ, over all kernels."""
    queries, targets = sequences(rng, LETTERS[matrix], 20), sequences(rng, LETTERS[matrix], 25)
    gap_open, gap_extend = COSTS[int(rng.integers(len(COSTS)))]
    kind = "striped_sat" if gap_open else "scan_32"
    function = getattr(parasail, f"{FUNCTIONS[mode]}_{kind}")
    true = np.array(
        [
            [function(q, t, gap_open + gap_extend, gap_extend, THEIRS[matrix]).score for t in targets]
            for q in queries
        ]
    )
    wrong = 0
    for name in instruction_sets():
        flags = mode_flags(*mode)
        both = prepare(queries, targets, align.substitution_matrix(matrix), Gaps(gap_open, gap_extend), flags)
        found = np.empty(true.shape, np.int32)
        Product(*both, 1, name).run(found)
        wrong += int((found != true).sum())
        every = np.argwhere(true > -(1 << 30))
        for groups.SPARSE_SHARE in (0, 2):  # a pair a lane; all lanes on one pair
            Product(*both, 1, name).run_pairs(found.reshape(-1), every)
            wrong += int((found != true).sum())
    if device:
        costs = {"gap_open": gap_open, "gap_extend": gap_extend, "free_ends": mode[1]}
        on_device = align.scores(queries, targets, mode[0], matrix=matrix, device=device, **costs)
        wrong += int((on_device != true).sum())
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--number", type=int, default=100_000, help="pairs of each kind [100000]")
    parser.add_argument("--device", help="also an OpenCL device")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    total = 0
    for matrix in LETTERS:
        for mode in FUNCTIONS:
            blocks = -(-args.number // BLOCK)
            wrong = sum(wrong_in_block(rng, matrix, mode, args.device) for _ in range(blocks))
            total += wrong
            print(f"{matrix} {'-'.join(mode)}: {blocks * BLOCK:,} pairs, {wrong} wrong", flush=True)
    print(f"{', '.join(instruction_sets())}: {total} scores differ from parasail's")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())

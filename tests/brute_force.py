"""Every alignment of a read on a small genome by textbook dynamic programming, apart from the package."""

from __future__ import annotations

import numpy as np

COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")


def reverse_complement(sequence: bytes) -> bytes:
    return sequence.translate(COMPLEMENT)[::-1]


def last_row(read: bytes, contig: bytes) -> np.ndarray:
    """Fewest errors of the whole read against contig that ends before column j: int16[len + 1]."""
    text = np.frombuffer(contig, np.uint8)
    ramp = np.arange(len(text) + 1, dtype=np.int32)
    row = np.zeros(len(text) + 1, np.int32)
    for base in read:
        differs = (text != base) | (text == ord("N")) | (base == ord("N"))
        step = row + 1
        step[1:] = np.minimum(step[1:], row[:-1] + differs)
        row = np.minimum.accumulate(step - ramp) + ramp
    return row


def minima(row: np.ndarray, limit: int) -> list[tuple[int, int, int]]:
    """(first end, last end, errors) of every run of equal values within the limit with higher neighbours."""
    edges = np.flatnonzero(np.diff(row)) + 1
    starts, stops = np.concatenate([[0], edges]), np.concatenate([edges, [len(row)]])
    values = row[starts]
    rises = np.diff(values) > 0  # from one run to the next; no two neighbours are equal
    is_least = np.concatenate([[True], ~rises]) & np.concatenate([rises, [True]]) & (values <= limit)
    return list(
        zip(starts[is_least].tolist(), (stops[is_least] - 1).tolist(), values[is_least].tolist(), strict=True)
    )


def all_hits(read: bytes, contigs: dict[str, bytes], limit: int) -> list[tuple[str, bool, int, int, int]]:
    """(contig, reverse, first end, last end, errors) of every alignment within the limit."""
    hits = []
    for name, contig in contigs.items():
        for reverse in (False, True):
            oriented = reverse_complement(read) if reverse else read
            hits += [(name, reverse, *m) for m in minima(last_row(oriented, contig), limit)]
    return hits


def mutate(rng: np.random.Generator, sequence: bytes, errors: int, indel_share: float = 0.4) -> bytes:
    """The sequence with `errors` random single-base changes."""
    bases = list(sequence)
    for _ in range(errors):
        at = int(rng.integers(len(bases)))
        kind = rng.random()
        if kind < indel_share / 2:
            del bases[at]
        elif kind < indel_share:
            bases.insert(at, int(rng.choice(list(b"ACGT"))))
        else:
            bases[at] = int(rng.choice([b for b in b"ACGT" if b != bases[at]]))
    return bytes(bases)


def random_bases(rng: np.random.Generator, n: int) -> bytes:
    return rng.choice(np.frombuffer(b"ACGT", np.uint8), n).tobytes()


def repetitive_genome(rng: np.random.Generator, size: int) -> bytes:
    """Random bases with tandem repeats of period 1 to 40 and diverged scattered copies of three elements."""
    genome = bytearray(random_bases(rng, size))
    for period in (1, 2, 3, 4, 5, 7, 11, 24, 40):
        unit = random_bases(rng, period)
        copies = 60 // period + 4 + int(rng.integers(6))
        repeat = mutate(rng, unit * copies, copies // 4, 0.2)
        at = int(rng.integers(size - len(repeat)))
        genome[at : at + len(repeat)] = repeat
    for element in (random_bases(rng, n) for n in (300, 150, 80)):
        for errors in (0, 0, 1, 3, 6, 12):
            copy = mutate(rng, element, errors * len(element) // 100)
            if rng.random() < 0.5:
                copy = reverse_complement(copy)
            at = int(rng.integers(size - len(copy)))
            genome[at : at + len(copy)] = copy
    return bytes(genome[:size])


def template(orientation: str, first: tuple[bool, int, int], last: tuple[bool, int, int]) -> int | None:
    """Template length of ungapped mates given as (reverse, leftmost coordinate, bases); None: wrong strands."""
    if (first[0] == last[0]) != (orientation == "ff"):
        return None
    forward, reverse = (last, first) if first[0] else (first, last)
    left, right = {
        "fr": (forward, reverse),
        "rf": (reverse, forward),
        "ff": (last, first) if first[0] else (first, last),
    }[orientation]
    return right[1] + right[2] - left[1]

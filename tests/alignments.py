"""Read and band pairs for the alignment kernels, and their textbook alignments; shares no code with the package.

Codes are 0-3 for A, C, G, T and 4 for a masked base, which matches nothing. A pair is a read on one strand and the
first diagonal of its band.
"""

from itertools import groupby
from types import SimpleNamespace

import numpy as np

from gassst.model.params import Scoring

MASKED = 4
INFINITE = 30000  # errors
NEVER = -(10**6)  # score
LETTERS = np.frombuffer(b"ACGTN", np.uint8)
COMPLEMENT = np.array([3, 2, 1, 0, MASKED], np.uint8)
SCORINGS = {
    "bwa": Scoring(),
    "no bonus": Scoring(clip=0),
    "end to end": Scoring(clip=1000),
    "cheap gaps": Scoring(match=2, mismatch=3, gap_open=(0, 1), gap_extend=(2, 1), clip=7),
    "extremes": Scoring(match=10, mismatch=0, gap_open=(1000, 3), gap_extend=(1, 9), clip=30),
}


# Reads and bands


def planes_of(codes):
    """Codes 0-4 to planes uint64[ceil(n / 64), 3]."""
    padded = np.zeros(-(-len(codes) // 64) * 64, np.uint8)
    padded[: len(codes)] = codes
    bits = (padded == 1) | (padded == 3), (padded == 2) | (padded == 3), padded == MASKED
    return np.stack([np.packbits(b, bitorder="little").view(np.uint64) for b in bits], axis=1)


def reverse_complement(codes):
    return COMPLEMENT[codes[::-1]]


def pack(reads):
    """Reads (arrays of codes) in the form of PackedReads."""
    words = np.array([-(-len(read) // 64) for read in reads], np.uint32)
    codes = np.zeros((len(reads), 2, 64 * int(words.max())), np.uint8)
    for row, read in zip(codes, reads, strict=True):
        row[0, : len(read)], row[1, : len(read)] = read, reverse_complement(read)
    planes = planes_of(codes.reshape(-1)).reshape(len(reads), 2, -1, 3)
    inside = np.arange(planes.shape[2]) < words[:, None]
    return SimpleNamespace(
        planes=planes[np.repeat(inside[:, None], 2, axis=1)],
        plane_start=2 * (np.cumsum(words) - words).astype(np.uint32),
        lengths=np.array([len(read) for read in reads], np.uint32),
        conversions=np.empty(0, np.uint8),
    )


def mutated(rng, codes, rate):
    """A copy with substitutions, insertions and deletions, half of the errors being gaps."""
    kind = rng.random(len(codes))
    deleted, changed = kind < rate / 4, (rate / 2 <= kind) & (kind < rate) & (codes < MASKED)
    inserted = ~deleted & (kind < rate / 2)
    bases = np.where(changed, (codes + rng.integers(1, 4, len(codes))) % 4, codes).astype(np.uint8)
    copies = 1 - deleted + inserted
    out = np.repeat(bases, copies)
    out[(np.cumsum(copies) - copies)[inserted]] = rng.integers(0, 4, inserted.sum())
    return out


def make_reference(rng, size=64 * 94):
    """Random bases, tandem repeats of periods 1-6, masked runs and single masked bases."""
    reference = rng.integers(0, 4, size).astype(np.uint8)
    for period in range(1, 7):
        at = int(rng.integers(0, size - 700))
        reference[at : at + 600] = np.resize(rng.integers(0, 4, period), 600)
    for at in rng.integers(0, size - 40, 6):
        reference[at : at + rng.integers(1, 40)] = MASKED
    return reference


def make_pairs(rng, reference, n, words, lengths=(1, 300)):
    """Reads of mixed length from both strands, planted anywhere in their band or unrelated to it; a few
    masked bases; some bands hang over the end of the reference."""
    reads, read_strand, band_start = [], [], []
    for i in range(n):
        m = int(rng.integers(*lengths))
        at = int(rng.integers(0, len(reference) - m))
        read = mutated(rng, reference[at : at + m], rng.choice([0, 0.02, 0.1, 0.3]))
        read = read if len(read) else np.zeros(1, np.uint8)
        if rng.random() < 0.2:
            read[rng.integers(0, len(read), 2)] = MASKED
        strand = int(rng.integers(2))
        reads.append(reverse_complement(read) if strand else read)
        near = at - int(rng.integers(int(64 * words)))
        start = near if rng.random() < 0.8 else int(rng.integers(len(reference)))
        read_strand.append(2 * i + strand)
        band_start.append(max(0, start))
    order = rng.permutation(n)
    return reads, np.array(read_strand, np.uint32)[order], np.array(band_start, np.int64)[order]


def oriented(reads, read_strand):
    read = reads[read_strand >> 1]
    return reverse_complement(read) if read_strand & 1 else read


def joined(rng, reads):
    """Reads of which a third have one end replaced by random bases, as adapters and breakpoints do."""
    for read in reads[::3]:
        cut = int(rng.integers(1, len(read) + 1))
        side = slice(cut, None) if rng.random() < 0.5 else slice(0, cut)
        read[side] = rng.integers(0, 4, len(read[side]))
    return reads


# End-to-end alignment: fewest errors


def padded(reads):
    """uint8[n, longest]; after its end a read is masked."""
    rows = np.full((len(reads), max(map(len, reads))), MASKED, np.uint8)
    for row, read in zip(rows, reads, strict=True):
        row[: len(read)] = read
    return rows


def facing_rows(reads, reference, starts, width):
    """For each base: it, uint8[n, 1], and the bases of the reference it faces, uint8[n, width]; outside is masked."""
    text = np.append(reference, np.uint8(MASKED))
    first = np.asarray(starts, np.int64)[:, None] + np.arange(width)
    for i, bases in enumerate(padded(reads).T):
        yield bases[:, None], text[np.minimum(first + i, len(reference))]


def band_rows(reads, reference, starts, words):
    """All rows of the textbook in-band DP of each read, int16[m + 1, B]; what lies outside the reference is masked."""
    diagonals = np.arange(64 * words, dtype=np.int16)
    rows = [np.zeros((len(reads), 64 * words), np.int16)]
    for base, facing in facing_rows(reads, reference, starts, 64 * words):
        row = rows[-1] + ((facing != base) | (facing == MASKED))
        row[:, :-1] = np.minimum(row[:, :-1], rows[-1][:, 1:] + 1)
        rows.append(
            np.minimum.accumulate(row - diagonals, axis=1) + diagonals
        )  # deletions, any number in a row
    return [matrix[: len(read) + 1] for matrix, read in zip(np.stack(rows, axis=1), reads, strict=True)]


def edit_path(rows, read, reference, start, end):
    """(start diagonal, [(length, op)]) by the documented tie rule, walking over the full matrix."""
    i, c, ops = len(read), int(end), []
    while i:
        at = start + c + i - 1
        match = at < len(reference) and reference[at] == read[i - 1] != MASKED
        if rows[i, c] == rows[i - 1, c] + (not match):
            ops.append("M")
            i -= 1
        elif c + 1 < rows.shape[1] and rows[i, c] == rows[i - 1, c + 1] + 1:
            ops.append("I")
            i, c = i - 1, c + 1
        else:
            assert rows[i, c] == rows[i, c - 1] + 1
            ops.append("D")
            c -= 1
    return c, runs_of(reversed(ops))


def edit_cost(read, reference, position, runs):
    """Errors of a CIGAR, and how much read and reference it uses."""
    errors = i = 0
    for length, op in runs:
        if op == "M":
            a, b = read[i : i + length], reference[position : position + length]
            errors += int(((a != b) | (a == MASKED)).sum())
        else:
            errors += length
        i += length * (op != "D")
        position += length * (op != "I")
    return errors, i, position


# Local alignment: highest score


def gotoh(reads, reference, starts, width, scoring, from_first):
    """(H, I, D) int32[longest + 1, n, B] in the bands; row 0 is before the read. `from_first`: all alignments begin
    with the first base, which brings the bonus; else behind it."""
    diagonals = np.arange(width, dtype=np.int32)
    shape = max(map(len, reads)) + 1, len(reads), width
    h, insertion, deletion = (np.full(shape, NEVER, np.int32) for _ in range(3))
    h[0] = scoring.clip if from_first else NEVER
    (open_d, open_i), (longer_d, longer_i) = scoring.gap_open, scoring.gap_extend
    for i, (base, facing) in enumerate(facing_rows(reads, reference, starts, width)):
        s = np.where(facing == base, np.int32(scoring.match), np.int32(-scoring.mismatch))
        s[(facing == MASKED) | (base == MASKED)] = -1
        before = np.maximum(h[i], 0) if i and not from_first else h[i]
        into = insertion[i + 1]
        into[:, :-1] = np.maximum(h[i][:, 1:] - open_i, insertion[i][:, 1:]) - longer_i
        most = np.maximum(before + s, into)
        opened = most - open_d - longer_d + diagonals * longer_d
        deletion[i + 1][:, 1:] = (np.maximum.accumulate(opened, axis=1) - diagonals * longer_d)[:, :-1]
        h[i + 1] = np.maximum(most, deletion[i + 1])
    return h, insertion, deletion


def local_textbook(reads, reference, starts, width, scoring, together=32):
    """For each read (score without bonus, rows, end, position, runs) by the documented tie rule; None for no
    alignment. `together` reads are filled in at once."""
    found = []
    for at in range(0, len(reads), together):
        some, first = reads[at : at + together], starts[at : at + together]
        ways = [gotoh(some, reference, first, width, scoring, from_first) for from_first in (False, True)]
        for p, read in enumerate(some):
            matrices = [tuple(matrix[: len(read) + 1, p] for matrix in way) for way in ways]
            found.append(best_local(read, reference, int(first[p]), scoring, matrices))
    return found


def best_local(read, reference, start, scoring, ways):
    """`ways`: (H, I, D) of the read from behind its first base, and from that."""
    best = None
    for from_first, matrices in zip((False, True), ways, strict=True):
        ends = matrices[0][1:].copy()
        ends[-1] += scoring.clip
        total = int(ends.max())
        if total > 0 and (best is None or total > best[0]):
            rows = int(np.flatnonzero((ends == total).any(axis=1))[0]) + 1
            best = total, from_first, rows, int(ends[rows - 1].argmax()), matrices
    if best is None:
        return None
    total, from_first, rows, end, matrices = best
    reached = from_first + (rows == len(read))
    i, c, runs = local_path(read, reference, start, scoring, from_first, rows, end, matrices)
    return total - scoring.clip * reached, rows, end, start + i + c, runs


def local_path(read, reference, start, scoring, from_first, i, c, matrices):
    h, insertion, deletion = matrices
    ops, state = ["S"] * (len(read) - i), "M"
    while i:
        if state == "M":
            at = start + c + i - 1
            facing = reference[at] if at < len(reference) else MASKED
            s = scoring.match if facing == read[i - 1] else -scoring.mismatch
            s = -1 if MASKED in (facing, read[i - 1]) else s
            before = max(h[i - 1, c], 0) if i > 1 and not from_first else h[i - 1, c]
            if h[i, c] == before + s:
                ops.append("M")
                i -= 1
                if not from_first and h[i, c] <= 0:
                    break
                continue
            state = "I" if h[i, c] == insertion[i, c] else "D"
        ops.append(state)
        if state == "I":
            goes_on = (
                c + 1 < h.shape[1] and insertion[i, c] == insertion[i - 1, c + 1] - scoring.gap_extend[1]
            )
            i, c = i - 1, c + 1
        else:
            goes_on = deletion[i, c] == deletion[i, c - 1] - scoring.gap_extend[0]
            c -= 1
        state = state if goes_on else "M"
    return i, c, runs_of(["S"] * i + ops[::-1])


def local_cost(read, reference, position, runs, scoring):
    """(score without bonus, edits, bases of the read) of a CIGAR."""
    score = edits = i = 0
    for length, op in runs:
        if op == "M":
            inside = np.arange(position, position + length)
            a, b = read[i : i + length], np.append(reference, MASKED)[np.minimum(inside, len(reference))]
            masked, differ = (a == MASKED) | (b == MASKED), a != b
            score += scoring.match * (~masked & ~differ).sum() - scoring.mismatch * (~masked & differ).sum()
            score -= masked.sum()
            edits += (masked | differ).sum()
        elif op in "ID":
            score -= scoring.gap_open[op == "I"] + length * scoring.gap_extend[op == "I"]
            edits += length
        i += length * (op != "D")
        position += length * (op in "MD")
    return score, edits, i


def runs_of(ops):
    """[(length, op)] of one letter a column."""
    return [(len(list(run)), op) for op, run in groupby(ops)]


def decode(cigars, at, runs):
    """[(length, op)] of `runs` packed operations from `at` on."""
    return [(int(run) >> 4, "MIDNS"[run & 15]) for run in cigars[at : at + runs]]

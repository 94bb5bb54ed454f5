"""Banded alignment against textbook DP, edlib and parasail, on every backend this machine has.

Every test runs on each CPU instruction set and each usable OpenCL device; `pytest tests/test_extend.py -k
gpu` (or `-k cpu-avx2`, `-k 0:1`, ...) picks among them.
"""

from types import SimpleNamespace

import edlib
import numpy as np
import parasail
import pytest

from gassst._core.banded import instruction_sets
from gassst.extension import opencl_engine
from gassst.extension.base import WORDS
from gassst.extension.cpu import CpuExtender
from gassst.extension.opencl import OpenCLExtender

BACKENDS = [f"cpu-{name}" for name in instruction_sets()] + [
    f"opencl-{info.type}-{info.index}" for info in opencl_engine.devices(threads=2) if info.usable
]
MASKED = 4
INFINITE = 30000
LETTERS = np.frombuffer(b"ACGTN", np.uint8)


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    """reference planes -> extender"""
    kind, _, rest = request.param.partition("-")
    if kind == "cpu":
        return lambda planes: CpuExtender(planes, rest)
    return lambda planes: OpenCLExtender(planes, rest.partition("-")[2], threads=2)


def planes_of(codes):
    """Codes 0-4 to planes uint64[ceil(n / 64), 3]."""
    padded = np.zeros(-(-len(codes) // 64) * 64, np.uint8)
    padded[: len(codes)] = codes
    bits = (padded == 1) | (padded == 3), (padded == 2) | (padded == 3), padded == MASKED
    return np.stack([np.packbits(b, bitorder="little").view(np.uint64) for b in bits], axis=1)


def reverse_complement(codes):
    return np.where(codes == MASKED, MASKED, 3 - codes.astype(int))[::-1].astype(np.uint8)


def pack(reads):
    """Reads (arrays of codes) as PackedReads has them."""
    rows = [planes_of(strand) for read in reads for strand in (read, reverse_complement(read))]
    counts = np.array([2 * -(-len(read) // 64) for read in reads], np.uint32)
    return SimpleNamespace(
        planes=np.concatenate(rows),
        plane_start=(np.cumsum(counts) - counts).astype(np.uint32),
        lengths=np.array([len(read) for read in reads], np.uint32),
    )


def band_rows(read, reference, start, words):
    """All rows of the textbook in-band DP, int[m + 1, B]; what lies outside the reference is masked."""
    diagonals = np.arange(64 * words)
    rows = [np.zeros(64 * words, int)]
    for i, base in enumerate(read):
        at = start + diagonals + i
        inside = at < len(reference)
        facing = np.where(inside, reference[np.where(inside, at, 0)], MASKED)
        row = rows[-1] + ((facing != base) | (facing == MASKED))
        row = np.minimum(row, np.append(rows[-1][1:], INFINITE) + 1)
        rows.append(np.minimum.accumulate(row - diagonals) + diagonals)  # deletions, any number in a row
    return np.array(rows)


def textbook_path(rows, read, reference, start, end):
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
    text = "".join(reversed(ops))
    runs, at = [], 0
    while at < len(text):
        length = len(text[at:]) - len(text[at:].lstrip(text[at]))
        runs.append((length, text[at]))
        at += length
    return c, runs


def mutated(rng, codes, rate):
    """A copy with substitutions, insertions and deletions, half of the errors being gaps."""
    out = []
    for base in codes:
        kind = rng.random()
        if kind < rate / 4:
            continue
        if kind < rate / 2:
            out.append(rng.integers(4))
        out.append((base + rng.integers(1, 4)) % 4 if rate / 2 <= kind < rate and base < 4 else base)
    return np.array(out, np.uint8)


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
    return reads, np.array(read_strand, np.uint32)[order], np.array(band_start, np.uint32)[order]


def oriented(reads, read_strand):
    read = reads[read_strand >> 1]
    return reverse_complement(read) if read_strand & 1 else read


def decode(cigars, at, runs):
    return [(int(run) >> 4, "MID"[run & 15]) for run in cigars[at : at + runs]]


@pytest.fixture(scope="module", params=WORDS)
def textbook(request):
    """Pairs and their full matrices, made once for all backends."""
    rng = np.random.default_rng(request.param)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, 250, request.param)
    matrices = [
        band_rows(oriented(reads, rs), reference, int(s), request.param)
        for rs, s in zip(read_strand, band_start, strict=True)
    ]
    return SimpleNamespace(
        words=request.param,
        reference=reference,
        reads=reads,
        read_strand=read_strand,
        band_start=band_start,
        matrices=matrices,
        last=np.array([rows[-1] for rows in matrices]),
    )


@pytest.mark.parametrize("words", WORDS)
def test_score_is_the_least_of_the_profile(backend, words):
    """Many last rows: ties and minima everywhere in a word, which the bytewise scan has to get right."""
    rng = np.random.default_rng(words)
    reference = make_reference(rng)
    read_strand = rng.integers(0, 800, 40_000 // words).astype(np.uint32)
    band_start = rng.integers(0, len(reference), len(read_strand)).astype(np.uint32)
    reads = [rng.integers(0, 4, rng.integers(4, 60)).astype(np.uint8) for _ in range(400)]
    handle = backend(planes_of(reference)).open_reads(pack(reads))
    best, end = handle.score(read_strand, band_start, words)
    profile = handle.profile(read_strand, band_start, words)
    np.testing.assert_array_equal(best, profile.min(axis=1))
    np.testing.assert_array_equal(end, profile.argmin(axis=1))


def open_case(backend, case):
    return backend(planes_of(case.reference)).open_reads(pack(case.reads))


def test_score_and_profile_are_textbook(backend, textbook):
    handle = open_case(backend, textbook)
    best, end = handle.score(textbook.read_strand, textbook.band_start, textbook.words)
    np.testing.assert_array_equal(best, textbook.last.min(axis=1))
    np.testing.assert_array_equal(end, textbook.last.argmin(axis=1))
    profile = handle.profile(textbook.read_strand, textbook.band_start, textbook.words)
    np.testing.assert_array_equal(profile, textbook.last)


@pytest.mark.parametrize("which", ["best", "any"])
def test_align_follows_the_tie_rule(backend, textbook, which):
    ends = textbook.last.argmin(axis=1)
    if which == "any":
        ends = np.random.default_rng(1).integers(0, 64 * textbook.words, len(ends))
    edits = textbook.last[np.arange(len(ends)), ends]
    handle = open_case(backend, textbook)
    pairs = textbook.read_strand, textbook.band_start, textbook.words
    start, cigars, at, runs = handle.align(*pairs, ends, edits)
    assert len(cigars) == runs.sum() and at[0] == 0
    for p, rows in enumerate(textbook.matrices):
        read = oriented(textbook.reads, textbook.read_strand[p])
        path = textbook_path(rows, read, textbook.reference, int(textbook.band_start[p]), ends[p])
        assert (start[p], decode(cigars, at[p], runs[p])) == path


def test_within_is_score_at_most_limit(textbook):
    best = textbook.last.min(axis=1)
    for name in instruction_sets():
        handle = CpuExtender(planes_of(textbook.reference), name).open_reads(pack(textbook.reads))
        for limit in (best, np.maximum(best, 1) - 1, *(np.full(len(best), k) for k in (0, 7, 999))):
            keep = handle.within(textbook.read_strand, textbook.band_start, textbook.words, limit)
            np.testing.assert_array_equal(keep, best <= limit)


def cost(read, reference, position, runs):
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


@pytest.mark.parametrize(
    "low, high, words", [(20, 40, 1), (36, 150, 1), (150, 260, 2), (300, 500, 4), (400, 500, 8)]
)
def test_cigars_are_valid(backend, low, high, words):
    rng = np.random.default_rng(low + words)
    reference = make_reference(rng, 64 * 310)
    reads, read_strand, band_start = make_pairs(rng, reference, 1500, words, (low, high))
    band_start = np.minimum(band_start, len(reference) - 64 * words - high - high // 2).astype(np.uint32)
    handle = backend(planes_of(reference)).open_reads(pack(reads))
    best, end = handle.score(read_strand, band_start, words)
    start, cigars, at, runs = handle.align(read_strand, band_start, words, end, best)
    for p in range(len(best)):
        read, path = oriented(reads, read_strand[p]), decode(cigars, at[p], runs[p])
        first = int(band_start[p]) + int(start[p])
        last = int(band_start[p]) + int(end[p]) + len(read)
        assert cost(read, reference, first, path) == (best[p], len(read), last)
        assert all(a[1] != b[1] for a, b in zip(path, path[1:], strict=False)) and min(path)[0] > 0
        assert path[-1][1] != "D" and path[0][1] != "D"


def fast_mutants(rng, windows, rates):
    """Substitutions everywhere, and one short gap in every other row; rows keep their length."""
    n, m = windows.shape
    hit = rng.random((n, m)) < rates[:, None]
    reads = np.where(hit, rng.integers(0, 4, (n, m)), windows).astype(np.uint8)
    for r in range(0, n, 2):
        at, gap = int(rng.integers(1, m - 4)), int(rng.integers(1, 4))
        if rates[r] > 0:
            reads[r, at:-gap] = reads[r, at + gap :].copy() if r % 4 else reads[r, at:-gap]
            reads[r, at + gap :] = reads[r, at:-gap].copy() if not r % 4 else reads[r, at + gap :]
    return reads


def planted(m, words, n):
    """n reads of m bases, errors 0-20 %; a fifth unrelated to its band, the others in the middle of it."""
    rng = np.random.default_rng(m)
    reference = rng.integers(0, 4, 200_000).astype(np.uint8)
    at = rng.integers(1000, 190_000, n)
    reads = fast_mutants(rng, reference[at[:, None] + np.arange(m)], rng.choice([0, 0.01, 0.05, 0.1, 0.2], n))
    at[::5] = rng.integers(1000, 190_000, len(at[::5]))
    return reference, reads, (at - 32 * words).astype(np.uint32)


def edlib_errors(read, target):
    return edlib.align(read, target, mode="HW", task="distance")["editDistance"]


def parasail_errors(read, target, matrix=parasail.matrix_create("ACGT", 0, -1)):  # noqa: B008
    # "scan": the striped variant misses some optima where opening a gap costs no more than extending it
    return -parasail.sg_dx_scan_16(read.decode(), target.decode(), 1, 1, matrix).score


@pytest.fixture(scope="module")
def bounds():
    """Semi-global errors by edlib or parasail in the band's whole window (never more than in the band),
    and in the window less a margin on both sides (never less than in the band if they are no more than
    the margin)."""
    cases = []
    sizes = [(20, 1, 30000), (36, 1, 30000), (100, 1, 25000), (150, 2, 8000), (250, 4, 5000), (500, 8, 2000)]
    for m, words, n in sizes:
        reference, reads, band_start = planted(m, words, n)
        text, inside = LETTERS[reference].tobytes(), 16 * words
        lower, upper = np.empty(n, int), np.empty(n, int)
        for p in range(n):
            errors = parasail_errors if p % 25 == 0 else edlib_errors
            read, s = LETTERS[reads[p]].tobytes(), int(band_start[p])
            lower[p] = errors(read, text[s : s + 64 * words + m - 1])
            upper[p] = errors(read, text[s + inside : s + 64 * words + m - 1 - inside])
        upper = np.where(upper <= inside, upper, INFINITE)
        cases.append((planes_of(reference), pack(reads), band_start, words, lower, upper))
    return cases


def test_score_is_edlib_and_parasail(backend, bounds):
    total = 0
    for planes, packed, band_start, words, lower, upper in bounds:
        handle = backend(planes).open_reads(packed)
        best, _ = handle.score(2 * np.arange(len(band_start)), band_start, words)
        assert (lower <= best).all() and (best <= upper).all()
        assert (lower == upper).mean() > 0.7
        total += len(band_start)
    assert total >= 100_000


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
@pytest.mark.parametrize("words", WORDS)
def test_all_backends_return_the_same_bytes(backend, n, words):
    rng = np.random.default_rng(n + words)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, n or 1, words, (30, 200))
    read_strand, band_start = read_strand[:n], band_start[:n]
    results = []
    for make in (backend, lambda planes: CpuExtender(planes, "generic")):
        handle = make(planes_of(reference)).open_reads(pack(reads))
        best, end = handle.score(read_strand, band_start, words)
        aligned = handle.align(read_strand, band_start, words, end, best)
        results.append([best, end, handle.profile(read_strand, band_start, words), *aligned])
    for ours, theirs in zip(*results, strict=True):
        assert (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())


def test_a_pair_does_not_depend_on_its_batch(backend):
    rng = np.random.default_rng(9)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, 41, 1)
    handle = backend(planes_of(reference)).open_reads(pack(reads))
    whole = handle.score(read_strand, band_start, 1)
    for p in range(41):
        alone = handle.score(read_strand[p : p + 1], band_start[p : p + 1], 1)
        assert (alone[0][0], alone[1][0]) == (whole[0][p], whole[1][p])


def test_masked_bases_never_match(backend):
    reference = np.full(400, MASKED, np.uint8)
    read = np.full(70, MASKED, np.uint8)
    handle = backend(planes_of(reference)).open_reads(pack([read, np.zeros(70, np.uint8)]))
    best, end = handle.score([0, 1, 2, 3], [64] * 4, 1)
    assert best.tolist() == [70] * 4 and end.tolist() == [0] * 4


def test_beyond_the_reference_all_is_masked(backend):
    reference = np.zeros(64 * 4, np.uint8)
    handle = backend(planes_of(reference)).open_reads(pack([np.zeros(100, np.uint8)]))
    starts = np.array([0, 100, 200, 256, 10_000, 2**32 - 1], np.uint32)
    best, _ = handle.score([0] * 6, starts, 1)
    expected = [band_rows(np.zeros(100, np.uint8), reference, int(s), 1)[-1].min() for s in starts]
    assert best.tolist() == expected
    assert best.tolist() == [0, 0, 44, 100, 100, 100]


def test_empty_read(backend):
    reads = [np.zeros(0, np.uint8), np.zeros(5, np.uint8)]
    handle = backend(planes_of(np.zeros(256, np.uint8))).open_reads(pack(reads))
    best, end = handle.score([0, 2], [0, 0], 1)
    start, cigars, at, runs = handle.align([0, 2], [0, 0], 1, end, best)
    assert best.tolist() == start.tolist() == [0, 0]
    assert (runs.tolist(), cigars.tolist()) == ([0, 1], [5 << 4])


def test_wrong_input_is_refused(backend):
    handle = backend(planes_of(np.zeros(256, np.uint8))).open_reads(pack([np.zeros(50, np.uint8)]))
    with pytest.raises(ValueError, match="words"):
        handle.score([0], [0], 3)
    with pytest.raises(ValueError, match="not in the batch"):
        handle.score([2], [0], 1)
    with pytest.raises(ValueError, match="shape"):
        handle.profile([0, 1], [0], 1)
    with pytest.raises(ValueError, match="do not fit"):
        handle.align([0], [0], 1, [64], [0])
    with pytest.raises(ValueError, match="has not 3 edits"):
        handle.align([0], [0], 1, [0], [3])

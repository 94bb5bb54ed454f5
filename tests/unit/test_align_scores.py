"""Scores, alignments and distances of gassst.align, against parasail and edlib."""

from __future__ import annotations

import re
import threading

import edlib
import numpy as np
import parasail
import pytest

from gassst import align
from gassst._core.pairwise import instruction_sets
from gassst.align import groups, traced
from gassst.align.gaps import Gaps
from gassst.align.modes import mode_flags
from gassst.align.products import Product
from gassst.align.scoring import prepare
from gassst.errors import DeviceError, InputError, OutputError, UsageError
from gassst.workers.tasks import ProgressBar, run_all

AMINO = "ARNDCQEGHILKMFPSTWYVBZX*"
LETTERS = {"NUC4.4": "ACGTN", "BLOSUM62": AMINO, "PAM250": AMINO[:20]}
THEIRS = {"NUC4.4": parasail.nuc44, "BLOSUM62": parasail.blosum62, "PAM250": parasail.pam250}
FUNCTIONS = {
    ("local", "both"): "sw",
    ("global", "both"): "nw",
    ("semiglobal", "both"): "sg",
    ("semiglobal", "query"): "sg_qx",
    ("semiglobal", "target"): "sg_dx",
}
EVERY_MODE = pytest.mark.parametrize("mode, free_ends", list(FUNCTIONS))
# Matrix, gaps, letters of the longest: lanes of 8, of 16 and of 32 bits are enough for some pairs of each.
CASES = [("NUC4.4", 10, 1, 40), ("BLOSUM62", 11, 1, 90), ("PAM250", 0, 3, 250), ("BLOSUM62", 200, 20, 30)]


def expected(query: str, target: str, mode: tuple[str, str], case: tuple[str, int, int, int]) -> int:
    matrix, gap_open, gap_extend, _ = case
    # parasail's striped functions are not exact where opening costs nothing.
    function = getattr(parasail, f"{FUNCTIONS[mode]}_scan_32")
    return function(query, target, gap_open + gap_extend, gap_extend, THEIRS[matrix]).score


def related(rng: np.random.Generator, letters: str, longest: int, count: int) -> list[str]:
    """Random sequences, half of them pieces of one with changes."""
    base = rng.choice(list(letters), longest)
    found = []
    for i in range(count):
        length = int(rng.integers(1, longest + 1))
        if i % 2:
            found.append("".join(rng.choice(list(letters), length)))
            continue
        start = int(rng.integers(0, longest - length + 1))
        piece = [*base[start : start + length]]
        for at in rng.integers(0, length, length // 15):
            piece[at : at + int(rng.integers(0, 3))] = rng.choice(list(letters), int(rng.integers(0, 4)))
        found.append("".join(piece) or letters[0])
    return found


def prepared(queries, targets, mode, case):
    return prepare(queries, targets, align.substitution_matrix(case[0]), Gaps(*case[1:3]), mode_flags(*mode))


# --- scores -------------------------------------------------------------------------------------------------


@EVERY_MODE
@pytest.mark.parametrize("case", CASES, ids=str)
def test_scores_are_those_of_parasail(mode, free_ends, case, monkeypatch):
    """All with all, some with some, pairs: a pair a lane, and all lanes on one pair."""
    rng = np.random.default_rng(1)
    queries, targets = (related(rng, LETTERS[case[0]], case[3], n) for n in (9, 70))
    true = np.array([[expected(q, t, (mode, free_ends), case) for t in targets] for q in queries])
    pairs = np.stack([rng.integers(0, 9, 60), rng.integers(0, 70, 60)], axis=1)
    for name in instruction_sets():
        out = np.empty((9, 70), np.int32)
        Product(*prepared(queries, targets, (mode, free_ends), case), 2, name).run(out)
        assert np.array_equal(out, true), name
        Product(*prepared(queries, targets[:3], (mode, free_ends), case), 2, name).run(
            some := out[:, :3].copy()
        )
        assert np.array_equal(some, true[:, :3]), name
        for share in (0, 2):
            monkeypatch.setattr(groups, "SPARSE_SHARE", share)
            Product(*prepared(queries, targets, (mode, free_ends), case), 1, name).run_pairs(
                out.ravel()[:60], pairs
            )
            assert np.array_equal(out.ravel()[:60], true[pairs[:, 0], pairs[:, 1]]), name


@pytest.mark.device("cpu")
@EVERY_MODE
def test_a_device_finds_the_same(mode, free_ends):
    """One pair a value, and two; by one work-item in one strip, by several in many; a profile for all, and of each."""
    from gassst.align.opencl import DeviceProduct, Shape

    rng = np.random.default_rng(5)
    case = ("BLOSUM62", 11, 1, 70)
    queries, targets = (related(rng, LETTERS[case[0]], case[3], n) for n in (4, 19))
    both = prepared(queries, targets, (mode, free_ends), case)
    true = np.empty((4, 19), np.int32)
    Product(*both, 1).run(true)
    pairs = np.stack([rng.integers(0, 4, 21), rng.integers(0, 19, 21)], axis=1)
    for each in ((2, 1), (1,)):
        for shape in (Shape(1, 4), Shape(4, 5), Shape(32, 4)):
            product = DeviceProduct(*both, "cpu", 1, shape=shape, each=each)
            product.run(found := np.full((4, 19), -9999, np.int32))
            assert np.array_equal(found, true), (each, shape)
            product.run(found := np.full(21, -9999, np.int32), pairs)
            assert np.array_equal(found, true[pairs[:, 0], pairs[:, 1]]), (each, shape)


@pytest.mark.device("cpu")
def test_a_device_passes_16_bits():
    """Scores above, costs below, letters beyond a byte; and a profile."""
    from gassst.align.opencl import DeviceProduct

    matrix = align.match_matrix(100, -20)
    text = "ACGT" * 100
    both = prepare([text, text[::-1]], [text, text[:300], "T"], matrix, Gaps(5, 2), mode_flags("local"))
    product = DeviceProduct(*both, "cpu", 1)
    product.run(found := np.zeros((2, 3), np.int32))
    Product(*both, 1).run(true := np.zeros((2, 3), np.int32))
    assert np.array_equal(found, true) and found[0, 0] == 40_000
    wide = align.Matrix(np.eye(4, dtype=int) * 3000 - 1000, align.DNA)
    far = {"mode": "global", "gap_open": 9000, "gap_extend": 1000}
    profile = align.PSSM(wide.scores[align.DNA.codes[np.frombuffer(b"ACGTTGCA", np.uint8)]], align.DNA)
    for queries, options in (([text[:50], "G"], {"matrix": wide, **far}), ([profile], far)):
        on_device = align.scores(queries, [text[:60], "ACGT"], device="cpu", **options)
        assert np.array_equal(on_device, align.scores(queries, [text[:60], "ACGT"], **options))


def test_scores_in_a_file(tmp_path):
    path = tmp_path / "scores.npy"
    found = align.scores(["ACGT", "AC"], ["ACGT"] * 3, out=path)
    assert isinstance(found, np.memmap) and found.tolist() == [[20] * 3, [10] * 3]
    assert np.load(path).tolist() == found.tolist()
    with pytest.raises(OutputError, match="cannot write"):
        align.scores(["A"], ["A"], out=tmp_path / "no" / "folder.npy")


# --- results, errors, interrupts ------------------------------------------------------------------------------


def test_an_interrupt_stops_the_compiled_code():
    """Once stopped, a run that would take hours returns; without it this test would never end."""
    long = "ACGT" * 400_000
    job = Product(*prepared([long], [long], ("local", "both"), CASES[0]), 1)
    running = threading.Event()

    def tasks():
        yield 1.0, lambda: (running.set(), job.run(np.empty((1, 1), np.int32)))
        running.wait()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(tasks(), 2, job._job.stop, ProgressBar(None, 1))


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"mode": "glocal"}, UsageError, "mode 'glocal'"),
        ({"free_ends": "none"}, UsageError, "free_ends 'none'"),
        ({"gap_extend": 0}, UsageError, "costs are positive"),
        ({"matrix": "BLOSUM"}, UsageError, "BLOSUM62"),
        ({"matrix": np.eye(3, dtype=int)}, InputError, "'T' at 4: matrix has no scores for it"),
        ({"pairs": [[0, 1]]}, UsageError, "within 1 queries and 1 targets"),
        ({"pairs": [0]}, UsageError, "n x 2"),
        ({"pairs": [[0, 0], [0]]}, UsageError, "n x 2"),
        ({"pairs": [[0, 2**62]]}, UsageError, "not within"),
        ({"threads": 0}, UsageError, "threads: 0"),
        ({"threads": "2"}, UsageError, "threads: '2' is not an integer"),
        ({"progress": "yes"}, UsageError, "progress: must be a function"),
        ({"free_ends": ["query"]}, UsageError, "free_ends .'query'. must be one of"),
        ({"matrix": [[1, 2], [3]]}, UsageError, "table of integers"),
        (
            {"queries": "ACGT"},
            InputError,
            r"queries: no file 'ACGT'; put a single sequence into a list: \[sequence\]",
        ),
        ({"queries": [""]}, InputError, "queries: sequence 1: it is empty"),
        ({"targets": ["ACGTE"]}, InputError, "'E' at 5"),
        pytest.param({"device": "no such device"}, DeviceError, "no such device", marks=pytest.mark.device),
    ],
)
def test_bad_input(arguments, error, message):
    given = {"queries": ["ACGT"], "targets": ["ACGT"], **arguments}
    with pytest.raises(error, match=message):
        align.scores(**given)
    if "device" not in arguments:
        with pytest.raises(error, match=message):
            align.pairs(**given)


# --- alignments -----------------------------------------------------------------------------------------------


def rescored(found: align.Alignments, i: int, query: str, target: str, case) -> int:
    """The score of an alignment by its CIGAR; asserts that it covers what it says."""
    matrix = align.substitution_matrix(case[0])
    x, y, score = int(found.query_begin[i]), int(found.target_begin[i]), 0
    for length, operation in re.findall(r"(\d+)([MID])", found.cigar(i)):
        n = int(length)
        if operation == "M":
            a, b = (matrix.alphabet.codes[[*text.encode()]] for text in (query[x : x + n], target[y : y + n]))
            score += int(matrix.scores[a, b].sum())
        else:
            score -= case[1] + n * case[2]
        x += n * (operation != "D")
        y += n * (operation != "I")
    assert (x, y) == (found.query_end[i], found.target_end[i])
    return score


def traced_pairs(queries, targets, mode, case, name=None, limits=traced.LIMITS):
    both = prepared(queries, targets, mode, case)
    each = np.arange(len(queries))
    return traced.trace(*both, np.stack([each, each], axis=1), 1, None, name, limits)


@pytest.mark.parametrize("size", ["whole", "blocks", "a window"])
@EVERY_MODE
@pytest.mark.parametrize("case", [*CASES[:3], ("wide", 10, 1, 60)], ids=str)
def test_alignments_have_the_best_score(mode, free_ends, case, size):
    """Directions of a whole pair, of blocks of rows, of a piece of a long target; lanes of 16 and 32 bits."""
    rng = np.random.default_rng(6)
    matrix = case[0]
    letters = LETTERS.get(matrix, "ACGT")
    if case[0] == "wide":
        matrix = align.Matrix(np.eye(4, dtype=int) * 900 - 500, align.DNA)
    count, longest = {"whole": (40, case[3]), "blocks": (3, 400), "a window": (6, 2000)}[size]
    limits = traced.Limits(9000, 64) if size == "blocks" else traced.LIMITS
    targets = related(rng, letters, longest, count)
    if size == "blocks":
        targets[0] = targets[0].ljust(400, "A")
    queries = [t[len(t) // 4 :] + t[:3] if i % 2 else t[::-1] for i, t in enumerate(targets)]
    if size == "a window":
        queries = [query[-30:] for query in queries]
    if case[0] in THEIRS:
        true = [expected(q, t, (mode, free_ends), case) for q, t in zip(queries, targets, strict=True)]
    else:
        both, true = (
            prepared(queries, targets, (mode, free_ends), (matrix, *case[1:])),
            np.empty(count, np.int32),
        )
        Product(*both, 1).run_pairs(true, np.stack([np.arange(count)] * 2, axis=1))
    for name in instruction_sets():
        found = traced_pairs(queries, targets, (mode, free_ends), (matrix, *case[1:]), name, limits)
        assert np.array_equal(found.score, true), name
        for i, (query, target) in enumerate(zip(queries, targets, strict=True)):
            assert found.score[i] == rescored(found, i, query, target, (matrix, *case[1:]))
            query_whole = found.query_begin[i] == 0 and found.query_end[i] == len(query)
            target_whole = found.target_begin[i] == 0 and found.target_end[i] == len(target)
            assert mode != "global" or (query_whole and target_whole)
            assert (
                mode != "semiglobal"
                or (free_ends == "both")
                or (query_whole if free_ends == "target" else target_whole)
            )


def preferred(query: str, target: str, mode: tuple[str, str], case) -> tuple[int, int, int, str]:
    """Score, ends and CIGAR that the documentation promises: Gotoh 1982, cell by cell, with three matrices."""
    scores = align.substitution_matrix(case[0])
    x, y = (scores.alphabet.codes[[*text.encode()]] for text in (query, target))
    first, extend = case[1] + case[2], case[2]
    flags = mode_flags(*mode)
    local, m, n, least = mode[0] == "local", len(x), len(y), -(10**9)
    h, down, right = (np.full((m + 1, n + 1), least) for _ in range(3))
    for k in range(max(m, n) + 1):
        gap = -(first + (k - 1) * extend) if k else 0
        if k <= m:
            h[k, 0] = 0 if local or flags & 1 else gap
        if k <= n:
            h[0, k] = 0 if local or flags & 4 else gap
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            down[i, j] = max(h[i - 1, j] - first, down[i - 1, j] - extend)
            right[i, j] = max(h[i, j - 1] - first, right[i, j - 1] - extend)
            pair = h[i - 1, j - 1] + scores.scores[x[i - 1], y[j - 1]]
            h[i, j] = max(pair, down[i, j], right[i, j], 0 if local else least)
    is_end = np.zeros((m + 1, n + 1), bool)
    is_end[m, n] = True
    is_end[1:, 1:] |= local
    is_end[m, 1:] |= bool(flags & 8)
    is_end[1:, n] |= bool(flags & 2)
    score = h[is_end].max()
    i, j = (int(at[0]) for at in np.nonzero(is_end & (h == score)))
    if local and score == 0:
        return 0, 0, 0, ""
    ends, steps, state = (i, j), [], "M"
    while i and j:
        if state == "M":
            if local and h[i, j] == 0:
                break
            pair = h[i - 1, j - 1] + scores.scores[x[i - 1], y[j - 1]]
            state = "M" if h[i, j] == pair else "I" if h[i, j] == down[i, j] else "D"
            if state == "M":
                i, j = i - 1, j - 1
                steps.append("M")
                continue
        steps.append(state)
        if state == "I":
            opens = down[i, j] == h[i - 1, j] - first
            i -= 1
        else:
            opens = right[i, j] == h[i, j - 1] - first
            j -= 1
        state = "M" if opens else state
    steps += "I" * i * (not (local or flags & 1)) + "D" * j * (not (local or flags & 4))
    cigar = "".join(f"{len(run)}{run[0]}" for run in re.findall("M+|I+|D+", "".join(steps[::-1])))
    return int(score), *ends, cigar


@EVERY_MODE
def test_of_equally_good_alignments_the_documented_one_is_found(mode, free_ends):
    rng = np.random.default_rng(12)
    for case in (("NUC4.4", 10, 1), ("NUC4.4", 0, 2), ("NUC4.4", 3, 1)):
        queries = ["".join(rng.choice(list("ACGT"[: 2 + i % 3]), rng.integers(1, 25))) for i in range(12)]
        targets = [q[:-3][::-1] + q + "CA" if i % 3 else q[:4] + q[9:] + "A" for i, q in enumerate(queries)]
        true = [preferred(q, t, (mode, free_ends), case) for q, t in zip(queries, targets, strict=True)]
        for name in instruction_sets():
            for limits in (traced.LIMITS, traced.Limits(1, 64)):
                found = traced_pairs(queries, targets, (mode, free_ends), case, name, limits)
                ends = zip(
                    found.score.tolist(), found.query_end.tolist(), found.target_end.tolist(), strict=True
                )
                assert [(*end, found.cigar(i)) for i, end in enumerate(ends)] == true, (name, limits)


def test_pairs_by_number_and_by_list():
    found = align.pairs(["ACGT", "GGGG"], ["TTTACGTAA"])
    assert [found.cigar(i) for i in (0, 1)] == ["4M", "1M"]
    assert (found.target_begin[0], found.target_end[0], found.target.tolist()) == (3, 7, [0, 0])
    assert align.pairs(["A", "C"], ["C", "A", "G"], pairs=[[1, 0], [0, 1]]).score.tolist() == [5, 5]
    assert align.pairs(["A"], ["T"]).cigar(0) == ""
    assert found.cigar(-1) == "1M"
    with pytest.raises(IndexError):
        found.cigar(2)
    with pytest.raises(UsageError, match="pairs= says"):
        align.pairs(["A", "C"], ["C", "A", "G"])


# --- distances ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("longest", [20, 64, 200])
def test_distances_are_those_of_edlib(longest):
    rng = np.random.default_rng(longest)
    queries, targets = related(rng, "ACGT", longest, 12), related(rng, "ACGT", longest, 15)
    true = np.array([[edlib.align(q, t)["editDistance"] for t in targets] for q in queries])
    infix = [[edlib.align(q, t, mode="HW")["editDistance"] for t in targets] for q in queries]
    assert np.array_equal(align.edit_distance(queries, targets), true)
    assert np.array_equal(align.edit_distance(queries, targets, mode="semiglobal"), infix)
    for band in (0, 3, 30, 1000):
        assert np.array_equal(align.edit_distance(queries, targets, band), np.where(true <= band, true, -1))
    pairs = np.stack([rng.integers(0, 12, 30), rng.integers(0, 15, 30)], axis=1)
    assert np.array_equal(align.edit_distance(queries, targets, pairs=pairs), true[pairs[:, 0], pairs[:, 1]])


def test_distances_of_proteins_and_bad_bands():
    assert align.edit_distance(["MKV"], ["MRV"], alphabet=align.PROTEIN).tolist() == [[1]]
    assert align.edit_distance(["ACGT"], ["AGT"], 10**30).tolist() == [[1]]
    for arguments in ({"band": -1}, {"band": 1.5}, {"mode": "local"}, {"alphabet": "DNA"}):
        with pytest.raises(UsageError):
            align.edit_distance(["A"], ["A"], **arguments)

"""`gassst.align.best`, against Gotoh's recurrence over the whole matrix."""

from itertools import groupby

import numpy as np
import pytest

from gassst._core.best import Tiles, instruction_sets
from gassst.align import best_device, match_matrix
from gassst.align.best import _alignment, best
from gassst.align.best_device import device_pass
from gassst.align.blocks import BlockMatrix, Geometry, compiled_pass, longest_span
from gassst.align.gaps import Gaps
from gassst.align.waterman_eggert import WatermanEggert
from gassst.errors import DeviceError, InputError, UsageError
from gassst.gpu import platforms
from gassst.gpu.device import Device
from gassst.gpu.platforms import opened

LEAST = -(10**8)
SCORES = np.ascontiguousarray(match_matrix(2, -3).scores[:4, :4], np.int32)


def gotoh(query, target, scores, gaps, blocked):
    """H, E, F of the whole matrix, with a first row and column of zeros; columns are vectors."""
    m, n = len(query), len(target)
    h, e, f = (np.zeros((m + 1, n + 1), np.int64) for _ in range(3))
    e[:, 0] = f[:, 0] = e[0] = f[0] = LEAST
    down = gaps.extend * np.arange(m + 1)
    for j in range(1, n + 1):
        e[1:, j] = np.maximum(e[1:, j - 1] - gaps.extend, h[1:, j - 1] - gaps.first)
        pair = h[:-1, j - 1] + scores[query, target[j - 1]]
        pair[blocked[1:, j]] = 0
        h[1:, j] = np.maximum(0, np.maximum(pair, e[1:, j]))
        # A gap from row i' to row i costs open + (i - i') * extend; one that follows another gap is never better.
        f[1:, j] = (np.maximum.accumulate(h[:, j] + down) - gaps.open - down)[:-1] - gaps.extend
        h[1:, j] = np.maximum(h[1:, j], f[1:, j])
    return h, e, f


def by_gotoh(query, target, scores, gaps, k):
    """(score, query_begin, query_end, target_begin, target_end, cigar) of the best alignments."""
    blocked = np.zeros((len(query) + 1, len(target) + 1), bool)
    found = []
    for _ in range(k):
        h, e, f = gotoh(query, target, scores, gaps, blocked)
        score = h.max()
        if score < 1:
            break
        end_j, end_i = min((j, i) for i, j in np.argwhere(h == score).tolist())
        i, j, at, steps = end_i, end_j, "H", []
        while at != "H" or h[i, j] > 0:
            if at == "H":
                if not blocked[i, j] and h[i, j] == h[i - 1, j - 1] + scores[query[i - 1], target[j - 1]]:
                    steps.append("M")
                    blocked[i, j] = True
                    i, j = i - 1, j - 1
                else:
                    at = "D" if h[i, j] == e[i, j] else "I"
            elif at == "D":
                steps.append("D")
                at = "H" if e[i, j] == h[i, j - 1] - gaps.first else "D"
                j -= 1
            else:
                steps.append("I")
                at = "H" if f[i, j] == h[i - 1, j] - gaps.first else "I"
                i -= 1
        cigar = "".join(f"{len(list(run))}{step}" for step, run in groupby(steps[::-1]))
        found.append((int(score), i, end_i, j, end_j, cigar))
    return found


def peeled(matrix, k, threads=1):
    """The same of a matrix whose first pass is done."""
    found = []
    with WatermanEggert(matrix, threads) as alignments:
        while len(found) < k and (path := alignments.next_path(1)) is not None:
            a = _alignment(path, matrix.query, matrix.target)
            found.append((a.score, a.query_begin, a.query_end, a.target_begin, a.target_end, a.cigar))
    return found


def small_geometry(rng, m, n, gaps, largest=2):
    """Tiles, blocks and chunks that are small enough for many borders."""
    tile_columns = int(rng.integers(5, 40))
    return Geometry(
        m, n, 32, tile_columns, 32 * int(rng.integers(1, 3)), tile_columns * int(rng.integers(1, 4)),
        longest_span(m, gaps, largest), int(rng.integers(1, 4)),
    )  # fmt: skip


def random_pair(rng, kind):
    m, n = (int(x) for x in rng.integers(1, 110, 2))
    query, target = rng.integers(0, 4, m).astype(np.uint8), rng.integers(0, 4, n).astype(np.uint8)
    half = min(m, n) // 2
    if kind == "tandem":
        unit = rng.integers(0, 4, 5).astype(np.uint8)
        query, target = np.resize(unit, m), np.resize(unit, n)
        query[rng.integers(0, m, 3)], target[rng.integers(0, n, 3)] = 1, 2
    elif kind == "similar":
        target[:half] = query[:half]
        if half > 12:
            target[half // 2 : half - 3] = target[half // 2 + 3 : half].copy()
    return query, target


@pytest.mark.parametrize("instruction_set", instruction_sets())
@pytest.mark.parametrize("kind", ["random", "tandem", "similar"])
@pytest.mark.parametrize("threads", [1, 3])
def test_alignments_are_those_of_the_whole_matrix(instruction_set, kind, threads):
    rng = np.random.default_rng(7)
    for _ in range(8):
        query, target = random_pair(rng, kind)
        extend = int(rng.integers(1, 3))
        gaps = Gaps(int(rng.integers(0, 6)), extend)
        geometry = small_geometry(rng, len(query), len(target), gaps)
        matrix = BlockMatrix(
            query, target, gaps, Tiles(SCORES, gaps.first, extend, instruction_set), geometry
        )
        compiled_pass(matrix, 2, lambda cells: None)
        assert peeled(matrix, 9, threads) == by_gotoh(query, target, SCORES, gaps, 9)


@pytest.mark.parametrize("instruction_set", instruction_sets())
@pytest.mark.parametrize("factor", [1, 700])  # scores beyond 16 bits take the wide kernel
def test_any_matrix_of_scores(instruction_set, factor):
    rng = np.random.default_rng(8)
    gaps = Gaps(4, 2)
    for _ in range(4):
        scores = rng.integers(-5, 6, (20, 20)).astype(np.int32) * factor
        query, target = rng.integers(0, 20, (2, 150)).astype(np.uint8)
        target[40:120] = query[30:110]
        geometry = small_geometry(rng, 150, 150, gaps, int(scores.max()))
        matrix = BlockMatrix(
            query, target, gaps, Tiles(scores, gaps.first, gaps.extend, instruction_set), geometry
        )
        compiled_pass(matrix, 1, lambda cells: None)
        assert peeled(matrix, 2) == by_gotoh(query, target, scores, gaps, 2)


@pytest.mark.device("cpu")
@pytest.mark.parametrize("devices, chunk_blocks", ((1, 2), (3, 1), (2, 6), (3, 6)))
def test_a_device_finds_the_same(monkeypatch, devices, chunk_blocks):
    """One, and several contexts of one, as several GPUs are: with chunks of their own, and with parts of one."""
    [one] = opened("cpu", 2)
    several = [one, *(Device(platforms.choose("cpu")[0], one.device) for _ in range(devices - 1))]
    monkeypatch.setattr(best_device, "opened", lambda *_: several)
    monkeypatch.setattr(best_device, "IN_FLIGHT", 2)
    rng = np.random.default_rng(10)
    gaps = Gaps(5, 2)
    scores = match_matrix(2, -3).scores
    query, target = rng.integers(0, 4, 1200).astype(np.uint8), rng.integers(0, 5, 5200).astype(np.uint8)
    target[900:1500], target[4500:5000] = query[:600], query[500:1000]
    for corner in (2048, 3072):  # of tiles where parts of two devices meet
        target[corner - 112 : corner + 128] = query[400:640]
    tiles = Tiles(scores.astype(np.int32), gaps.first, gaps.extend, instruction_sets()[0])
    geometry = Geometry(1200, 5200, 512, 512, 512, 1024, 2048, chunk_blocks)
    compiled = BlockMatrix(query, target, gaps, tiles, geometry)
    compiled_pass(compiled, 2, lambda cells: None)
    device = device_pass(query, target, gaps, scores, tiles, "cpu", 2, geometry=geometry)
    for name in ("best", "across", "down"):
        assert np.array_equal(getattr(device, name), getattr(compiled, name))
    assert peeled(device, 3) == peeled(compiled, 3)


@pytest.mark.device("cpu")
def test_a_device_that_computes_wrong_scores_is_refused(monkeypatch, tmp_path):
    text = best_device.KERNEL.read_text()
    broken = tmp_path / "best.cl"
    broken.write_text(text.replace("max(e[k] - g.extend", "max(e[k] - g.extend - 1"))
    monkeypatch.setattr(best_device.Waves, "paths", (broken,))
    rng = np.random.default_rng(11)
    query, target = rng.integers(0, 4, (2, 3000)).astype(np.uint8)
    scores = match_matrix(2, -3).scores
    tiles = Tiles(scores.astype(np.int32), 5, 2, instruction_sets()[0])
    with pytest.raises(DeviceError, match="computes wrong scores"):
        device_pass(query, target, Gaps(5, 2), scores, tiles, "cpu", 2)


def test_best_by_its_public_name():
    found = best("TTTTACGTACGGTACGTTTT", b"ccccACGTACGGTACGccccc", 1, matrix=match_matrix(1, -2), gap_open=2)
    assert found[0].score == 12 and found[0].cigar == "12M" and found[0].matches == 12
    assert (found[0].query_begin, found[0].query_end) == (4, 16)
    assert (found[0].target_begin, found[0].target_end) == (4, 16)
    assert best("AAAA", "CCCC") == []
    assert len(best("ACGTACGT", "ACGTACGT", 100, matrix=match_matrix(1, -2), gap_open=2, min_score=4)) == 3


@pytest.mark.parametrize(
    ("query", "target", "more", "error"),
    [
        ("", "ACGT", {}, InputError), ("AC!T", "ACGT", {}, InputError),
        ("ACGT", "ACGT", {"k": 0}, UsageError), ("ACGT", "ACGT", {"k": "many"}, UsageError),
        ("ACGT", "ACGT", {"min_score": 0}, UsageError), ("ACGT", "ACGT", {"gap_extend": 0}, UsageError),
        ("ACGT", "ACGT", {"threads": 0}, UsageError), ("ACGT", "ACGT", {"matrix": "BLOSUM99"}, UsageError),
        ("ACGT", "ACGT", {"device": "no such device"}, DeviceError),
    ],
)  # fmt: skip
def test_bad_input_is_one_error(query, target, more, error):
    with pytest.raises(error):
        best(query, target, **more)

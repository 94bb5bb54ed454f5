"""Metrics of duplicates, and what the compiled passes refuse."""

import math
from collections import Counter

import numpy as np
import pytest
from duplicate_worlds import CONTIGS, HEADER, bam_of, world

from gassst._core import duplicates as compiled
from gassst._core.records import gather, sort_keys
from gassst.errors import UsageError
from gassst.records.duplicate_metrics import library_size, metrics_text
from gassst.records.duplicates import DuplicateCounts, Libraries, signer_for
from gassst.records.options import DuplicateRules


@pytest.mark.parametrize("molecules", [50, 1234, 10**6, 10**9])
@pytest.mark.parametrize("pairs", [40, 1000, 10**6])
def test_size_of_a_library_solves_the_equation(molecules, pairs):
    """A library of so many molecules gives so many different ones; from their number its size follows."""
    unique = round(molecules * -math.expm1(-pairs / molecules))
    found = library_size(pairs, unique)
    if unique == pairs:
        assert found is None
    else:
        for size, sign in ((found, -1), (found + 1, 1)):
            assert sign * (size * -math.expm1(-pairs / size) - unique) >= -1e-6 * unique


def test_no_size_without_duplicates():
    assert library_size(10, 10) is None
    assert library_size(0, 0) is None


def test_metrics_of_nothing():
    text = metrics_text(DuplicateCounts(("Unknown Library",)))
    assert text.splitlines()[5] == "Unknown Library\t0\t0\t0\t0\t0\t0\t0\t0\t"
    assert "HISTOGRAM" not in text


def test_libraries_without_reads_are_left_out():
    counts = DuplicateCounts(("empty", "full"))
    counts.examined[1] = 10, 4, 3, 2
    counts.marked[1] = 2, 1, 1
    counts.sizes = Counter({(3, 1): 1})
    rows = metrics_text(counts).split("\n\n")[1].splitlines()[2:]
    size = library_size(9, 8)
    assert rows == [f"full\t4\t10\t3\t2\t1\t2\t1\t{5 / 24:.6f}\t{size}"]
    histogram = metrics_text(counts).split("\n\n")[2].splitlines()
    assert histogram[1] == "BIN\tCoverageMult\tall_sets\toptical_sets\tnon_optical_sets"
    found = {line.split("\t")[0]: line.split("\t")[2:] for line in histogram[2:]}
    assert found["1.0"] == ["7", "0", "7"]
    assert found["2.0"] == ["0", "1", "1"]
    assert found["3.0"] == ["1", "0", "0"]


def test_libraries_of_a_header():
    text = str(HEADER)
    assert Libraries.of(text, "library") == Libraries(
        ("a", "b", "Unknown Library"), (0, 0, 1, 2, 2), ("a1", "a2", "b", "none")
    )
    assert Libraries.of(text, "read-group").of_group == (0, 1, 2, 3, 4)
    assert Libraries.of(text, "file").names == ("All",)


@pytest.mark.parametrize("rules", [{"within": "lane"}, {"barcode_tag": "9X"}, {"optical_distance": 2**31}])
def test_rules_that_make_no_sense(rules):
    with pytest.raises(UsageError):
        DuplicateRules(**rules).verify()


def test_too_many_contigs_are_refused():
    with pytest.raises(UsageError, match="too many contigs"):
        signer_for(DuplicateRules(), Libraries.of(str(HEADER), "file"), [2**31 - 1] * 2049)


def test_bytes_that_are_no_records_are_refused(tmp_path):
    signer = signer_for(DuplicateRules(), Libraries.of(str(HEADER), "file"), list(CONTIGS.values()))
    bam = bam_of(world(1, n=20), tmp_path / "part.bam")
    assert len(signer.sign(bam, bam.records)[0]) == bam.records
    for data, n in (
        (bam, bam.records - 1),
        (bam, bam.records + 1),
        (bam[:-1], bam.records),
        (b"\xff" * 40, 1),
    ):
        with pytest.raises(ValueError):
            signer.sign(data, n)
    supplementary = [
        records[1:] for records in world(1, n=200) if len(records) > 1 and records[1].flag & 0x900
    ]
    part = bam_of(supplementary[:1], tmp_path / "part.bam")
    with pytest.raises(ValueError, match="the first of them primary"):
        signer.sign(part, part.records)


def test_marks_that_do_not_fit_are_refused(tmp_path):
    bits, ordinals = np.zeros(2, np.uint8), np.array([16], np.uint64)
    with pytest.raises(ValueError):
        compiled.set_bits(bits, ordinals)
    with pytest.raises(ValueError):
        compiled.marks_of(ordinals, bits, bits)
    with pytest.raises(ValueError):
        compiled.marks_of(ordinals, np.zeros(3, np.uint8), bits)
    bam = bam_of(world(1, n=20), tmp_path / "part.bam")
    keys, ends = sort_keys(bam, bam.records)
    order = np.argsort(keys)
    marks = np.ones(len(order), np.uint8)
    assert len(gather([(ends, bam)], order, marks, True)[0]) == len(bam) + 6 * len(order)
    with pytest.raises(ValueError):
        gather([(ends, bam)], order, marks[1:], True)


def test_a_tie_without_records_is_an_error():
    rows = np.array([[1, 2, 3], [1, 2, 4]], np.uint64)
    with pytest.raises(ValueError, match="a template without a record"):
        compiled.Ties(rows, False).settled()


def test_bits_are_found_again():
    bits, ordinals = np.zeros(20, np.uint8), np.array([0, 7, 8, 77, 159], np.uint64)
    compiled.set_bits(bits, ordinals)
    found = compiled.marks_of(np.arange(160, dtype=np.uint64), bits, np.zeros_like(bits))
    assert np.flatnonzero(found).tolist() == ordinals.tolist()


# --- optical duplicates -------------------------------------------------------------------------------------


def optical_by_judge(spots, distance):
    """Which of the members of one set are optical duplicates; spots are (surface, x, y), surface 0 for none."""
    rows = np.zeros((len(spots), 5), np.uint64)
    rows[:, 2] = np.arange(len(spots))
    for row, (surface, x, y) in zip(rows, spots, strict=True):
        row[3], row[4] = surface, x << 32 | y
    marked, optical, _, counts, sizes = compiled.judge(
        rows, np.empty((0, 1), np.uint64), False, distance, True, 1
    )
    assert marked.tolist() == list(range(1, len(spots)))
    found = marked[optical > 0].tolist()
    assert counts[0].tolist() == [len(spots) - 1, 0, len(found)]
    assert sizes.tolist() == [[len(spots), len(found)]]
    return found


def optical_by_flood(spots, distance):
    """The same by walking from spot to spot, whichever is near."""
    left, found = set(range(len(spots))), []
    while left:
        best = min(left)
        left.remove(best)
        todo = [best]
        while todo:
            surface, x, y = spots[todo.pop()]
            near = [
                i
                for i in left
                if surface
                and spots[i][0] == surface
                and abs(spots[i][1] - x) <= distance
                and abs(spots[i][2] - y) <= distance
            ]
            left.difference_update(near)
            found += near
            todo += near
    return sorted(found)


@pytest.mark.parametrize("distance", [0, 1, 3, 100, 2**31 - 1])
def test_optical_duplicates_are_clusters_of_near_spots(distance):
    rng = np.random.default_rng(distance)
    some = 0
    for _ in range(300):
        n, side = int(rng.integers(2, 40)), max(2, int(min(distance, 10**6) * rng.choice([1, 3, 8])))
        spots = [(int(rng.integers(3)), *map(int, rng.integers(0, side, 2))) for _ in range(n)]
        expected = optical_by_flood(spots, distance)
        assert optical_by_judge(spots, distance) == expected
        some += 0 < len(expected) < n - 1
    assert some > 30


def test_many_spots_of_one_tile_take_no_look_at_every_pair_of_them():
    """Two layers further apart than the distance, each a cluster: 150,000 spots, all of them near in x."""
    n, distance = 150_000, 10**6
    spots = [(1, (7919 * i) % distance, (i % 2) * (2 * distance + 1)) for i in range(n)]
    assert optical_by_judge(spots, distance) == list(range(2, n))

"""Copies that `-k` and `--xa` list: which seeds lead to them, and which reads are looked up once more."""

import numpy as np
import pysam
import pytest

import gassst
from gassst.local import realign, reseed
from gassst.model.params import LEAST_SHARE, Scoring
from gassst.model.reference import Reference
from gassst.search.dense import DenseSeeds
from gassst.search.host import HostBackend

BASES = "ACGT"


def with_errors(bases, places):
    changed = list(bases)
    for at in places:
        changed[at] = BASES[(BASES.index(changed[at]) + 1) % 4]
    return "".join(changed)


def test_a_copy_that_is_listed_has_one_of_the_disjoint_seeds_without_an_error():
    scoring = Scoring()
    for length in range(30, 400):
        errors = int(round((1 - LEAST_SHARE) * 1000) * length * scoring.match) // (
            1000 * (scoring.match + scoring.mismatch)
        )
        rows = DenseSeeds(27, 0, 0, 25).rows()
        assert rows.number[length] == errors + 1
        assert rows.number[length] * rows.length[length] <= length


@pytest.fixture
def looked_up(monkeypatch):
    """How many reads each look at seeds of a batch is for, and whether there is none at every few bases."""
    looks, own = [], HostBackend.look_densely

    def noted(self, reads, seeds):
        looks.append((len(reads), seeds.stride == 0))
        return own(self, reads, seeds)

    monkeypatch.setattr(HostBackend, "look_densely", noted)
    return looks


@pytest.fixture
def places(tmp_path):
    """First bases of all records of a read."""

    def of(index, read, **options):
        (tmp_path / "r.fq").write_text(f"@r\n{read}\n+\n{'I' * len(read)}\n")
        gassst.Mapper(index, device="none", **options).map_file(tmp_path / "r.fq", tmp_path / "r.sam")
        with pysam.AlignmentFile(tmp_path / "r.sam") as file:
            return sorted(record.reference_start for record in file)

    return of


def noted(counts, looks):
    for diagonals in looks:
        counts.append(len(diagonals.diagonal))
        yield diagonals


def index_of(*pieces):
    rng = np.random.default_rng(3)
    text, starts = "", []
    for piece in pieces:
        text += "".join(rng.choice(list(BASES), 500))
        starts.append(len(text))
        text += piece
    text += "".join(rng.choice(list(BASES), 500))
    return gassst.Index.build(Reference.from_sequences([("c", text.encode())])), starts


READ = "".join(np.random.default_rng(8).choice(list(BASES), 100))


@pytest.mark.parametrize("errors", [(10, 30, 50, 70), (5, 45, 62, 93), (19, 39, 59, 79)])
def test_a_copy_with_four_mismatches_is_listed_and_no_dense_seed_looked_up(looked_up, places, errors):
    index, starts = index_of(READ, with_errors(READ, errors))
    assert places(index, READ, max_hits=3) == starts
    assert looked_up[-2:] == [(1, True), (0, False)]


def test_a_copy_with_two_gaps_is_listed(looked_up, places):
    copy = READ[:33] + READ[34:66] + "A" + READ[66:]
    index, starts = index_of(READ, copy)
    assert places(index, READ, max_hits=3) == starts


def test_a_copy_that_scores_too_little_is_not_listed(looked_up, places):
    index, starts = index_of(READ, with_errors(READ, (10, 30, 50, 70, 90)))
    assert places(index, READ, max_hits=3) == starts[:1]


def test_dense_seeds_are_looked_up_where_several_disjoint_ones_occur_too_often(looked_up, places):
    ends = READ[:20], READ[80:]
    index, starts = index_of(READ, with_errors(READ, (50, 70)), *(end for end in ends for _ in range(300)))
    assert places(index, READ, max_hits=3) == starts[:2]
    assert looked_up[-2:] == [(1, True), (1, False)]


def test_for_all_copies_dense_seeds_alone_are_looked_up(looked_up, places):
    index, starts = index_of(READ, with_errors(READ, range(4, 100, 12)))
    assert places(index, READ, all_hits=True, mode="local") == starts
    assert set(looked_up) == {(1, False)}


def test_seeds_of_the_second_look_are_as_long_as_disjoint_ones():
    rows = DenseSeeds(27, 5, 0, 25).rows()
    assert (rows.length[100], rows.number[100]) == (20, 17) and rows.length[150] == 21
    assert rows.number[150] == 26 and rows.number[20] == 1


def test_places_that_the_search_has_scored_are_not_scored_again(monkeypatch, places):
    scored = []
    monkeypatch.setattr(
        realign, "diagonals_of_copies", lambda *a: noted(scored, reseed.diagonals_of_copies(*a))
    )
    index, starts = index_of(READ, with_errors(READ, (10, 30, 50, 70)))
    assert places(index, READ, max_hits=3) == starts
    assert scored[-2:] == [1, 0]

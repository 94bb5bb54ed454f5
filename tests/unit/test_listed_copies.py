"""Copies that `-k` and `--xa` list: which seeds lead to them, and which reads are looked up once more."""

import numpy as np
import pysam
import pytest

import gassst
from gassst.model.params import LEAST_SHARE, MapParams, Scoring
from gassst.model.reference import Reference
from gassst.search.host import HostBackend
from gassst.search.plan import SearchPlan

BASES = "ACGT"


def with_errors(bases, places):
    changed = list(bases)
    for at in places:
        changed[at] = BASES[(BASES.index(changed[at]) + 1) % 4]
    return "".join(changed)


def rows_of(m):
    """Length and number of the disjoint seeds, and of those at every few bases, of reads of `m` bases."""
    plan = SearchPlan(MapParams(), 15, 10**8)
    plan.prepare(np.array([m]))
    return [(int(plan.seed_length[row, m]), int(plan.seed_count[row, m])) for row in (-2, -1)]


def test_a_copy_that_is_listed_has_one_of_the_disjoint_seeds_without_an_error():
    scoring = Scoring()
    for length in range(30, 400, 7):
        errors = int(round((1 - LEAST_SHARE) * 1000) * length * scoring.match) // (
            1000 * (scoring.match + scoring.mismatch)
        )
        (bases, number), _ = rows_of(length)
        assert number == errors + 1 and number * bases <= length


@pytest.fixture
def copies(monkeypatch):
    """Of how many reads the last seeds were looked up that lead to copies, and how many bands were scored."""
    looks, own = [], HostBackend.placed

    def placed(self, pairs, found, ends):
        search, aligner = own(self, pairs, found, ends), ends

        class Noted:
            def add_copies(self):
                before = aligner.scored
                looks.append((search.add_copies(), aligner.scored - before))

            def __getattr__(self, name):
                return getattr(search, name)

        return Noted()

    monkeypatch.setattr(HostBackend, "placed", placed)
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
def test_a_copy_with_four_mismatches_is_listed_and_no_dense_seed_looked_up(copies, places, errors):
    index, starts = index_of(READ, with_errors(READ, errors))
    assert places(index, READ, max_hits=3) == starts
    assert copies[-1][0] == 0


def test_a_copy_with_two_gaps_is_listed(copies, places):
    copy = READ[:33] + READ[34:66] + "A" + READ[66:]
    index, starts = index_of(READ, copy)
    assert places(index, READ, max_hits=3) == starts


def test_a_copy_that_scores_too_little_is_not_listed(copies, places):
    index, starts = index_of(READ, with_errors(READ, (10, 30, 50, 70, 90)))
    assert places(index, READ, max_hits=3) == starts[:1]


def test_dense_seeds_are_looked_up_where_several_disjoint_ones_occur_too_often(copies, places):
    ends = READ[:20], READ[80:]
    index, starts = index_of(READ, with_errors(READ, (50, 70)), *(end for end in ends for _ in range(300)))
    assert places(index, READ, max_hits=3) == starts[:2]
    assert copies[-1][0] == 1


def test_for_all_copies_dense_seeds_alone_are_looked_up(copies, places):
    index, starts = index_of(READ, with_errors(READ, range(4, 100, 12)))
    assert places(index, READ, all_hits=True, mode="local") == starts
    assert copies[-1][0] == 1


def test_seeds_of_the_second_look_are_as_long_as_disjoint_ones():
    assert [rows_of(m)[1] for m in (20, 100, 150)] == [(20, 1), (20, 17), (21, 26)]


def test_places_that_the_search_has_scored_are_not_scored_again(copies, places):
    index, starts = index_of(READ, with_errors(READ, (10, 30, 50, 70)))
    assert places(index, READ, max_hits=3) == starts
    assert copies[-1] == (0, 2)  # the other copy: its place, its alignment

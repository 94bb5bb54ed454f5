"""Rivals in tandem repeats: found beside a place, against all shifts tried; and what they do to mapping qualities."""

import numpy as np
import pytest
from rating import NO_SEEDS, alike, lines_of, rater, report_of, rivals_of

import gassst
from gassst._core.read_search import qualities
from gassst.model.params import MapParams, Scoring
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records

# One more error makes a place hardly less likely, so that a quality tells how many copies there are and how far.
ODDS = 0.3
M, UNIT, COPIES, AT = 100, 43, 8, 3000
NEAREST, FURTHEST = 11, 128


def substituted(bases, places):
    bases = bases.copy()
    for place in places:
        bases[place] = (bases[place] + 1) % 4
    return bases


@pytest.fixture(scope="module")
def world():
    """Random bases with copies of a unit between, of which every other one has another base in the middle."""
    rng = np.random.default_rng(2)
    unit = rng.integers(0, 4, UNIT)
    copies = [substituted(unit, [UNIT // 2] if i % 2 else []) for i in range(COPIES)]
    codes = np.concatenate([rng.integers(0, 4, AT), *copies, rng.integers(0, 4, AT)])
    return np.array(list("ACGT"))[codes]


@pytest.fixture(scope="module")
def reference(world):
    return Reference.from_sequences([("c", "".join(world).encode())])


SCORING = Scoring(match=6, mismatch=2, min_score=0)


def capped(packed, diagonal, begin, end, loss, reference, quality=60):
    """Qualities of forward alignments that nothing but the copies beside them lowers from `quality`."""
    score = SCORING.match * (end - begin) - np.asarray(loss) * (SCORING.match + SCORING.mismatch)
    lines = lines_of(np.arange(len(packed.lengths)), begin, end, score)
    for name in ("first", "last", "low", "high"):
        lines.rows[f"{name}_diagonal"] = diagonal
    # They have no other place, or five with three mismatches more.
    others = rivals_of(lines, 0 if quality == 60 else 5, score - 3 * (SCORING.match + SCORING.mismatch))
    params = MapParams(mode="local", scoring=SCORING)
    report = report_of(
        rater([NO_SEEDS], alike(ODDS), n_bases=0.0), packed, lines, others, params=params, reference=reference
    )
    return report.rows()[0]["mapq"].tolist()


def allowed(errors, count, loss, quality=60):
    """What so many copies with so many mismatches leave of it."""
    if quality < 10:
        return quality
    return min(quality, int(qualities(np.array([count * ODDS ** max(errors - loss, 0)]))[0]))


def test_rivals_beside_a_place_are_counted(world, reference):
    starts = np.array([500, AT + 5, AT + 30, AT + 150, AT + 210])
    packed = batch_of_records(
        [(f"r{i}", "".join(world[s : s + M]), None) for i, s in enumerate(starts)]
    ).pack()
    diagonal = (int(reference.starts[0]) + starts).astype(np.int64)
    places = packed, diagonal, np.full(len(starts), 10), np.full(len(starts), M)
    expected = [60]  # repeats nothing
    for start in starts[1:]:
        expected.append(allowed(*rivals_by_trying(world, start + 10, M - 10), 0))
    assert capped(*places, np.zeros(len(starts)), reference) == expected
    assert min(expected) < 60
    assert capped(*places, np.zeros(len(starts)), reference, 9) == [9] * len(starts)


def rivals_by_trying(text, at, m):
    """(fewest mismatches of a copy, how many copies have as few)."""
    shifts = [s for d in range(NEAREST, FURTHEST + 1) for s in (-d, d)]
    found = [int((text[at + s : at + s + m] != text[at : at + m]).sum()) for s in shifts]
    least = min(found)
    return least, found.count(least)


@pytest.mark.parametrize("m", [18, 100, 150])
def test_copies_count_up_to_a_limit_of_diagonals(m):
    """Of 18 bases with one copy, at the edges mostly; of reads in tandem repeats with some other bases."""
    rng, n, room = np.random.default_rng(m), 300, 400
    texts = rng.integers(0, 4, (n, 2 * room))
    for i, text in enumerate(texts):
        if m == 18:  # too short to show a repeat: one copy is enough
            shift = int(rng.choice([NEAREST - 1, NEAREST, 40, FURTHEST, FURTHEST + 1])) * (-1) ** i
            text[room + shift : room + shift + m] = text[room : room + m].copy()
        else:
            text[room - 250 : room + 350] = np.resize(text[: rng.integers(11, 70)], 600)
        others = np.r_[room - 250 : room, room + m : room + 350]
        some = rng.choice(others, int(rng.integers(0, 260)), replace=False)
        text[some] = (text[some] + 1) % 4
    letters = np.array(list("ACGT"))[texts]
    reference = Reference.from_sequences([("c", "".join(letters.ravel()).encode())])
    packed = batch_of_records(
        [(f"r{i}", "".join(t[room : room + m]), None) for i, t in enumerate(letters)]
    ).pack()
    loss, first = rng.integers(0, 14, n) / 2, int(reference.starts[0]) + room
    diagonal, parts = first + 2 * room * np.arange(n), (np.zeros(n, np.int64), np.full(n, m))
    found = [rivals_by_trying(text, room, m) for text in texts]
    expected = [allowed(*one, at) for one, at in zip(found, loss, strict=True)]
    assert capped(packed, diagonal, *parts, loss, reference) == expected
    assert len(set(expected)) > 10


@pytest.mark.parametrize("mode", ["global", "local"])
def test_no_read_is_surer_than_the_copies_beside_it_allow(world, reference, mode):
    """A read with the differences of a neighbour copy: the search may see one place alone."""
    mapper = gassst.Mapper(gassst.Index.build(reference), mode=mode, device="none")
    at = AT + 2 * UNIT
    here, beside = world[at : at + M], world[at + UNIT : at + UNIT + M]
    apart = np.flatnonzero(here != beside)
    read = here.copy()
    read[apart[::2]] = beside[apart[::2]]
    clean = world[500 : 500 + M]
    found = list(mapper.map([("tandem", "".join(read), None), ("clean", "".join(clean), None)]))
    assert found[0].mapping_quality <= 20
    assert found[1].mapping_quality >= 40

"""The compiled search of pairs against plain Python, which looks at every place and every window base by base.

What seeds lead to is given to both, as a device gives it, so that stages are known and few.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import brute_force as bf
import numpy as np
import pytest
from engines import engine

import gassst
from gassst._core.banded import instruction_sets
from gassst._core.pair_stages import PairStages
from gassst.model.layouts import NO_SCORE
from gassst.model.reference import Reference
from gassst.pairing.insert_size import ORIENTATIONS, InsertModel
from gassst.reads.in_memory import batch_of_records
from gassst.search.arrays import Anchors
from gassst.search.context import BatchContext, PairContext
from gassst.search.state import ReadStates

SEEDS = [(18, 17), (12, 7), (9, 4)]  # bases of the seeds of each stage, and from one to the next
LOW, HIGH = 150, 320  # template lengths
MARGIN = 2
MOST_PLACES = 2
STATE = ("best", "limit", "looked", "capped", "complete")


# --- genomes and reads ---------------------------------------------------------------------------------------------


def genome_of(rng: np.random.Generator) -> dict[str, bytes]:
    """Two contigs with copies of an element, in some of which a few bases differ, and a tandem repeat."""
    contigs = [bytearray(bf.random_bases(rng, size)) for size in (1500, 1100)]
    element, unit = bf.random_bases(rng, 90), bf.random_bases(rng, 23)
    for i in range(18):
        contig, copy = contigs[i % 2], bf.mutate(rng, element, i // 5)
        at = int(rng.integers(len(contig) - len(copy)))
        contig[at : at + len(copy)] = bf.reverse_complement(copy) if i % 3 == 0 else copy
    contigs[0][300:415] = unit * 5
    return {str(i): bytes(contig) for i, contig in enumerate(contigs)}


def fragment_of(rng: np.random.Generator, genome: dict[str, bytes], orientation: str) -> list[bytes]:
    """Two mates, mostly concordant, some with many errors; or a single read."""
    contig = genome[str(rng.choice(list(genome)))]
    template = int(rng.integers(LOW - 30, HIGH + 30))
    at = int(rng.integers(-20, len(contig) - template + 20))
    whole = contig[max(at, 0) : at + template]
    lengths = rng.choice([38, 60, 61, 90], 2)
    ends = whole[: lengths[0]], whole[-lengths[1] :]
    left, right = (bf.mutate(rng, end, int(rng.choice([0, 1, 2, 4, 7]))) for end in ends)
    left, right = {
        "fr": (left, bf.reverse_complement(right)),
        "rf": (bf.reverse_complement(left), right),
        "ff": (left, right),
    }[orientation]
    mates = [left, right]
    if rng.random() < 0.5:
        mates.reverse()
        mates = [bf.reverse_complement(mate) for mate in mates] if orientation == "ff" else mates
    if rng.random() < 0.1:
        mates[0] = bf.random_bases(rng, len(mates[0]))
    return mates if rng.random() < 0.8 else mates[:1]


# --- plain Python ----------------------------------------------------------------------------------------------------


class PlainPlace:
    def __init__(self, reverse: bool, at: int, edits: int):
        self.reverse, self.at, self.edits, self.looked_around = reverse, at, edits, False


class PlainPairs:
    """The search that docs/pipeline.md describes, of a batch, with sets and loops."""

    def __init__(self, text, borders, reads, mate, flip, insert_sizes, plan, pairs, most_places, given_up):
        self.text, self.borders, self.insert_sizes = text, borders, insert_sizes
        self.given_up = given_up
        self.reads, self.mate, self.flip = reads, mate, flip
        self.plan, self.pairs, self.most_places = plan, pairs, most_places
        self.oriented = [(read, bf.reverse_complement(read)) for read in reads]
        n = len(reads)
        self.best, self.limit = [NO_SCORE] * n, [int(plan.errors[len(read)]) for read in reads]
        self.looked, self.capped, self.complete = [0] * n, [0] * n, [0] * n
        self.looked_row, self.unguided, self.is_open = [0] * n, [False] * n, [True] * n
        self.places: dict[int, list[PlainPlace]] = defaultdict(list)
        self.known: list[set] = [set() for _ in reads]
        self.tried: set[tuple[int, int]] = set()
        self.found: list[tuple[int, int, int, int]] = []
        self.scored = self.rescued = 0
        self.bands: dict[tuple[int, int], tuple[int, int]] = {}

    def other(self, r):
        return r + 1 if self.mate[r] == 1 else r - 1

    # seeds

    def anchors_of(self, r, stage):
        """(read strand, diagonal, first base, bases) of what seeds hit, by strand, the canonical one first."""
        k, every = SEEDS[stage]
        rows = []
        for reverse in (self.flip[r], 1 - self.flip[r]):
            read, covered = self.oriented[r][reverse], defaultdict(set)
            for offset in range(0, len(read) - k + 1, every):
                at = self.text.find(read[offset : offset + k])
                while at >= 0:
                    if at >= offset:
                        covered[at - offset].update(range(offset, offset + k))
                    at = self.text.find(read[offset : offset + k], at + 1)
            rows += [(2 * r + reverse, d, min(some), len(some)) for d, some in sorted(covered.items())]
        return rows

    # bands

    def band(self, read_strand, first, width):
        """Fewest errors of a read on these diagonals, and the leftmost on which such an alignment ends."""
        key = read_strand, first
        if key not in self.bands:
            shifts = np.arange(width)
            row = np.zeros(width, np.int64)
            text = np.frombuffer(self.text, np.uint8)
            for i, base in enumerate(self.oriented[read_strand >> 1][read_strand & 1]):
                at = first + shifts + i
                facing = np.where((at >= 0) & (at < len(text)), text[np.clip(at, 0, len(text) - 1)], 0)
                step = row + (facing != base)
                step[:-1] = np.minimum(step[:-1], row[1:] + 1)
                row = np.minimum.accumulate(step - shifts) + shifts
            self.bands[key] = int(row.min()), int(row.argmin())
        return self.bands[key]

    def score(self, keys):
        shift, added = self.plan.shift, []
        fresh = sorted(key for key in set(keys) - self.tried if key not in self.known[key[0] >> 1])
        self.tried.update(fresh)
        self.scored += len(fresh)
        for words in (1, 2, 4, 8):
            added.clear()
            for read_strand, bucket in fresh:
                r = read_strand >> 1
                if self.plan.words[len(self.reads[r])] != words:
                    continue
                first = (bucket << shift) - 32 * words + (1 << shift) // 2
                edits, end = self.band(read_strand, first, 64 * words)
                if edits > self.limit[r]:
                    continue
                if edits < self.best[r]:
                    self.best[r], self.limit[r] = edits, min(self.limit[r], edits + MARGIN)
                self.found.append((read_strand, first, end, edits))
                added.append(r)
                self.places[r].append(PlainPlace(bool(read_strand & 1), first + end, edits))
            for r in {
                r for read in added for r in ((read, self.other(read)) if self.mate[read] else (read,))
            }:
                self.note(r)
        return len(fresh)

    def note(self, r):
        """What is known of a read after one of its places, or of its mate's, was added."""
        if self.mate[r]:
            for a, b in self.concordant_places(min(r, self.other(r))):
                a.looked_around = b.looked_around = True
        needed, most = self.best[r], int(self.plan.errors[len(self.reads[r])])
        needed = max(needed, self.paired(r) or 0)
        self.limit[r] = min(most, needed + MARGIN)

    # pairs

    def contig(self, middle):
        return sum(border <= middle for border in self.borders[1:-1])

    def is_template(self, r, first, last, slack):
        """Whether (reverse, leftmost) of a first mate r and of its last one have a length in one of the windows."""
        ends = [(x[0], x[1], len(self.reads[r + i])) for i, x in enumerate((first, last))]
        for orientation, low, high in self.insert_sizes:
            length = bf.template(orientation, *ends)
            if length is not None and low - slack <= length <= high + slack:
                return True
        return False

    def concordant_places(self, r):
        for a in self.places[r]:
            for b in self.places[r + 1]:
                if self.contig(a.at + len(self.reads[r]) // 2) == self.contig(
                    b.at + len(self.reads[r + 1]) // 2
                ) and self.is_template(r, (a.reverse, a.at), (b.reverse, b.at), 0):
                    yield a, b

    def paired(self, r):
        """Errors of a mate in the concordant pair of fewest errors, the most of several; None: there is none."""
        if not self.mate[r]:
            return None
        pairs = [(a.edits, b.edits) for a, b in self.concordant_places(r if self.mate[r] == 1 else r - 1)]
        least = min(map(sum, pairs), default=0)
        return max((pair[self.mate[r] - 1] for pair in pairs if sum(pair) == least), default=None)

    def near(self, anchors):
        """Anchors (rows of `anchors_of`, by read) that have one of the mate within the widened window."""
        marked = set()
        for r in [r for r in anchors if self.mate[r] == 1 and r + 1 in anchors]:
            for a in anchors[r]:
                for b in anchors[r + 1]:
                    if self.is_template(r, (a[0] & 1, a[1]), (b[0] & 1, b[1]), self.plan.gaps):
                        marked |= {a, b}
        return marked

    def best_supported(self, anchors):
        """The first bucket of each read whose seeds have most bases."""
        keys = []
        for rows in anchors.values():
            support: dict[tuple[int, int], int] = defaultdict(int)
            for read_strand, diagonal, _, length in rows:
                support[read_strand, diagonal >> self.plan.shift] += length
            keys += [max(support, key=lambda key: support[key])] if support else []
        return keys

    def windows(self, goes_on):
        keys = set()
        for r in range(len(self.reads)):
            if not self.mate[r] or not self.is_open[r] or self.best[r] == NO_SCORE:
                continue
            other = self.other(r)
            if not self.pairs.rescuable[len(self.reads[other])] or not {r, other} & goes_on:
                continue
            limit = max(self.best[r], self.paired(r) or 0)
            places = [p for p in self.places[r] if p.edits <= limit]
            if len(places) > self.most_places:
                self.unguided[r] = True
                continue
            wider = [p for p in self.places[r] if p.edits <= limit + 1]
            for place in wider if len(wider) <= self.most_places else places:
                if not place.looked_around:
                    place.looked_around = True
                    keys |= self.window(r, other, place)
        return keys

    def window(self, r, other, place):
        """Buckets of all diagonals of the mate that are within the window and on the contig of the place."""
        keys, half, slack = set(), len(self.reads[other]) // 2, self.plan.gaps
        contig = self.contig(place.at + len(self.reads[r]) // 2)
        for strand in (0, 1):
            for at in range(max(0, place.at - HIGH - slack - 100), place.at + HIGH + slack + 100):
                if self.borders[0] <= at + half < self.borders[-1] and self.contig(at + half) == contig:
                    both = (place.reverse, place.at), (strand, at)
                    if self.is_template(min(r, other), *(both if r < other else both[::-1]), slack):
                        keys.add((2 * other + strand, at >> self.plan.shift))
        return keys

    def settle(self, guided):
        """Close pairs of which few rivals, as good as their concordant place, are unseen."""
        for r in range(len(self.reads)):
            if self.mate[r] != 1 or not self.is_open[r] or self.paired(r) is None:
                continue
            shares = [self.unseen(r), self.unseen(r + 1)]
            either = shares[0] + shares[1]
            if guided:
                alone = [1.0 if self.unguided[r + i] else shares[i] for i in (0, 1)]
                either = min(either, alone[0] * alone[1])
            if either <= self.plan.preset.pair_missed:
                self.is_open[r] = self.is_open[r + 1] = False

    def unseen(self, r):
        if self.capped[r]:
            return 1.0
        of_stage = self.pairs.missed[len(self.reads[r]), self.looked_row[r]]
        return of_stage[min(self.paired(r), len(of_stage) - 1)]

    # stages

    def run(self, given):
        """All stages; `given` (Given) tells what the seeds of each lead to. Returns the reads of each."""
        asked = []
        for stage in range(self.plan.MAX_STAGES):
            goes_on = {r for r in range(len(self.reads)) if self.is_open[r] and self.needs(r, stage)}
            for r in range(len(self.reads)):
                mine = {key for key in self.tried if key[0] >> 1 == r}
                self.known[r] = self.known[r] | mine if r in goes_on else set()
            self.tried = set()
            if goes_on:
                asked.append((stage, sorted(goes_on)))
                self.run_stage(stage, goes_on, given)
        return asked

    def needs(self, r, stage):
        m, plan = len(self.reads[r]), self.plan
        wanted = min(self.best[r] + plan.preset.strata, int(plan.errors[m]) + 1)
        missed = plan.lost[stage, m]
        if self.mate[r] and self.best[self.other(r)] == NO_SCORE:
            missed = plan.lost_of_mates[stage, m] * plan.lost_of_mates[stage, len(self.reads[self.other(r)])]
        return (
            plan.seed_count[stage, m] > 0
            and not (self.best[r] == NO_SCORE and missed < self.given_up)
            and self.complete[r] < wanted
            and self.best[r] > plan.settled[stage, m]
        )

    def run_stage(self, stage, goes_on, given):
        anchors = {}
        for r in sorted(goes_on):
            rows, complete, capped = given.of(r, stage)
            fresh = [row for row in rows if (row[0], row[1] >> self.plan.shift) not in self.known[r]]
            anchors[r] = fresh
            self.looked[r] |= 1 << stage
            self.looked_row[r] = stage + 1
            self.complete[r] = max(self.complete[r], complete)
            self.capped[r] |= capped
        near = self.near(anchors)
        some = {r: [row for row in rows if row in near] for r, rows in anchors.items()}
        self.score(self.best_supported(some))
        self.score(self.all_buckets(some))
        self.settle(False)
        some = {
            r: [row for row in rows if self.is_open[r] and row not in near] for r, rows in anchors.items()
        }
        self.score(self.best_supported(some))
        self.rescue(goes_on)
        self.score(self.all_buckets(some))
        self.rescue(goes_on)
        self.settle(True)

    def all_buckets(self, some):
        return {(row[0], row[1] >> self.plan.shift) for rows in some.values() for row in rows}

    def rescue(self, goes_on):
        self.rescued += self.score(self.windows(goes_on))


class Given:
    """What seeds lead to, as a device tells it; keeps what it was asked."""

    def __init__(self, rows, complete, capped):
        self.rows, self.complete, self.capped, self.asked = rows, complete, capped, []

    def of(self, r, stage):
        stage = min(stage, len(SEEDS) - 1)
        return self.rows[r][stage], int(self.complete[r, stage]), int(self.capped[r, stage])

    def anchors_of(self, reads, stage):
        self.asked.append((stage, reads.tolist()))
        found = [self.of(r, stage) for r in reads.tolist()]
        table = np.array([row for rows, _, _ in found for row in rows], np.int64).reshape(-1, 4)
        types = np.uint32, np.int64, np.uint16, np.uint16
        columns = (np.ascontiguousarray(table[:, i], t) for i, t in enumerate(types))
        start = np.concatenate([[0], np.cumsum([len(rows) for rows, _, _ in found])])
        complete, capped = (np.array([one[i] for one in found], np.uint16) for i in (1, 2))
        return Anchors(*columns, start, reads), complete, capped

    def note_host(self, reads, nanoseconds):
        raise AssertionError("the host looked seeds up")


# --- the comparison --------------------------------------------------------------------------------------------------


def searched(mapper, fragments, insert):
    """The context of reads of some fragments, without filters, and that of the pairs among them."""
    names = [(str(i), mate.decode(), None) for i, mates in enumerate(fragments) for mate in mates]
    mate = [i + 1 if len(mates) > 1 else 0 for mates in fragments for i in range(len(mates))]
    packed = batch_of_records(names, 4000).pack()
    made_of = mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params
    context = BatchContext.of(*made_of, packed)
    return context, PairContext.of(context, np.array(mate, np.uint8), insert)


def insert_of(sizes):
    """The model of (orientation, low, high) of each library."""
    insert = None
    for orientation, low, high in reversed(sizes):
        insert = InsertModel(orientation, (low + high) / 2, 10.0, low, high, 100, also=insert)
    return insert


def stages_of(mapper):
    made_of = mapper.index, mapper.parts, mapper.cascade, mapper.plan
    return PairStages(*made_of, MARGIN, instruction_sets()[0])


def text_of(index, genome):
    """All contigs where the reference has them; nothing else there equals a base."""
    text = bytearray(b"-" * index.reference.total)
    for start, contig in zip(index.reference.starts.tolist(), genome.values(), strict=True):
        text[start : start + len(contig)] = contig
    return bytes(text)


@pytest.fixture(scope="module", params=range(3))
def world(request):
    rng = np.random.default_rng(request.param)
    genome = genome_of(rng)
    index = gassst.Index.build(Reference.from_sequences(genome.items()), threads=1)
    options = {"gaps": 3}, {"sensitivity": 1, "gaps": 20}, {}
    mapper = engine(
        index, device="none", mode="global", filters=(), min_identity=85, **options[request.param]
    )
    return SimpleNamespace(seed=request.param, genome=genome, index=index, mapper=mapper)


@pytest.mark.parametrize(
    ("orientations", "given_up"),
    [*(((one,), 0.0) for one in ORIENTATIONS), (("fr", "rf"), 0.02), (("ff", "fr", "rf"), 0.2)],
    ids=str,
)
def test_pairs_have_the_places_of_plain_python(world, orientations, given_up):
    """Places, what is known of each read, the reads of every stage, and how many bands were scored for it."""
    rng, mapper = np.random.default_rng([world.seed, *map(ord, orientations[0])]), world.mapper
    sizes = [(one, LOW + 20 * i, HIGH - 30 * i) for i, one in enumerate(orientations)]
    insert = insert_of(sizes)
    fragments = [fragment_of(rng, world.genome, str(rng.choice(orientations))) for _ in range(45)]
    context, pairs = searched(mapper, fragments, insert)
    reads = [mate for mates in fragments for mate in mates]
    n = len(reads)
    pairs = replace(
        pairs,
        missed=rng.random(pairs.missed.shape) ** 4,
        rescuable=pairs.rescuable & (rng.random(pairs.rescuable.size) < 0.8),
    )
    borders = [int(start) - 256 for start in world.index.reference.starts] + [world.index.reference.total]
    plain = PlainPairs(
        text_of(world.index, world.genome), borders, reads, pairs.mate.tolist(), context.flip.tolist(),
        sizes, mapper.plan, pairs, MOST_PLACES, given_up,
    )  # fmt: skip
    rows = [[plain.anchors_of(r, stage) for stage in range(len(SEEDS))] for r in range(n)]
    given = Given(rows, rng.integers(0, 2, (n, len(SEEDS))), rng.random((n, len(SEEDS))) < 0.05)
    expected = plain.run(given)
    stages = stages_of(mapper)
    columns, _, states = stages.search_pairs(context, pairs, MOST_PLACES, given, 64, given_up, 0)
    state = ReadStates(*states)
    assert given.asked == expected
    for name in STATE:
        assert getattr(state, name).tolist() == getattr(plain, name), name
    found = sorted(zip(*(columns[i].tolist() for i in range(4)), strict=True))
    assert found == sorted(plain.found)
    assert (stages.counts[2], stages.rescued) == (plain.scored, plain.rescued)
    assert plain.rescued > 50 and any(plain.unguided)
    assert 0 < len(expected[-1][1]) < len(expected[0][1]) and 10 < plain.is_open.count(False) < n - 10


@pytest.mark.parametrize(
    "options", [{}, {"sensitivity": 1, "filters": ("fd", "band32")}, {"gaps": 20}], ids=str
)
def test_a_pair_is_searched_as_if_it_were_alone(options):
    """In blocks of any size, in any order, with its mates in either order, and in other batches."""
    rng = np.random.default_rng(9)
    genome = {
        name: part
        for i in range(4)
        for name, part in zip((f"{i}a", f"{i}b"), genome_of(rng).values(), strict=True)
    }
    index = gassst.Index.build(Reference.from_sequences(genome.items()), threads=1)
    mapper = engine(index, device="none", **options)
    fragments = [fragment_of(rng, genome, "fr") for _ in range(120)]
    insert = insert_of([("fr", LOW, HIGH)])
    stages = stages_of(mapper)

    def search(some, block):
        """What is found for each mate of each fragment: its places, and what is known of it."""
        context, pairs = searched(mapper, some, insert)
        columns, _, states = stages.search_pairs(context, pairs, MOST_PLACES, None, block, 0.01, 0)
        state = ReadStates(*states)
        found = [[] for _ in range(context.n)]
        for read_strand, *place in zip(*(columns[i].tolist() for i in range(4)), strict=True):
            found[read_strand >> 1].append((read_strand & 1, *place))
        reads = iter(range(context.n))
        known = [getattr(state, name).tolist() for name in (*STATE, "planned")]
        return [
            [(sorted(found[r]), *(column[r] for column in known)) for _, r in zip(mates, reads, strict=False)]
            for mates in some
        ]

    expected = search(fragments, len(fragments) * 2)
    assert sum(len(mate[0]) for mates in expected for mate in mates) > 300
    for block in (1, 2, 7, 64):
        assert search(fragments, block) == expected
    order = rng.permutation(len(fragments)).tolist()
    assert search([fragments[i] for i in order], 16) == [expected[i] for i in order]
    swapped = search([mates[::-1] for mates in fragments], 16)
    assert [mates[::-1] for mates in swapped] == expected
    assert [search([mates], 16)[0] for mates in fragments] == expected

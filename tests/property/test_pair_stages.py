"""The compiled search of pairs against plain Python, which looks at every place and every window base by base.

Stages are few, and have few seeds.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from engines import engine
from plain_search import HIGH, LOW, MARGIN, PlainPairs, fragment_of, genome_of, text_of

import gassst
from gassst._core.read_search import ReadSearch
from gassst._core.stages import PairStages, instruction_sets
from gassst.index.spectrum import Spectrum
from gassst.local.align import PAIR_BONUS, compiled_aligner
from gassst.model.reference import Reference
from gassst.pairing.insert_size import ORIENTATIONS, InsertModel
from gassst.reads.in_memory import batch_of_records
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import MATES

MOST_PLACES = 2
STATE = ("best", "limit", "looked", "complete")
SEEDS = [(18, 17), (12, 7), (9, 4)]  # bases of the seeds of each stage, and from one to the next


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


def search_of(mapper):
    made_of = mapper.index, mapper.parts, mapper.cascade, mapper.plan
    ends = compiled_aligner(mapper.params, PAIR_BONUS)
    return ReadSearch(PairStages(*made_of, MARGIN, instruction_sets()[0]), ends)


def placed(search, context, pairs, *how):
    """Its places, (read strand, first diagonal, end, errors) of each, and the columns of what is known of reads."""
    search.ends.open(context)
    search.place(context, pairs, None, *how, (MATES[0], MOST_PLACES, *MATES[2:]))
    places, _ = search.found
    names = ["best", "limit", "complete", "planned", "looked", "capped"]
    states = dict(zip(names, (column.tolist() for column in search.states), strict=True))
    return places[["read_strand", "first", "end", "edits"]].tolist(), states


@pytest.fixture(scope="module", params=range(3))
def world(request):
    rng = np.random.default_rng(request.param)
    genome = genome_of(rng)
    index = gassst.Index.build(Reference.from_sequences(genome.items()), threads=1)
    options = {"gaps": 3}, {"sensitivity": 1, "gaps": 20}, {}
    mapper = engine(
        index, device="none", mode="global", filters=(), min_identity=85, **options[request.param]
    )
    mapper.plan.caps[:] = 0xFFFFFFFF
    mapper.plan.spectrum = Spectrum.none()  # so that no place is looked at for copies
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
    m = np.arange(mapper.plan.seed_count.shape[1])
    for columns in (mapper.plan.seed_count, mapper.plan.disjoint):
        columns[:] = 0
    mapper.plan.seed_every[:] = 1
    for stage, (k, apart) in enumerate(SEEDS):
        mapper.plan.seed_length[stage] = k
        mapper.plan.seed_count[stage] = np.where(m >= k, (m - k) // apart + 1, 0)
    mapper.plan.settled[:] = rng.integers(-2, 12, mapper.plan.settled.shape)
    borders = [int(start) - 256 for start in world.index.reference.starts] + [world.index.reference.total]
    plain = PlainPairs(
        text_of(world.index, world.genome), borders, reads, pairs.mate.tolist(), context.flip.tolist(),
        sizes, mapper.plan, pairs, MOST_PLACES, given_up,
    )  # fmt: skip
    expected = plain.run()
    search = search_of(mapper)
    found, states = placed(search, context, pairs, 64, given_up)
    for name in STATE:
        assert states[name] == getattr(plain, name), name
    within = [
        sorted(each for each in some if each[3] <= plain.limit[each[0] >> 1]) for some in (found, plain.found)
    ]
    assert within[0] == within[1]
    stages = search.stages
    assert (stages.counts[2], stages.rescued) == (plain.scored, plain.rescued)
    assert plain.rescued > 50
    assert 0 < len(expected[-1][1]) < len(expected[0][1])


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
    of_pairs = search_of(mapper)

    def search(some, block):
        """What is found for each mate of each fragment: its places, and what is known of it."""
        context, pairs = searched(mapper, some, insert)
        places, states = placed(of_pairs, context, pairs, block, 0.01)
        found = [[] for _ in range(context.n)]
        for read_strand, *place in places:
            found[read_strand >> 1].append((read_strand & 1, *place))
        reads = iter(range(context.n))
        known = list(states.values())
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

"""Mates that are placed together in one compiled call, against plain Python that looks at every pair of places.

Reads have copies of themselves, or of a part, planted among random bases far from each other. So what a band holds and
what it scores is known without an alignment.
"""

import math
from collections import Counter, defaultdict
from types import SimpleNamespace

import brute_force as bf
import numpy as np
import pytest
from alignments import MASKED, pack, planes_of, reverse_complement
from local_columns import Places, lines_at
from rating import aligner_of, batch_of, rater, search_of

from gassst._core.read_search import Odds
from gassst._core.reads import pack as pack_letters
from gassst.index.miss_model import NO_SEEDS
from gassst.local.align import PAIR_BONUS
from gassst.model.layouts import OVER
from gassst.model.params import CONVERSIONS, MAX_READ_LENGTH, MIN_READ_LENGTH, MapParams, Scoring
from gassst.model.sam_flags import UNMAPPED
from gassst.pairing.insert_size import ORIENTATIONS, InsertModel
from gassst.search.host import RUN

SAME_PLACE = 10  # diagonals within which two alignments are at one place

SCORING = Scoring(min_score=45)
LEAST = 45 - PAIR_BONUS
COST = SCORING.match + SCORING.mismatch
SHIFT = 5
STARTS, SIZES = np.array([600, 5100, 9700]), np.array([4000, 4100, 3900])
BORDERS = np.append(STARTS - 256, 14_000)
APART = 700  # diagonals between two copies of a read: no band holds both


def library(rng):
    """One to three orientations, with template lengths of some hundred bases."""
    model = None
    for orientation in rng.permutation(ORIENTATIONS)[: rng.integers(1, 4)]:
        low, sd = int(rng.integers(150, 500)), float(rng.uniform(5, 60))
        high = low + int(rng.integers(20, 400))
        mean, pairs = rng.uniform(low, high), int(rng.integers(1, 2000))
        model = InsertModel(str(orientation), mean, sd, low, high, pairs, also=model)
    return model


def plant(rng, reference, taken, read, at, others, like=None):
    """A copy of a read, or of a part of it: (strand, diagonal, begin, end, errors), or None where there is no room."""
    m, strand = len(read), int(rng.integers(2))
    begin, end = (
        (0, m) if rng.random() < 0.5 else ((0, int(rng.integers(46, m - 20))), (m - 50, m))[rng.integers(2)]
    )
    errors = int(rng.integers(0, 4)) if (begin, end) == (0, m) else 0
    if like:
        strand, _, begin, end, errors = like
    contig = int(np.searchsorted(STARTS, at, side="right")) - 1
    if contig < 0 or at < STARTS[contig] + 40 or at + m + 40 > STARTS[contig] + SIZES[contig]:
        return None
    if taken[at - 14 : at + m + 14].any() or any(abs(at - other[1]) <= APART for other in others):
        return None
    bases = reverse_complement(read) if strand else read
    copy = bases[begin:end].copy()
    wrong = 35 + rng.permutation(len(copy) - 70)[:errors] if errors else np.empty(0, int)
    copy[wrong] = (copy[wrong] + 1) % 4
    reference[at : at + m] = (bases + 2) % 4
    reference[at + begin : at + end] = copy
    taken[at - 14 : at + m + 14] = True
    return strand, at, begin, end, errors


def place_of(copy, m):
    """What is known of a copy: strand, diagonal, score, total, ends that are reached, bases before its end."""
    strand, at, begin, end, errors = copy
    score = (end - begin) * SCORING.match - errors * COST
    reached = (begin == 0) | (end == m) << 1
    total = score + SCORING.clip * ((begin == 0) + (end == m))
    return (strand, at, score, total, int(reached), end, False)


def some_world(seed):
    """Reads, copies of each, what is known of each, and what else a batch has."""
    rng = np.random.default_rng(seed)
    insert = library(rng)
    reference = rng.integers(0, 4, 14_000).astype(np.uint8)
    for first, last in zip((0, *(STARTS + SIZES)), (*STARTS, 14_000), strict=True):
        reference[first:last] = MASKED
    taken, mate, reads, copies, known = reference == MASKED, [], [], [], []
    for _ in range(7):
        mate += [0] * int(rng.integers(2)) + [1, 2]
    sites = np.empty(0)
    for r, which in enumerate(mate):
        reads.append(rng.integers(0, 4, rng.integers(96, 120)).astype(np.uint8))
        copies.append([])
        sites = rng.integers(600, 13_600, 2) if which != 2 else sites
        for _ in range(20 * (which == 2)):  # beside a copy of its mate
            lengths = [len(read) for read in reads[r - 1 :]]
            for guide in copies[r - 1][:1]:
                strand, at = int(rng.integers(2)), guide[1] + int(rng.integers(-800, 800))
                template = template_of(insert, guide, (strand, at), True, lengths)
                if template is not None and insert.low <= template <= insert.high and len(copies[r]) < 1:
                    like = strand, at, 0, lengths[1], int(rng.integers(3))
                    copies[r] += filter(None, [plant(rng, reference, taken, reads[r], at, copies[r], like)])
        for _ in range(30):
            at = int(sites[rng.integers(2)] + rng.integers(-700, 700))
            copy = plant(rng, reference, taken, reads[r], at, copies[r]) if len(copies[r]) < 4 else None
            copies[r] += [copy] if copy else []
        for _ in range(
            10 * (which == 2 and bool(copies[r] and copies[r - 1]))
        ):  # both once more, as far from each other
            away, pair = int(rng.integers(-9000, 9000)), (copies[r - 1][0], copies[r][0])
            again = [
                plant(rng, reference, taken, reads[s], copy[1] + away, copies[s], copy)
                for s, copy in zip((r - 1, r), pair, strict=True)
            ]
            for s, copy in zip((r - 1, r), again, strict=True):
                copies[s] += [copy] if copy else []
            if all(again):
                break
    for r, read in enumerate(reads):
        places = [place_of(copy, len(read)) for copy in copies[r] if rng.random() < 0.6]
        for strand, at, score, total, *ends, _ in list(places):  # what lies beside is the same place
            for _ in range(int(rng.integers(3))):
                less = int(rng.integers(3))
                beside = strand, at + int(rng.integers(-14, 15)), score - less, total - less, *ends
                places.append((*beside, bool(rng.integers(2))))
        known.append([places[i] for i in rng.permutation(len(places))])
    n = len(mate)
    return SimpleNamespace(
        rng=rng, reference=reference, mate=np.array(mate, np.uint8), reads=reads, copies=copies, known=known,
        insert=insert, shortest=MIN_READ_LENGTH if rng.random() < 0.8 else MAX_READ_LENGTH + 1,
        flip=rng.integers(0, 2, n).astype(np.uint8), digest=rng.integers(0, 1 << 60, n).astype(np.uint64),
        rate=float(rng.uniform(0.001, 0.05)), bases=float(rng.uniform(1, 200)), scoring=SCORING,
        packed=pack(reads),
    )  # fmt: skip


def rows_of(known):
    """Places of all reads."""
    table = [(2 * r + place[0], *place[1:]) for r, places in enumerate(known) for place in places]
    strand, at, score, total, reached, end, given = (
        np.array([row[i] for row in table], np.int64) for i in range(7)
    )
    return Places(strand, at - 32, np.full(len(table), 64), score, total, reached, end, at, given)


def search_in(world):
    """A search of the world's reads without their places, and its aligner. Chance has no places but beside a mate."""
    contigs = SimpleNamespace(planes=planes_of(world.reference), starts=STARTS, lengths=SIZES)
    odds = Odds(world.rate, world.bases, 0.5, 1.0, 1e-300)  # no read is unlike its library
    context = batch_of(
        world.packed, reference=contigs, params=MapParams(mode="local", scoring=world.scoring), flip=world.flip,
        digest=world.digest, rater=rater([NO_SEEDS], odds, n_bases=0.0),
    )  # fmt: skip
    aligner = aligner_of(context)
    pairs = SimpleNamespace(
        mate=world.mate, insert=world.insert, borders=BORDERS, shortest=world.shortest, window_bases=1000
    )
    return search_of(context, aligner, pairs=pairs, shift=SHIFT), aligner


# --- what should come out --------------------------------------------------------------------------------------------


def candidates(places):
    """The best one of each place: among equals the one chosen before, then the leftmost."""
    enough = [p for p in places if p[2] >= LEAST]
    best = max((p[3] for p in enough), default=0)
    groups, before = [], None
    for p in sorted((p for p in enough if p[3] >= best - PAIR_BONUS), key=lambda p: p[:2]):
        if before is None or p[0] != before[0] or p[1] - before[1] > SAME_PLACE:
            groups.append([])
        groups[-1].append(p)
        before = p
    return [min(group, key=lambda p: (-p[3], not p[6], p[1])) for group in groups]


def template_of(one, guide, mate, is_first, lengths):
    """Template length of a guide and a mate on (strand, diagonal) in one orientation; None: not its strands."""
    ends = (guide[0] == 1, guide[1], lengths[0]), (mate[0] == 1, mate[1], lengths[1])
    return bf.template(one.orientation, *(ends if is_first else ends[::-1]))


def looked_for(world, guides, mates, is_first, lengths, copies):
    """Copies of a mate in the windows that its guides leave, where none of its places is in one."""
    found = []
    for guide in guides:
        contig = int(np.searchsorted(STARTS, guide[1] + guide[5] - 1, side="right")) - 1
        on_contig = range(STARTS[contig] - lengths[1], STARTS[contig] + SIZES[contig] + 1)
        windows = []
        for one in world.insert.libraries:
            for strand in (0, 1):
                lengths_at = [
                    template_of(one, guide, (strand, guide[1] + d), is_first, lengths) for d in (0, 1)
                ]
                if None in lengths_at:
                    continue
                by = lengths_at[1] - lengths_at[0]
                ends = [guide[1] + by * (end - lengths_at[0]) for end in (one.low, one.high)]
                inside = range(max(min(ends), on_contig[0]), min(max(ends), on_contig[-1]) + 1)
                windows += [(strand, inside)] if inside else []
        if any(p[0] == strand and p[1] in inside for p in mates for strand, inside in windows):
            continue
        for strand, inside in windows:
            found += [copy for copy in copies if copy[0] == strand and copy[1] in inside]
    return found


def weigh(world, pair, lengths, odds):
    """Return what each pair of places weighs together, its weight, and whether it is concordant.

    And what the best places of both mates weigh apart."""
    least = [min(loss(p, m) for p in side) for side, m in zip(pair, lengths, strict=True)]
    table, shares, apart = {}, world.insert.shares, math.prod(odds) ** (PAIR_BONUS / 2)
    for i, a in enumerate(pair[0]):
        for j, b in enumerate(pair[1]):
            lost = [loss(p, m) for p, m in zip((a, b), lengths, strict=True)]
            likelihood = math.prod(o ** (x - y) for o, x, y in zip(odds, lost, least, strict=True))
            table[i, j] = [0.0, likelihood * apart, False]
            contig = [
                int(np.searchsorted(BORDERS, p[1] + m // 2, side="right"))
                for p, m in zip((a, b), lengths, strict=True)
            ]
            for one, share in shares:
                template = template_of(one, a, b, True, lengths)
                if contig[0] == contig[1] and template is not None and one.low <= template <= one.high:
                    z, height = (template - one.mean) / one.sd, share * shares[0][0].sd / one.sd
                    together = likelihood * height * math.exp(-z * z / 2)
                    table[i, j] = [max(table[i, j][0], together), table[i, j][1] + together, True]
    return table, apart


def likeliest(table, apart):
    """The pairs of places that weigh most; the first of each mate where these weigh more apart."""
    most = max(apart, *(together for together, _, _ in table.values()))
    return [at for at, (together, _, _) in table.items() if together >= most * (1 - 1e-9)] or [(0, 0)]


def is_clear(world, pair, lengths, odds):
    """Whether a mate without rivals vouches for the pair: both are at their best places, beside each other."""
    table, apart = weigh(world, pair, lengths, odds)
    least = [min(loss(p, m) for p in side) for side, m in zip(pair, lengths, strict=True)]
    return all(
        table[at][2] and [loss(side[i], m) for side, i, m in zip(pair, at, lengths, strict=True)] == least
        for at in likeliest(table, apart)
    )


def loss(place, m):
    return m * SCORING.match + 2 * SCORING.clip - place[3]


def doubt(table, chosen):
    """What the pairs of places without each of two chosen ones weigh, relative to those with it."""
    total = sum(weight for _, weight, _ in table.values())
    own = [sum(row[1] for at, row in table.items() if at[side] == chosen[side]) for side in (0, 1)]
    return [(total - each) / each for each in own]


def part_of(place, m):
    """Bases of the read as sequenced that a place aligns for certain."""
    first = 0 if place[4] & 1 else max(0, place[5] - -(-place[2] // SCORING.match))
    return (m - place[5], m - first) if place[0] else (first, place[5])


def is_at(place, line):
    """Whether a line (`line_of`) is the alignment of a place."""
    return place[0] == line["strand"] and min(abs(place[1] - end) for end in line["ends"]) <= SAME_PLACE


def is_rival(place, m, line):
    (a, b), (c, d) = part_of(place, m), (line["begin"], line["end"])
    return 2 * (min(b, d) - max(a, c)) >= min(b - a, d - c)


KINDS = (
    "found", "not found", "concordant", "not", "moved", "stays", "drawn", "by its own", "no rival", "no line", "clear",
)  # fmt: skip


def test_pairs_are_placed_by_all_pairs_of_their_places():
    seen = Counter()
    for seed in range(60):
        check(seed, seen)
    assert min(seen[kind] for kind in KINDS) >= 5, seen


def check(seed, seen):
    world = some_world(seed)
    search, aligner = search_in(world)
    n, rng = len(world.reads), world.rng
    places = rows_of(world.known)
    lined = [r for r in range(n) if world.known[r] and rng.random() < 0.8]
    starts = np.cumsum([0, *(len(known) for known in world.known)])
    row = np.array([starts[r] + int(rng.integers(len(world.known[r]))) for r in lined], np.int64)
    primary = lines_at(aligner, places.take(row))
    primary = primary.take(primary.hits["score"] >= SCORING.least_score)  # others would be dropped
    lines = {int(r): i for i, r in enumerate(primary.read)}
    aligner.know(places.rows, primary.hits, primary.rows, np.zeros(n, np.uint8))
    search.report(False, np.zeros(n, OVER))
    rated = aligner.rows()[1]["rating"]
    partner = np.arange(n) + (world.mate == 1) - (world.mate == 2)
    by_mate = rated["chance"] > 0
    beside, weights = np.flatnonzero(by_mate | by_mate[partner]), rated["known"]
    all_places, (after, _) = Places.of(aligner.places), aligner.rows()
    after = after[after["flag"] & UNMAPPED == 0]
    after["mapq"] = 0
    read = all_places.read
    joined, strands = [], defaultdict(lambda: None)
    for r in range(n):
        # Known places stay in their order, before those that were found.
        own = all_places.take(read == r)
        known = places.take(places.read == r)
        assert own.rows[: len(known.rows)].tolist() == known.rows.tolist()
        strands[r] = [(int(s) & 1, int(d)) for s, d in zip(own.read_strand, own.diagonal, strict=True)]
    assert (np.diff(read.astype(int)) >= 0).all()
    moved = set()
    for r in range(n):
        if world.mate[r] != 1:
            if world.mate[r] == 0:
                assert len(strands[r]) == len(world.known[r])
            continue
        both, lengths = (r, r + 1), [len(read) for read in world.reads[r : r + 2]]
        alive = [s in lines for s in both]
        known = [candidates(world.known[s]) for s in both]
        if not any(alive):
            seen["no line"] += 1
            assert [len(strands[s]) for s in both] == [len(world.known[s]) for s in both]
            continue
        everything = []
        before = [
            {**dict(zip(("begin", "end"), primary.rows[["begin", "end"]][lines[s]], strict=True)),
             "score": primary.hits["score"][lines[s]]} if s in lines else None for s in both
        ]  # fmt: skip
        # The search knows no rivals of what it has given.
        given = any(primary.rows["given"][lines[s]] for s in both if s in lines)
        clear = (
            given
            and all(known)
            and is_clear(world, known, lengths, odds_before(world, known, lengths, before))
        )
        seen["clear"] += clear
        for side, s in enumerate(both):
            found = []
            if alive[1 - side] and lengths[side] >= world.shortest and not clear:
                guides, mates = known[1 - side], known[side]
                sizes = lengths[1 - side], lengths[side]
                found = looked_for(world, guides, mates, side == 1, sizes, world.copies[s])
                seen["found" if found else "not found"] += 1
            found = [place_of(copy, lengths[side]) for copy in found]
            # What is known scores as much, though a mate would not make up for it.
            known_totals = {place[:2]: place[3] for place in sorted(world.known[s], key=lambda p: p[3])}
            found = [p for p in found if known_totals.get(p[:2], -1) < p[3]]
            new = strands[s][len(world.known[s]) :]
            assert set(new) == {p[:2] for p in found}, (
                world.copies[s],
                world.known[s],
                all_places.take(read == s).rows,
            )
            everything.append(candidates(world.known[s] + found))
        if not all(everything):
            continue
        table, apart = weigh(world, everything, lengths, odds_before(world, everything, lengths, before))
        options = likeliest(table, apart)
        seen["drawn"] += len(options) > 1
        if not table[options[0]][2]:
            seen["not"] += 1
            assert not set(both) & set(beside.tolist())
            continue
        seen["by its own"] += table[options[0]][0] < apart
        seen["concordant"] += 1
        # A place beside a copy may have no alignment that is worth a line.
        if not np.isin(both, after["read"]).all():
            moved.update(both)
            continue
        joined += both
        at_line = [int(np.flatnonzero(after["read"] == s)[0]) for s in both]
        now = [line_of(after[at], aligner.cigars, m) for at, m in zip(at_line, lengths, strict=True)]
        odds = [odds_of(world, line) for line in now]
        doubts = []
        for chosen in options:
            rivals, at = [], []
            for side, c, m, line in zip(everything, chosen, lengths, now, strict=True):
                # An alignment may end on the diagonal of another place than that in whose band it was found.
                own = max((p for p in side if is_at(p, line)), key=lambda p: p[3], default=side[c])
                rivals.append([p for p in side if p == own or not is_at(p, line) and is_rival(p, m, line)])
                at.append(rivals[-1].index(side[c] if side[c] in rivals[-1] else own))
            seen["no rival"] += rivals != everything
            doubts.append((chosen, doubt(weigh(world, rivals, lengths, odds)[0], at)))
        matching = []
        for chosen, wrong in doubts:
            agrees = True
            for side, s in enumerate(both):
                place = everything[side][chosen[side]]
                hit = after[at_line[side]]
                agrees &= (
                    hit["strand"] == place[0] and min(abs(e - place[1]) for e in now[side]["ends"]) <= 25
                )
                old = primary.take(np.array([lines[s]])) if alive[side] else None
                stays = (
                    old is not None
                    and int(old.read_strand[0]) == 2 * s + place[0]
                    and abs(int(old.first_diagonal[0]) - place[1]) <= SAME_PLACE
                )
                agrees &= (not stays) or hit.tolist() == old.hits[0].tolist()
            if agrees and weights[list(both)].tolist() == pytest.approx(wrong, rel=1e-6, abs=1e-12):
                matching.append(chosen)
        assert matching, (r, doubts, at_line, weights[list(both)], everything)
        for side, s in enumerate(both):
            same = alive[side] and after[at_line[side]].tolist() == primary.hits[lines[s]].tolist()
            seen["stays" if same else "moved"] += 1
            moved.add(s)
    assert beside.tolist() == joined
    for r, i in lines.items():
        if r not in moved:
            assert after[after["read"] == r].tolist() == [primary.hits[i].tolist()]


def line_of(hit, cigars, m):
    """Strand of an alignment, the diagonals on which it begins and ends, its bases as sequenced, and its score."""
    runs = [(int(run) >> 4, "MIDNS"[run & 15]) for run in cigars[hit["cigar_start"] :][: hit["cigar_runs"]]]
    clips = [n if op == "S" else 0 for n, op in (runs[0], runs[-1])]
    span = sum(n for n, op in runs if op in "MD")
    ends = int(hit["position"]) - clips[0], int(hit["position"]) + span - (m - clips[1])
    begin = clips[1] if hit["strand"] else clips[0]
    return {
        "strand": hit["strand"], "ends": ends, "begin": begin, "end": begin + m - sum(clips),
        "score": int(hit["score"]),
    }  # fmt: skip


def odds_of(world, line):
    """How much less likely a place becomes with a point of score less, by the errors of a line."""
    aligned = line["end"] - line["begin"]
    lost = aligned * SCORING.match - line["score"]
    share = (-(-lost // COST) + world.rate * world.bases) / (aligned + world.bases)
    return (share / (3 * max(1 - share, 1 / 3))) ** (1 / COST)


def odds_before(world, pair, lengths, lines):
    """Return the same of both mates by the lines that they have, or else by the best of their places."""
    best = [{"begin": 0, "end": m, "score": m * SCORING.match - min(loss(p, m) for p in side)}
            for side, m in zip(pair, lengths, strict=True)]  # fmt: skip
    return [odds_of(world, line or one) for line, one in zip(lines, best, strict=True)]


# --- where mates are looked for --------------------------------------------------------------------------------------

GROUP = 8  # neighbouring diagonals of a window of which one is looked at
GUIDE = 3000


def mate_in_window(seed, conversion):
    """A first mate at GUIDE, and in its window pieces of the last one: `RUN` bases, one less, or a few more.

    A piece is anywhere in the mate, also at its ends; masked bases are in some, and behind others bases that differ."""
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, 4, 14_000).astype(np.uint8)
    insert = InsertModel("fr", 500, 50, 300, int(rng.integers(600, 900)))
    guide, m = reference[GUIDE : GUIDE + 90].copy(), int(rng.integers(40, 200))
    mate = rng.integers(0, 4, m).astype(np.uint8)
    mate[rng.random(m) < 0.02] = MASKED
    strand = reverse_complement(mate)
    for at in range(GUIDE + 120, GUIDE + 900, 40):
        size = RUN + int(rng.integers(-1, 4))
        begin = int(rng.choice([0, m - size, rng.integers(0, m - size + 1)]))
        reference[at : at + size] = strand[begin : begin + size]
        for beside in (at - 1, at + size):
            reference[beside] = (reference[beside] + 1) % 4
    reference[rng.integers(GUIDE + 120, GUIDE + 900, 8)] = MASKED
    both = ["".join("ACGTN"[base] for base in read).encode() for read in (guide, mate)]
    kinds = None if conversion is None else np.array([CONVERSIONS[conversion]] * 2, np.uint8)
    offsets = np.cumsum([0, *map(len, both)]).astype(np.uint32)
    packed = pack_letters(np.frombuffer(b"".join(both), np.uint8), offsets, MAX_READ_LENGTH, kinds)
    world = SimpleNamespace(
        reference=reference, mate=np.array([1, 2], np.uint8), reads=[guide, mate], insert=insert, shortest=1,
        flip=np.zeros(2, np.uint8), digest=np.arange(2, dtype=np.uint64), rate=0.01, bases=100.0,
        scoring=Scoring(min_score=RUN + PAIR_BONUS, clip=0), packed=SimpleNamespace(**packed_fields(packed, kinds)),
    )  # fmt: skip
    return world, strand


def packed_fields(packed, kinds):
    names = "lengths", "planes", "plane_start"
    return dict(zip(names, packed, strict=True)) | {
        "conversions": np.empty(0, np.uint8) if kinds is None else kinds
    }


def longest_run(read, text, conversion):
    """Most bases in a row that are equal. `conversion`: of the read as it was sequenced; `read` is the other strand."""
    equal = (read == text) & (read != MASKED)
    if conversion is not None:
        became, was = ("A", "G") if conversion == "ct" else ("T", "C")
        equal |= (read == "ACGT".index(became)) & (text == "ACGT".index(was))
    return max(map(len, "".join("=" if each else "x" for each in equal).split("x")))


def places_beside(world):
    """What is known of the last mate once it has been looked for, on the strand that is left for it."""
    search, aligner = search_in(world)
    clip = world.scoring.clip
    guide = rows_of([[(0, GUIDE, 90, 90 + 2 * clip, 3, 90, True)]])
    lines = lines_at(aligner, guide)
    aligner.know(guide.rows, lines.hits, lines.rows, np.zeros(2, np.uint8))
    search.report(False, np.zeros(2, OVER))
    places = Places.of(aligner.places)
    assert not (places.read_strand == 2).any()
    return places.take(places.read_strand == 3)


@pytest.mark.parametrize("conversion", [None, *CONVERSIONS])
def test_mates_are_looked_for_on_diagonals_with_nine_bases_in_a_row(conversion):
    seen = Counter()
    for seed in range(40):
        world, strand = mate_in_window(seed, conversion)
        found = places_beside(world).diagonal.tolist()
        m, runs = len(strand), {}
        window = range(GUIDE + world.insert.low - m, GUIDE + world.insert.high - m + 1)
        for diagonal in window:
            text = world.reference[diagonal : diagonal + m]
            runs[diagonal] = longest_run(strand, text, conversion)
        for first in range(window[0], window[-1] + 1, GROUP):
            group = [d for d in range(first, min(first + GROUP, window[-1] + 1)) if runs[d] >= RUN]
            near = [d for d in found if any(abs(d - one) <= GROUP for one in group)]
            assert bool(group) == bool(near), (seed, first, group, found)
            seen["found" if group else "not found"] += 1
        assert all(any(runs.get(one, 0) >= RUN for one in range(d - GROUP, d + GROUP + 1)) for d in found)
    assert min(seen.values()) > 100


def test_no_place_beside_a_mate_scores_less_than_it_makes_up_for():
    """Nor one whose bonus for the end of the read makes it more."""
    least, scores = RUN + 2, []
    for seed in range(20):
        world, _ = mate_in_window(seed, None)
        world.scoring = Scoring(min_score=least + PAIR_BONUS)
        scores += places_beside(world).score.tolist()
    assert min(scores) == least

"""Places of reads as `_core.read_search.Rater` takes them, without an index, for tests of mapping qualities."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest
from types import SimpleNamespace

import numpy as np
from engines import engine
from local_columns import Lines, Places

import gassst
from gassst._core.read_search import Cases, Odds, Rater, ReadSearch
from gassst._core.reads import pack
from gassst._core.stages import PairStages, Stages, instruction_sets
from gassst.gpu.found import WHOLE_END
from gassst.index.miss_model import NO_SEEDS, SeedsLooked, dense_seeds
from gassst.index.spectrum import LENGTHS, Spectrum
from gassst.local.align import PAIR_BONUS, compiled_aligner
from gassst.model.layouts import HIT, LOCAL_LINE, NO_SCORE, OVER
from gassst.model.params import MAX_READ_LENGTH, MapParams, Scoring
from gassst.model.presets import EXTRA_STRATA
from gassst.model.reference import Reference
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.search.host import MATES

# Every two neighbours occur once, so that no base foretells the next: each is worth four letters.
UNIT = b"AACAGATCCGCTGGTT"
PLANNED = (
    "errors", "seed_length", "seed_every", "disjoint", "settled", "lost", "caps", "MAX_STAGES", "preset",
    "gaps",
)  # fmt: skip


def packed_of(lengths):
    """Reads of so many bases, none of which foretells the next."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    bases = b"".join((UNIT * (1 + m // 16))[:m] for m in lengths)
    lengths, planes, plane_start = pack(np.frombuffer(bases, np.uint8), offsets, MAX_READ_LENGTH, None)
    return SimpleNamespace(lengths=lengths, planes=planes, plane_start=plane_start)


def context_of(lengths):
    """Of such reads."""
    return batch_of(packed_of(lengths))


def batch_of(packed, **more):
    """The context of a batch, without an index; `more` of its attributes, also `reference`."""
    n, conversions = len(packed.lengths), getattr(packed, "conversions", np.empty(0, np.uint8))
    arrays = packed.lengths, packed.planes, packed.plane_start
    packed = SimpleNamespace(
        lengths=arrays[0], planes=arrays[1], plane_start=arrays[2], conversions=conversions
    )
    masked = np.tile(np.array([0, 0, 2**64 - 1], np.uint64), (4, 1))
    context = SimpleNamespace(
        n=n, lengths=packed.lengths, packed=packed, params=MapParams(mode="local"), library=UNKNOWN_LIBRARY,
        whole_reads=False, flip=np.zeros(n, np.uint8), digest=np.zeros(n, np.uint64), errors=np.full(n, 255, np.uint16),
        lost=np.zeros((2, 9, MAX_READ_LENGTH + 1)), left_out=None, rater=rater([NO_SEEDS], alike(0.01)),
        plan=SimpleNamespace(gaps=15),
        reference=SimpleNamespace(planes=masked, starts=np.zeros(1, np.int64), lengths=np.full(1, 1 << 40)),
    )  # fmt: skip
    vars(context).update(more)
    return context


def own_places(lines):
    """The place of each line."""
    k, zero = len(lines.read), np.zeros(len(lines.read), np.int64)
    at, score = lines.first_diagonal, lines.hits["score"]
    return Places(lines.read_strand, at, zero, score, lines.total, zero, lines.end, at, np.ones(k, bool))


def aligner_of(context):
    """The aligner of a batch."""
    aligner = compiled_aligner(context.params, PAIR_BONUS)
    aligner.open(context)
    return aligner


@cache
def small_index():
    """Of random bases."""
    bases = bytes(np.random.default_rng(1).choice(list(b"ACGT"), 2000).tolist())
    return gassst.Index.build(Reference.from_sequences([("c", bases)]))


def a_stage(plan):
    """Seeds of each stage and read length of a plan by which every read has the first stage alone."""
    count = np.zeros_like(plan.seed_count)
    count[0] = 1
    return count


def search_of(
    context, ends=None, found=None, pairs=None, margin=EXTRA_STRATA, mates=MATES, shift=5, index=None
):
    """A search that has the places of a batch: those `found`, as `found_of` makes them, or none.

    `pairs`: `insert`, `mate`, and other attributes of `PairContext`. Bands have 64 diagonals, buckets 2^shift.
    """
    mapper = engine(index or small_index(), device="none")
    plan = SimpleNamespace(
        **{name: getattr(mapper.plan, name) for name in PLANNED}, params=context.params, shift=shift,
        words=np.ones(MAX_READ_LENGTH + 1, np.uint8), dense_length=16, STRIDE=5, seed_count=a_stage(mapper.plan),
    )  # fmt: skip
    of_pairs = pairs is not None and not context.params.exhaustive
    made_of = mapper.index, None, mapper.cascade, plan, margin, instruction_sets()[0]
    search = ReadSearch((PairStages if of_pairs else Stages)(*made_of), ends or aligner_of(context))
    if pairs is not None:
        usual = {"borders": np.array([0, 1 << 40]), "shortest": MAX_READ_LENGTH + 1, "window_bases": 0}
        pairs = SimpleNamespace(**{**usual, **vars(pairs)})
    search.place(context, pairs, found_of([]) if found is None else found, 1, 0.0, mates)
    return search


def ratings(search):
    """RATING[n] of the primary alignments."""
    search.report(False)
    return search.ends.rows()[1]["rating"].copy()


def found_of(read_strand, first=(), end=0, edits=0, reach=0, seen=(0, 0, 0), ends=None):
    """Places in bands of 64 diagonals, as a device has found them. `seen`: seeds of reads that are complete, stages
    that were looked up, seeds that were planned; each of one read after the other, or of all. `ends`: diagonals and
    totals of the best local alignments, of 90 bases."""
    found = np.zeros(0 if ends is None else len(read_strand), WHOLE_END)
    if ends is not None:
        found["touched"] = found["diagonal"] = ends[0]
        found["key"], found["rows"] = 2 * np.asarray(ends[1]) + 1, 90
    k = len(read_strand)
    columns = (np.broadcast_to(np.asarray(c), k).astype(np.uint16) for c in (end, edits, reach))
    end, edits, reach = columns
    state = np.zeros((6, 5000), np.uint16)
    for row, values in zip((2, 5, 3), seen, strict=True):
        state[row, : np.size(values) if np.ndim(values) else None] = values
    return SimpleNamespace(
        read_strand=np.array(read_strand, np.uint32), first=np.array(first, np.int64), end=end, edits=edits,
        reach=reach, state=state, ends=found, traced=None, seen=np.empty(0, np.uint64), copies=lambda *_: None,
    )  # fmt: skip


def rated_wholes(rater, lengths, errors, seen=(0, 0, 0), insert=None):
    """RATING[n] of whole reads. `errors`: of each read those of its places, which are far from each other; NO_SCORE
    where it has none. `insert`: reads are mates; places of the same number lie beside each other."""
    read, rank = np.nonzero(np.array(list(zip_longest(*errors, fillvalue=NO_SCORE))).T != NO_SCORE)
    edits = [errors[r][i] for r, i in zip(read, rank, strict=True)]
    first = 10_000 * (1 + rank) + (0 if insert is None else 150 * (read & 1))
    mate = np.tile(np.array([1, 2], np.uint8), len(errors) // 2)
    pairs = insert and SimpleNamespace(mate=mate, insert=insert)
    context = batch_of(packed_of(lengths), rater=rater, params=MapParams(mode="global"))
    found = found_of(2 * read, first, edits=edits, seen=seen)
    return ratings(search_of(context, None, found, pairs, margin=100))


def alike(odds: float) -> Odds:
    """A library of reads that are all alike, whatever errors they have."""
    rate = 3 * odds / (1 + 3 * odds)
    return Odds(rate, 1e12, rate, 1e12, 0.0)


def rater(
    seeds: list[SeedsLooked],
    odds: Odds,
    genome: Spectrum | None = None,
    n_bases: float = 1.0,
    letters: float = 4.0,
):
    """Of reads that `looked` up one of the `seeds` each."""
    plan = SimpleNamespace(
        looked_up=lambda m, complete, looked, passed_over: seeds[looked],
        spectrum=genome or Spectrum.none(),
        letters=letters,
        n_bases=n_bases,
    )
    return Rater(plan, Cases(plan, odds, LENGTHS, dense_seeds), EXTRA_STRATA)


def lines_of(read, begin, end, score, given=True, **hit):
    """Alignments of the bases begin .. end - 1 of forward strands, on diagonal 0."""
    k = len(read)
    hits, lines = np.zeros(k, HIT), np.zeros(k, LOCAL_LINE)
    hits["read"], hits["score"], hits["cigar_runs"] = read, score, 1
    for name, values in hit.items():
        hits[name] = values
    lines["read_strand"], lines["begin"], lines["end"] = 2 * np.asarray(read), begin, end
    lines["total"], lines["given"] = score, given
    return Lines.of(hits, lines)


def rivals_of(lines, count, total):
    """`count` places for the same bases as each line, far away, with a `total` that is their score, too."""
    rows = np.repeat(np.arange(len(lines.read)), count)
    total = np.broadcast_to(total, len(lines.read))[rows]
    diagonal = 1000 * (1 + np.arange(len(rows)))
    strand, end, zero = lines.read_strand[rows], lines.end[rows], np.zeros(len(rows), np.int64)
    return Places(strand, diagonal, zero, total, total, zero, end, diagonal, zero)


def report_of(rater, packed, primary, places=None, parts=None, seen=(0, 0, 0), **more):
    """An aligner that has made a report of `primary` lines and `parts` of single reads.

    `more`: `params`, `reference`; what dense seeds have shown (`over`, OVER[n]), reads to look up once more (`far`);
    `found`, `pairs`, `mates`, `margin` as `search_of` takes them.
    """
    n = len(packed.lengths)
    params = more.get("params", MapParams(mode="local", scoring=Scoring(min_score=0)))
    own = {"reference": more["reference"]} if "reference" in more else {}
    context = batch_of(packed, rater=rater, params=params, **own)
    report = aligner_of(context)
    found = more.get("found", found_of([], seen=seen))
    how = {name: more[name] for name in ("pairs", "mates", "margin") if name in more}
    search = search_of(context, report, found, **how)
    lines = primary if parts is None else Lines.concatenate([primary, parts])
    places = Places.none() if places is None else places
    report.know(places.rows, lines.hits, lines.rows, np.asarray(more.get("far", np.zeros(n)), np.uint8))
    search.report(False, more.get("over", np.zeros(n, OVER)))
    return report

#!/usr/bin/env python3
"""Fits what unseen rivals of both mates say of a pair (`gassst.search.mapq.PairModel`) to simulated pairs; checks it.

    scripts/fit/pairs.py REF.gsi=R1.fq,R2.fq REF.gsi=R1.fq,R2.fq ..

Pairs are named as `gassst simulate` names them, and mapped with the defaults. Of every pair that both mates decide, and
that has no strong known rival, the unseen rivals of both mates are noted, and whether the first mate is wrong. The
constants are found that make this most probable (`mapq.scoring`). Prints them, and the wrong pairs observed/promised by
mapping quality before stretching, with the constants in use and with those found.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import mapq as single
import numpy as np

from gassst import batch as pipeline
from gassst.batch_mapper import BatchMapper
from gassst.errors import UsageError
from gassst.io.read_batch import ReadBatch
from gassst.io.reads import open_unparsed
from gassst.local import read_through
from gassst.mapper import Mapper
from gassst.pairing.insert_size import is_primary, reference_spans
from gassst.run import MappingRun, MappingWork
from gassst.sam_flags import UNMAPPED
from gassst.search.arrays import BatchResult
from gassst.search.host_pairs import HostPairPasses
from gassst.search.mapq import (
    MATE_MODEL,
    PAIR_MODEL,
    HiddenPairs,
    PairModel,
    phred,
    settled_pairs,
    unseen_pairs,
    unseen_rivals,
)
from gassst.tools.evaluate import is_correct
from gassst.tools.truth import Alignments, detect

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from harness import run  # noqa: E402

KNOWN = 0.3  # weight of known rivals from which on a pair says nothing of unseen ones
EDGES = (0, 5, 10, 15, 20, 25, 30, 35, 40, 43, 50, 61)
# Of a first fit, without `crowded` and `short`, came `common`, `beside` and `alike`.
# Of a second one `rate`, `crowded`, `short` and `short_power`.
FITTED = "settled", "settled_beside", "open", "open_beside"
SOFT_CLIP = 4  # BAM operation


class ObservedPasses(HostPairPasses):
    """The passes over pairs, which keep what the mapping quality looks at: `HiddenPairs` and usable, bool[n], of every
    call. A batch makes one call, and others for mates that are cut; `put_back` joins them."""

    observed: list[tuple[HiddenPairs, np.ndarray]] = []
    depth = 0  # of calls that map pairs: reads of which insert sizes are learned are put back, too, and are no pairs

    @classmethod
    def put_back(cls, rows: np.ndarray) -> None:
        """What the last call saw holds for these rows (int64[k]) of the batch of the call before."""
        last, usable = cls.observed.pop()
        hidden, whole = cls.observed[-1]
        for column, own in zip(hidden, last, strict=True):
            column[rows] = own
        whole[rows] = usable

    def rate(self, search, state, found, selected, choice):
        summary, partner = selected.summary, self.pairs.partner
        seen = search.seen(self.context)
        unseen = unseen_rivals(summary, self.context.lengths, seen, self.pairs.insert.errors, MATE_MODEL)
        odds, lengths = self._odds(summary["best"]), self.context.lengths.astype(np.float64)
        whole = (
            ~(search.left_to_local | search.left_to_local[partner]) & choice.decided & (choice.wrong < KNOWN)
        )
        hidden = HiddenPairs(
            unseen.copy(),
            unseen[partner],
            np.sqrt(odds * odds[partner]),
            choice.wrong.copy(),
            np.sqrt(lengths * lengths[partner]),
            state.before_rescue.copy(),
            settled_pairs(summary, seen, partner),
        )
        self.observed.append((hidden, whole))
        return super().rate(search, state, found, selected, choice)


def observed_put_back(put_back):
    """`put_back`, in which what was observed of some reads is put back as well."""

    def both(result, again, rows, *more):
        if ObservedPasses.depth:
            ObservedPasses.put_back(rows)
        return put_back(result, again, rows, *more)

    return both


def counted(map_pairs):
    """`map_pairs`, which says that it is under way."""

    def mapped(*arguments, **options):
        ObservedPasses.depth += 1
        try:
            return map_pairs(*arguments, **options)
        finally:
            ObservedPasses.depth -= 1

    return mapped


def judged(batch: ReadBatch, result: BatchResult, reference) -> tuple[np.ndarray, np.ndarray]:
    """bool[n], bool[n]: reads that are mapped, and those at their true place, as `gassst evaluate` has it."""
    hits = result.hits[is_primary(result.hits)]
    runs = hits["cigar_runs"].astype(np.int64)
    start = hits["cigar_start"].astype(np.int64)
    cigars = np.append(result.cigars, np.uint32(0))
    before, behind = (cigars[np.where(runs > 0, row, -1)] for row in (start, start + runs - 1))
    clips = [np.where((run & 15) == SOFT_CLIP, run >> 4, 0).astype(np.int64) for run in (before, behind)]
    contig = np.searchsorted(reference.starts, hits["position"], side="right") - 1
    first = hits["position"].astype(np.int64) - np.asarray(reference.starts)[contig] + 1
    last = first + reference_spans(hits, result.cigars) - 1
    flags = hits["flag"].astype(np.int64) | np.where(batch.mate == 1, 0x41, 0x81)
    flags |= hits["strand"].astype(np.int64) << 4
    text, at = bytes(batch.names), batch.name_offsets
    names = [text[a:b].decode() for a, b in zip(at[:-1], at[1:], strict=True)]
    contigs = np.array(reference.names, dtype=object)[contig]
    found = Alignments(names, flags, contigs, first - clips[0], last + clips[1], hits["mapq"])
    mapped = hits["flag"] & UNMAPPED == 0
    return mapped, mapped & is_correct(found, detect(names[0], "the reads").truth(found, "the reads"), 10)


def observe(argument: str, sensitivity: int) -> np.ndarray:
    """float64[k, 9]: the columns of `HiddenPairs`, bases of the reference and wrong.

    Of the first mates of a set INDEX=R1,R2.
    """
    index, _, files = argument.partition("=")
    if files.count(",") != 1:
        raise UsageError(f"{argument!r} is not INDEX=R1,R2")
    mapper = Mapper(index, threads=1, device="none", sensitivity=sensitivity)
    ObservedPasses.observed = []
    reference = mapper.index.reference

    def rows_of(_: BatchMapper, batch: ReadBatch, result: BatchResult) -> np.ndarray:
        hidden, usable = ObservedPasses.observed[0]
        ObservedPasses.observed.clear()
        mapped, correct = judged(batch, result, reference)
        # Copies of a tandem repeat, and other bounds, lower what the model says.
        reported = result.hits["mapq"][is_primary(result.hits)]
        n_bases = np.full(len(mapped), mapper.index.reference.unmasked)
        some = np.flatnonzero(usable & mapped & (reported >= quality_of(hidden, n_bases)))
        some = some[some % 2 == 0]  # the mates of a pair are wrong together
        return np.stack([*hidden, n_bases, ~correct], axis=1)[some]

    first, last = files.split(",")
    batches = open_unparsed([first], [last], mapper.params.reads_per_batch(), 1000)
    found = MappingRun(MappingWork(mapper), rows_of).results(batches)
    return np.concatenate([rows for rows, _ in found])


def quality_of(hidden: HiddenPairs, n_bases: np.ndarray) -> np.ndarray:
    """uint8[n]: the mapping quality that is reported where nothing else lowers it."""
    return phred(hidden.known + unseen_pairs(hidden, n_bases))


def probability(rows: np.ndarray, model: PairModel) -> np.ndarray:
    """float64[k]: that the pair is wrong."""
    *columns, before_rescue, settled, n_bases, _ = rows.T
    hidden = HiddenPairs(*columns, before_rescue > 0, settled > 0)
    weight = hidden.known + unseen_pairs(hidden, n_bases, model)
    return np.clip(weight / (1 + weight), 1e-9, 1 - 1e-9)


def fit(rows: np.ndarray, names: tuple[str, ...]) -> PairModel:
    """The model of most likelihood, with these constants free."""

    def as_probability(x: np.ndarray) -> np.ndarray:
        return probability(rows, as_model(x))

    def as_model(x: np.ndarray) -> PairModel:
        return replace(PAIR_MODEL, **dict(zip(names, np.exp(x).tolist(), strict=True)))

    start = np.log([getattr(PAIR_MODEL, name) for name in names])
    return as_model(single.scoring(as_probability, start, np.ones(len(rows)), rows[:, -1]))


def calibration(rows: np.ndarray, model: PairModel) -> str:
    """Wrong pairs observed/promised between neighbouring EDGES."""
    chance = probability(rows, model)
    quality = np.minimum(60, -10 * np.log10(chance))
    cells = []
    for low, high in zip(EDGES, EDGES[1:], strict=False):
        some = (quality >= low) & (quality < high)
        cells.append(f"{low}-{high - 1}: {rows[some, -1].sum():.0f}/{chance[some].sum():.1f}")
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", metavar="INDEX=R1,R2")
    parser.add_argument(
        "-s", "--sensitivity", type=int, default=2, help="below 2, `before_rescue` alone is fitted [2]"
    )
    args = parser.parse_args()
    pipeline.HostPairPasses = ObservedPasses  # type: ignore[misc]
    read_through.put_back = observed_put_back(read_through.put_back)
    pipeline._map_pairs = counted(pipeline._map_pairs)
    rows = np.concatenate([observe(argument, args.sensitivity) for argument in args.sets])
    found = fit(rows, FITTED if args.sensitivity >= 2 else ("before_rescue",))
    print(f"{len(rows):,} pairs, {rows[:, -1].sum():.0f} wrong")
    for name, model in (("in use", PAIR_MODEL), ("fitted", found)):
        print(f"{name}: {model}\n  {calibration(rows, model)}")


if __name__ == "__main__":
    run(main)

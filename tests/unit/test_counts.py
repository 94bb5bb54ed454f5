"""What statistics count of a batch, against one row after the other in Python."""

from collections import Counter

import numpy as np
import pytest

from gassst._core import counts
from gassst.model.layouts import HIT, NO_SCORE, READ_SUMMARY
from gassst.model.reference import contig_starts
from gassst.model.sam_flags import REVERSE, SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel

LENGTHS = np.array([200, 700, 3333])
STARTS = contig_starts(LENGTHS)
MATES = [(1, 2), (1, 2), (0,)]


class Contigs:
    starts, lengths = STARTS, LENGTHS


def batch(seed, groups=80):
    """Rows of reads: `mate` of each, lists of (contig, place, strand, flag, MAPQ, CIGAR), and summaries."""
    rng = np.random.default_rng(seed)
    mate = [m for _ in range(groups) for m in MATES[rng.integers(3)]]
    rows, runs = [], []
    summary = np.zeros(len(mate), READ_SUMMARY)
    for read in range(len(mate)):
        is_mapped = rng.random() < 0.8
        summary["best"][read] = rng.integers(0, 9) if is_mapped else NO_SCORE
        for row in range(int(rng.integers(1, 4)) if is_mapped else 1):
            cigar = [int(x) << 4 | op for x, op in ((5, 4), (rng.integers(9, 60), 0), (3, 2), (2, 1), (8, 0))]
            contig, strand = int(rng.integers(3)), int(rng.integers(2))
            place = int(rng.integers(0, LENGTHS[contig] - 80))
            flag = REVERSE * strand + (int(rng.choice([SECONDARY, SUPPLEMENTARY])) if row else 0)
            if not is_mapped:
                cigar, contig, place, flag = [], 0, 0, UNMAPPED
            position = int(STARTS[contig]) + place if is_mapped else 0
            mapq = int(rng.integers(0, 61)) if is_mapped else 0
            rows.append((read, position, len(runs), len(cigar), 0, flag, mapq, strand, 0, 0, 0))
            runs += cigar
    return np.array(mate, np.uint8), np.array(rows, HIT), np.array(runs, np.uint32), summary


def covered(hit, cigars):
    runs = cigars[hit["cigar_start"] : hit["cigar_start"] + hit["cigar_runs"]]
    return sum(int(run) >> 4 for run in runs if run & 15 in (0, 2))


@pytest.mark.parametrize("seed", range(4))
def test_reads(seed):
    _, hits, _, summary = batch(seed)
    lengths = np.random.default_rng(seed).integers(0, 40, len(summary)).astype(np.uint32)
    stats, whole = Stats(), lengths + np.arange(len(lengths), dtype=np.uint32) % 3
    offsets = np.concatenate([[0], np.cumsum(whole)]).astype(np.uint32)
    stats.count_reads(hits, summary, lengths, offsets, longest=35)
    first = {}
    for hit in hits:
        first.setdefault(int(hit["read"]), int(hit["mapq"]))
    mapped = {r: mapq for r, mapq in first.items() if summary["best"][r] != NO_SCORE}
    assert (stats.reads, stats.bases, stats.mapped) == (len(summary), whole.sum(), len(mapped))
    assert stats.too_long == sum(int(n) > 35 for n in whole)
    assert stats.too_short == sum(int(n) < 15 for n in lengths)
    assert stats.confident == sum(mapq >= 20 for mapq in mapped.values())
    assert stats.mapq == Counter(mapped.values())
    assert stats.errors == Counter(int(summary["best"][r]) for r in mapped)


@pytest.mark.parametrize("seed", range(4))
def test_coverage(seed):
    _, hits, cigars, _ = batch(seed)
    stats = Stats()
    stats.count_places(hits, cigars, Contigs, None, None)
    bases, contigs = np.zeros(LENGTHS.sum(), int), np.zeros(3, int)
    for hit in hits:
        if not hit["flag"] & (UNMAPPED | SECONDARY):
            contig = int((hit["position"] >= STARTS).sum()) - 1
            at = int(hit["position"] - STARTS[contig] + LENGTHS[:contig].sum())
            bases[at : at + covered(hit, cigars)] += 1
            contigs[contig] += covered(hit, cigars)
    edges = [i * len(bases) // len(stats.windows) for i in range(len(stats.windows) + 1)]
    assert stats.windows.tolist() == [bases[a:b].sum() for a, b in zip(edges[:-1], edges[1:], strict=True)]
    assert stats.contigs.tolist() == contigs.tolist()


def test_a_sum_leaves_its_parts_as_they_are():
    """Their arrays of counts, one longer than the other, are added in place."""
    parts = []
    for seed, cycles in ((1, 30), (2, 50), (3, 40)):
        _, hits, cigars, _ = batch(seed)
        parts.append(Stats(cycles=np.full((cycles, 4), seed)))
        parts[-1].count_places(hits, cigars, Contigs, None, None)
    before = [(part.cycles.copy(), part.windows.copy(), part.contigs.copy()) for part in parts]
    total = Stats()
    for part in parts:
        total += part
    for part, arrays in zip(parts, before, strict=True):
        for now, then in zip((part.cycles, part.windows, part.contigs), arrays, strict=True):
            np.testing.assert_array_equal(now, then)
    assert total.contigs.tolist() == sum(contigs for _, _, contigs in before).tolist()
    assert total.windows.sum() == total.contigs.sum() > 0
    assert total.cycles[:, 0].tolist() == [6] * 30 + [5] * 10 + [2] * 10


def template_of(a, b, orientation, cigars):
    """Template length of two mates that are sure of their places, 0 or less where they make no pair."""
    contig = [int((hit["position"] >= STARTS).sum()) for hit in (a, b)]
    same = int(a["strand"]) == int(b["strand"])
    if (a["flag"] | b["flag"]) & UNMAPPED or contig[0] != contig[1] or same != (orientation == "ff"):
        return 0
    is_left = {"fr": a["strand"] == 0, "rf": a["strand"] == 1, "ff": a["strand"] == 0}[orientation]
    left, right = (a, b) if is_left else (b, a)
    length = int(right["position"]) + covered(right, cigars) - int(left["position"])
    return length if min(a["mapq"], b["mapq"]) >= 20 else 0


def primaries(hits):
    first = {}
    for hit in hits:
        first.setdefault(int(hit["read"]), hit)
    return first


@pytest.mark.parametrize("orientation", ["fr", "rf", "ff"])
def test_templates(orientation):
    mate, hits, cigars, _ = batch(7, 900)
    stats = Stats()
    stats.count_places(hits, cigars, Contigs, mate, InsertModel.given(orientation, 300, 50))
    first = primaries(hits)
    lengths = [
        template_of(first[read], first[read + 1], orientation, cigars) for read in np.flatnonzero(mate == 1)
    ]
    expected = Counter(length for length in lengths if length > 0)
    assert expected and stats.inserts == expected


@pytest.mark.parametrize("every", [1, 3])
def test_reads_of_stretches(every):
    """Of three stretches: sure single reads, sure mates of a template, their mismatches and bases."""
    mate, hits, cigars, _ = batch(8, 900)
    hits["edits"] = 5 + np.arange(len(hits)) % 7  # of which gaps are 5
    first, orientations = primaries(hits), ["fr", "rf", "ff"]
    ends = [0, 301 - (mate[301] == 2), 302, len(mate)]
    ends[2] += mate[302] == 2
    template = np.cumsum(mate != 2)
    rows = np.flatnonzero(template % every == 0)
    numbers = np.diff(np.searchsorted(rows, ends)).tolist()
    found = counts.reads_of_stretches(hits, cigars, rows, mate[rows], STARTS, numbers, [0, 1, 2], 20)
    everything = []
    for begin, end, got in zip(ends[:-1], ends[1:], found, strict=True):
        taught, templates = [], [[], [], []]
        for read in rows[(rows >= begin) & (rows < end)]:
            if mate[read] == 0 and first[read]["mapq"] >= 20:
                taught.append(first[read])
            elif mate[read] == 1:
                both = first[read], first[read + 1]
                lengths = [template_of(*both, orientation, cigars) for orientation in orientations]
                if lengths[0] > 0:
                    lengths[1] = 0
                for of_orientation, length in zip(templates, lengths, strict=True):
                    of_orientation += [length] if length > 0 else []
                taught += both if max(lengths) > 0 else []
        mismatches = sum(int(hit["edits"]) - 5 for hit in taught)
        bases = sum(covered(hit, cigars) for hit in taught)
        assert got == (len(taught), mismatches, bases, templates)
        everything += templates
    assert every > 1 or min(map(len, everything[6:])) > 5

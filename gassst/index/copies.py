"""Counts how many copies a genome's own substrings have elsewhere, once, when its index is built."""

from __future__ import annotations

from typing import Any

import numpy as np

from gassst._core import reads as _reads
from gassst._core.bands import Bands
from gassst._core.read_search import DIFFERENCES
from gassst._core.seeds import anchors_of
from gassst._core.stages import instruction_sets
from gassst.frozen import NamedTuple
from gassst.index.miss_model import miss_share
from gassst.index.spectrum import LENGTHS, LETTERS, SHIFT, Spectrum
from gassst.model.array_types import COORDINATE_BITS, F64, I64, U8
from gassst.model.presets import EXTRA_STRATA
from gassst.model.read_batch import PackedReads
from gassst.model.reference import Reference

SAMPLE = 5_000
"""Templates of two substrings, for each length; fewer of a small genome."""
BASES_EACH = 20
"""Bases of the genome for each template, at least."""
TEMPLATE = 300
"""Bases of a template, at least twice those of its substrings."""
SEED, OCCURRENCES = 16, 256
"""Bases of the disjoint seeds that lead to copies; those that occur more often are passed over."""
LEAST_FOUND = 0.15
"""Copies with so many differences that the seeds find a smaller share are not counted."""
SAME_PLACE = 16
"""Diagonals within which two places are one."""


class _Copies(NamedTuple):
    """Copies of substrings elsewhere: of which, on which strand, where their last base lies, how they differ."""

    read: I64
    strand: I64
    end: I64
    errors: I64


def measured(lookup: Any) -> Spectrum:
    """The spectrum of the genome of an index, looked up as `gassst.index.lookup` does. The same for every step."""
    shares = np.zeros(Spectrum.SHAPE)
    for i, m in enumerate(LENGTHS):
        starts, bases = _templates(lookup.index.reference, m)
        if len(starts):
            shares[:, :, i] = _shares(lookup, starts, bases)
    return Spectrum(shares.astype(np.float32))


def _templates(reference: Reference, m: int) -> tuple[I64, U8]:
    """Substrings of `m` bases without a masked one, those of a template one after the other.

    int64[2 n], where they begin; uint8[2 n, m], their letters.
    """
    n_bases = int(reference.lengths.sum())
    n = min(SAMPLE, n_bases // BASES_EACH)
    # Evenly spread, each within its share of the genome by a hash of its number.
    jitter = (np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    at = (np.arange(n) * n_bases + (jitter.astype(np.int64) * n_bases >> 24)) // max(n, 1)
    ends = np.cumsum(reference.lengths)
    contig = np.searchsorted(ends, at, side="right")
    inside = at - (ends - reference.lengths)[contig]
    span = max(TEMPLATE, 2 * m)
    first = (reference.starts[contig] + inside)[inside + span <= reference.lengths[contig]]
    starts = np.stack([first, first + span - m], axis=1)
    # The words that hold a substring, moved to begin with it.
    at = (starts >> 6)[..., None] + np.arange(-(-m // 64) + 1)
    words = np.moveaxis(np.take(reference.planes, at, axis=0, mode="clip"), -1, 0)
    bit = (starts & 63).astype(np.uint64)[..., None]
    words = np.ascontiguousarray(words[..., :-1] >> bit | words[..., 1:] << (63 - bit) << np.uint64(1))
    low, high, masked = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")[..., :m]
    whole = ~masked.any(axis=(1, 2))
    letters = np.frombuffer(b"ACGT", np.uint8)[low[whole] | high[whole] << 1]
    return starts[whole].reshape(-1), letters.reshape(-1, m)


def _shares(lookup: Any, own: I64, bases: U8) -> F64:
    """`Spectrum.shares` of one length."""
    n, m = bases.shape
    offsets = np.arange(n + 1, dtype=np.uint32) * np.uint32(m)
    conversions = np.zeros(0, np.uint8)
    if lookup.index.converted:
        # As reads of the library: what is not methylated has become T.
        bases, conversions = np.where(bases == ord("C"), np.uint8(ord("T")), bases), np.ones(n, np.uint8)
    converted = conversions if len(conversions) else None
    packed = PackedReads(*_reads.pack(bases.reshape(-1), offsets, m, converted), conversions)
    copies = _copies(lookup, packed, own)
    w = _seed_length(lookup.index)
    missed = miss_share(m, np.arange(DIFFERENCES), w, m // w)
    single = _nearest(_table(copies.read, copies.errors, n)) * _by_found(1 - missed)
    # A template is found where a seed leads to one of its substrings, which have half of its differences each.
    both = 1 - missed[np.arange(DIFFERENCES) // 2] ** 2
    pairs = _nearest(_table(*_templates_copied(copies, own), n // 2)) * _by_found(both)
    return np.stack([single, pairs])


def _seed_length(index: Any) -> int:
    """Bases of a seed that chance finds as rarely as `SEED` of four letters, as far as the index allows."""
    return min(round(SEED * np.log(LETTERS) / np.log(index.letters)), index.longest_seed)


def _by_found(share: F64) -> F64:
    """How many copies each one stands for that is found, where so many are."""
    return np.where(share >= LEAST_FOUND, 1 / np.maximum(share, LEAST_FOUND), 0.0)


def _table(read: I64, errors: I64, n: int) -> F64:
    """float64[n, DIFFERENCES]: how many copies each has, by their differences."""
    some = errors < DIFFERENCES
    counts = np.bincount(read[some] * DIFFERENCES + errors[some], minlength=n * DIFFERENCES)
    return counts.reshape(n, DIFFERENCES).astype(np.float64)


def _nearest(number: F64) -> F64:
    """float64[2, DIFFERENCES]: how many of the substrings have their nearest copy so far off, none an exact one.

    And of those with a near one how many have the next one so far off. Others of a family would have been seen.
    """
    shares = np.zeros((2, DIFFERENCES))
    number = number[number[:, 0] == 0]
    for known in range(2):
        if not len(number):
            break
        some = np.flatnonzero(number.any(axis=1))
        nearest = (number[some] > 0).argmax(axis=1)
        shares[known] = np.bincount(nearest, minlength=DIFFERENCES) / len(number)
        near = some[nearest <= EXTRA_STRATA]
        nearest = nearest[nearest <= EXTRA_STRATA]
        number = number[near]
        number[np.arange(len(near)), nearest] -= 1
    return shares


def _copies(lookup: Any, packed: PackedReads, own: I64) -> _Copies:
    """The copies of all substrings that seeds lead to, except themselves (`own` int64[n])."""
    n, m, w, index = len(own), int(packed.lengths[0]), _seed_length(lookup.index), lookup.index
    more = 1 + index.reference.unmasked / index.letters ** np.arange(64)
    caps = np.minimum(OCCURRENCES * more, 0xFFFFFFFF).astype(np.uint32)
    read_strand, diagonal, *_ = anchors_of(packed, lookup, w, m // w, caps)
    keys = np.sort(read_strand.astype(np.int64) << 32 | diagonal >> SHIFT)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    read_strand, bucket = (keys >> 32).astype(np.uint32), (keys & 0xFFFFFFFF).astype(np.uint32)
    first = (bucket.astype(np.int64) << SHIFT) - (32 - (1 << SHIFT) // 2)
    band = Bands(
        np.ascontiguousarray(index.reference.planes),
        packed.planes,
        packed.plane_start,
        packed.lengths,
        instruction_sets()[0],
    )
    errors, offset = band.score(read_strand, first, 1, np.full(n, DIFFERENCES - 1, np.uint16))
    some = np.flatnonzero(errors < DIFFERENCES)
    end = first[some] + offset[some] + m
    strands, edits = read_strand[some].astype(np.int64), errors[some].astype(np.int64)
    # The same alignment lies in the bands of two buckets.
    order = np.lexsort((end, strands))
    strands, end, edits = strands[order], end[order], edits[order]
    new = np.ones(len(order), bool)
    new[1:] = (strands[1:] != strands[:-1]) | (end[1:] != end[:-1])
    new &= (strands & 1 == 1) | (np.abs(end - own[strands >> 1] - m) > SAME_PLACE)
    return _Copies(strands[new] >> 1, strands[new] & 1, end[new], edits[new])


def _templates_copied(copies: _Copies, own: I64) -> tuple[I64, I64]:
    """Copies of whole templates, int64[k] each: of which, and the differences of both substrings together."""
    second = copies.read & 1
    apart = (own[1::2] - own[::2])[copies.read >> 1]
    # Where the first substring of the template would end, or on the other strand begin.
    place = copies.end - np.where(second == 1, np.where(copies.strand == 1, -apart, apart), 0)
    template = copies.read >> 1
    order = np.lexsort((place, second, copies.strand, template))
    key = (template << 1 | copies.strand)[order]
    place, second, errors = place[order], second[order], copies.errors[order]
    first_rows, last_rows = np.flatnonzero(second == 0), np.flatnonzero(second == 1)
    span = 1 << COORDINATE_BITS
    wanted = key[first_rows] * span + place[first_rows]
    known = key[last_rows] * span + place[last_rows]
    at = np.searchsorted(known, wanted - SAME_PLACE)
    fits = at < len(known)
    fits[fits] = known[at[fits]] <= wanted[fits] + SAME_PLACE
    rows = last_rows[at[fits]]
    return key[first_rows[fits]] >> 1, errors[first_rows[fits]] + errors[rows]

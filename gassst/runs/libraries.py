"""The libraries of a run: that of the first reads, and those of stretches that are unlike it.

A few reads from everywhere in a stretch are looked at once they are mapped. If the first library hardly explains them,
more reads are mapped, as the first ones were, and the stretch gets a library of its own. So what a read is judged by
depends on the first reads of the input and on its own stretch, on nothing else.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np

from gassst._core import counts as _counts
from gassst._core.read_search import pair_templates
from gassst.frozen import NamedTuple
from gassst.model.params import LONGEST_TEMPLATE, ORIENTATIONS
from gassst.model.stats import CONFIDENT, Stats
from gassst.pairing.error_rate import ErrorRate, deamination, share
from gassst.pairing.insert_size import CLEAR_SHARE, InsertModel, learned_insert
from gassst.records.spans import bases_of_runs, is_primary, reference_spans
from gassst.search.arrays import BatchResult

log = logging.getLogger("gassst")

PROBED = 64
"""Reads of a stretch that are looked at."""
TYPICAL_READ = 100  # bases, where nothing tells
FEW = 8  # probed pairs, or reads, that say something
# Twice the logarithm of a likelihood ratio. At 12 one of the eight stretches of the one batch of a single library that
# was looked at reached it by its few pairs.
ALARM = 24.0
APART = 0.1
"""Nats by which a read or a pair is better explained by a library than by another, if they are two: a mean that is .45
deviations away, or twice the errors of 1 % in reads of 70 bases."""


GAP_RUNS = (1, 2)  # BAM operations I and D


class Library(NamedTuple):
    """A library of a run, and how many reads were judged by it."""

    model: InsertModel
    reads: int


class PairSample(NamedTuple):
    """What some reads teach.

    Attributes
    ----------
    templates : int64[q]
        Template lengths of the pairs with two confident mates.
    mismatches, aligned : int64[k]
        Of sure single reads, and of mates of sure ones: bases that differ from the reference, and reference bases that
        they cover. Whether a mate is sure itself does not matter, or those with many mismatches would be missing.
    """

    templates: np.ndarray
    mismatches: np.ndarray
    aligned: np.ndarray


def pair_sample(
    orientation: str, mate: np.ndarray, hits: np.ndarray, cigars: np.ndarray, starts: np.ndarray
) -> PairSample:
    """What single reads teach, and pairs whose mates lie on one contig, in this orientation.

    Parameters
    ----------
    orientation : str
    mate : uint8[n]
        Of the reads: 0 single, 1 first, 2 last mate. Mates are neighbours.
    hits : HIT[h]
        Of reads mapped each on its own, the primary of every read among them.
    cigars : uint32[]
        The runs that hits point to.
    starts : int64[c]
        Contig starts.
    """
    primary = hits[is_primary(hits)]
    spans = reference_spans(primary, cigars)
    first = np.flatnonzero(mate == 1)
    a, b = first, first + 1
    pairs = primary, cigars, a, starts
    template = pair_templates(*pairs, ORIENTATIONS.index(orientation))
    fits = (template > 0) & (template <= LONGEST_TEMPLATE)
    if orientation == "rf":  # mates that overlap face each other
        fits &= pair_templates(*pairs, ORIENTATIONS.index("fr")) <= 0
    sure = primary["mapq"] >= CONFIDENT
    taught = np.r_[np.flatnonzero(sure & (mate == 0)), a[fits & sure[b]], b[fits & sure[a]]]
    both = fits & sure[a] & sure[b]
    return PairSample(template[both], mismatches(primary[taught], cigars), spans[taught])


def mismatches(hits: np.ndarray, cigars: np.ndarray) -> np.ndarray:
    """int64[h]: errors of hits (HIT[h]) that are no gaps."""
    return hits["edits"].astype(np.int64) - bases_of_runs(hits, cigars, GAP_RUNS)


def library_of(
    orientations: Sequence[str], samples: Iterable[Sequence[PairSample]], counts: Sequence[Stats]
) -> InsertModel:
    """What the samples of all parts teach, which are by orientation, and the counts of the same reads."""
    total = Stats.of_parts(counts)
    by_orientation = [
        PairSample(*map(np.concatenate, zip(*parts, strict=True))) for parts in zip(*samples, strict=True)
    ]
    elsewhere = share(total.reads - total.mapped, total.reads)
    return learned_insert(orientations, by_orientation, deamination(total.cycles, total.damage), elsewhere)


class Probe(NamedTuple):
    """What a few reads of a stretch show, as `_core.counts.reads_of_stretches` says."""

    reads: int
    mismatches: int
    bases: int
    templates: dict[str, list[int]]
    """Their lengths, by orientation."""

    @classmethod
    def of(
        cls,
        result: BatchResult,
        rows: np.ndarray,
        mate: np.ndarray,
        numbers: list[int],
        orientations: Sequence[str],
        starts: np.ndarray,
    ) -> list[Probe]:
        """Of each stretch, from the `result` of a batch: so many of the reads `rows` (int64[k]) of each.

        `mate` uint8[k]: 0 single, 1 first, 2 last mate; `starts` int64[c] of the contigs.
        """
        codes = [ORIENTATIONS.index(each) for each in orientations]
        found = _counts.reads_of_stretches(
            result.hits, result.cigars, rows, mate, starts, numbers, codes, CONFIDENT
        )
        return [
            cls(reads, mismatches, bases, dict(zip(orientations, sizes, strict=True)))
            for reads, mismatches, bases, sizes in found
        ]

    def is_unlike(self, model: InsertModel, judges_inserts: bool) -> bool:
        """Whether the library hardly explains the reads of the stretch."""
        if self.reads >= FEW:
            surprise = _errors_apart(self.mismatches / self.bases, self.bases, model.errors)
            if 2 * surprise > ALARM:
                return True
        return judges_inserts and self._has_other_pairs(model)

    def _has_other_pairs(self, model: InsertModel) -> bool:
        own, n = None, 0
        for each, lengths in self.templates.items():
            if lengths:
                own, n = replace(InsertModel.learned(each, lengths), also=own), n + len(lengths)
        return own is not None and n >= FEW and (not model.pairs or 2 * n * _pairs_apart(own, model) > ALARM)


def own_library(learned: InsertModel, first: InsertModel, length: int, judges_inserts: bool) -> InsertModel:
    """That of a stretch whose reads have `learned` bases: the first one, if the stretch is not unlike it, or is silent.

    What the stretch does not show is as in the first library.
    """
    pairs = judges_inserts and learned.pairs > 0
    own = learned if pairs else replace(first, errors=learned.errors)
    own = own if learned.errors.is_known else replace(own, errors=first.errors)
    return own if are_apart(own, first, length) else first


def are_apart(one: InsertModel, other: InsertModel, length: int) -> bool:
    """Whether reads of so many bases, or their pairs, are much better explained by the library that they are of."""
    if (one.pairs > 0) != (other.pairs > 0):
        return True
    if one.pairs and _pairs_apart(one, other) > APART:
        return True
    if not (one.errors.is_known and other.errors.is_known):
        return one.errors.is_known != other.errors.is_known
    return _errors_apart(one.errors.rate, length, other.errors) > APART


def _pairs_apart(own: InsertModel, model: InsertModel) -> float:
    """Nats by which a pair is better explained by its own library than by another.

    A pair in an orientation that the other does not have is half as likely as it can be there without being noticed.
    """
    known, nats = {library.orientation: (library, part) for library, part in model.shares}, 0.0
    for one, part in own.shares:
        library, expected = known.get(one.orientation, (None, CLEAR_SHARE / 2))
        nats += part * (math.log(part / expected) + (_sizes_apart(one, library) if library else 0))
    return nats


def _sizes_apart(own: InsertModel, model: InsertModel) -> float:
    """Nats by which normal template lengths are better explained by their own mean and deviation than by a model's."""
    sd, apart = own.sd, own.mean - model.mean
    return math.log(model.sd / sd) + (sd**2 + apart**2) / (2 * model.sd**2) - 0.5


def _errors_apart(rate: float, bases: int, errors: ErrorRate) -> float:
    """Nats by which the mismatches of so many bases are better explained by their own rate; as Poisson numbers."""
    if not errors.is_known:
        return math.inf
    seen, expected = rate * bases, errors.rate * bases
    return (seen * math.log(seen / expected) if seen else 0.0) - seen + expected


class Libraries:
    """Which libraries a run has met, the first reads' first."""

    def __init__(self) -> None:
        self.found: list[Library] = []

    def add(self, libraries: Iterable[Library], first: InsertModel, length: int, is_told: bool) -> None:
        """Count the reads of a batch. Of the first change the log is told."""
        if not self.found:
            self.found.append(Library(first, 0))
        for model, reads in libraries:
            i = next((i for i, (known, _) in enumerate(self.found) if _is_one(model, known, length)), None)
            if i is not None:
                self.found[i] = Library(self.found[i].model, self.found[i].reads + reads)
                continue
            if len(self.found) == 1 and is_told:
                before = sum(library.reads for library in self.found)
                log.warning(
                    "the library changes after %s reads: %s; before: %s. Each stretch is judged by its own reads",
                    f"{before:,}",
                    library_text(model.as_dict()),
                    library_text(first.as_dict()),
                )
            self.found.append(Library(model, reads))

    @classmethod
    def joined(cls, parts: Iterable[list[dict[str, Any]]]) -> Libraries:
        """Those of the parts of an input, of which `facts` are told."""
        total = cls()
        for libraries in parts:
            found = [Library(_model_of(one), one["reads"]) for one in libraries]
            if found:
                total.add(found, (total.found or found)[0].model, TYPICAL_READ, is_told=False)
        return total

    def facts(self) -> list[dict[str, Any]]:
        """For `Stats.run`."""
        total = max(sum(library.reads for library in self.found), 1)
        return [
            {"reads": reads, "share": round(reads / total, 4)} | model.as_dict()
            for model, reads in self.found
        ]


def joined_results(parts: Sequence[BatchResult]) -> BatchResult:
    """That of all reads, of which each part has those behind the part before."""
    if len(parts) == 1:
        return parts[0]
    hits, reads, runs, pieces = [], 0, 0, 0
    for part in parts:
        rows = part.hits_behind(runs, pieces)
        rows["read"] += np.uint32(reads)
        hits.append(rows)
        reads, runs, pieces = reads + len(part.summary), runs + len(part.cigars), pieces + len(part.parts)
    others = zip(*((part.summary, part.cigars, part.parts) for part in parts), strict=True)
    return BatchResult(*map(np.concatenate, (hits, *others)))


def _model_of(facts: dict[str, Any]) -> InsertModel:
    """That of which `Libraries.facts` tell. Raises ValueError, TypeError, KeyError and AttributeError."""
    names = [field.name for field in fields(InsertModel) if field.name in facts]
    return InsertModel._of(deepcopy({name: facts[name] for name in names}))


def _is_one(model: InsertModel, known: InsertModel, length: int) -> bool:
    return model is known or model == known or not are_apart(model, known, length)


def library_text(library: dict[str, Any]) -> str:
    """One of `run["libraries"]` in short."""
    rate, sizes, of_pairs = library["errors"]["rate"], "", library
    while of_pairs and of_pairs["pairs"]:
        sizes += "{orientation} {mean:.0f} +- {sd:.0f}, ".format(**of_pairs)
        of_pairs = of_pairs["also"]
    return f"{sizes}errors " + (f"{rate:.2%} of bases" if rate < 0.5 else "unknown")

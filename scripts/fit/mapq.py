#!/usr/bin/env python3
"""Fits the constants of the mapping quality (`gassst.search.mapq.MapqModel`) to simulated reads, and checks them.

    scripts/fit/mapq.py --fit REF.gsi=READS.fq,READS.fq --fit 0.4*OTHER.gsi=READS.fq --test THIRD.gsi=READS.fq

Reads are named as `gassst simulate` names them. They are mapped with `--mode global` (`-s` changes the level). Of
every read with one best place the model's features are counted, and whether that place is right. The constants are
found that make the counts most probable (Fisher scoring on their logarithms), but for `prior`, which stays as it is: at
first by the reads without a known rival, then `BESIDE` by the others. A set counts as often as the number before its
index says, and reads below MAPQ 13 count less, as nobody filters among them. Prints the constants and, for every
set, wrong alignments observed/expected by mapping quality; without --fit, those of the constants in use. Needs numpy
only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from gassst.errors import UsageError
from gassst.io.reads import open_reads
from gassst.layouts import NO_SCORE
from gassst.mapper import Mapper
from gassst.pairing.insert_size import reference_spans
from gassst.params import MAX_READ_LENGTH
from gassst.search import single
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend
from gassst.search.mapq import (
    MODEL,
    MapqModel,
    UnseenFeatures,
    chance_places,
    clipped,
    missed_shares,
    rival_odds,
    unseen_weight,
)
from gassst.seeding.plan import EXTRA_STRATA
from gassst.stats import Stats
from gassst.tools.evaluate import is_correct
from gassst.tools.truth import Alignments, detect

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from harness import run, table  # noqa: E402

BESIDE = ("near_known", "lost_known")
ALONE = tuple(name for name in asdict(MODEL) if name not in ("prior", *BESIDE))
UNSURE, UNSURE_COUNT = 0.05, 0.3  # reads whose other places weigh more than the first count so often
EDGES = (0, 3, 6, 10, 13, 16, 20, 23, 26, 30, 33, 36, 40, 50, 61)
ROW = ("lengths", "best", "counted", "n_second", "complete", "capped", "looked", "planned")


@dataclass
class Counts:
    """Reads with the same features: `reads` and `wrong` float64[k], and what the model looks at.

    `given` float64[k]: what weighs the same whatever the model says.
    """

    reads: np.ndarray
    wrong: np.ndarray
    n_second: np.ndarray
    given: np.ndarray
    features: UnseenFeatures

    @classmethod
    def concatenate(cls, parts: list[Counts]) -> Counts:
        columns = (
            np.concatenate([getattr(p, f) for p in parts]) for f in ("reads", "wrong", "n_second", "given")
        )
        features = (np.concatenate(column) for column in zip(*(p.features for p in parts), strict=True))
        return cls(*columns, UnseenFeatures(*features))

    def take(self, some: np.ndarray) -> Counts:
        """Those of bool[k]."""
        features = UnseenFeatures(*(column[some] for column in self.features))
        return Counts(*(c[some] for c in (self.reads, self.wrong, self.n_second, self.given)), features)

    def times(self, often: np.ndarray | float) -> Counts:
        """The same, counted so often."""
        return replace(self, reads=self.reads * often, wrong=self.wrong * often)


def weight(counts: Counts, model: MapqModel) -> np.ndarray:
    """What other places weigh, float64[k]: as `search.mapq.mapping_quality` adds it up."""
    f = counts.features
    rivals = np.where(f.counted > 0, counts.n_second, 0) * rival_odds(f.best, f.lengths, f.counted, model)
    return rivals + unseen_weight(f, model) + counts.given


def placed_right(hits: np.ndarray, spans: np.ndarray, names: list[str], reference) -> np.ndarray:
    """bool[n]: primary alignments at the place in the name, as `gassst evaluate` has it."""
    contig = np.searchsorted(reference.starts, hits["position"], side="right") - 1
    start = hits["position"].astype(np.int64) - np.asarray(reference.starts)[contig] + 1
    contigs = np.array(reference.names, dtype=object)[contig]
    found = Alignments(names, hits["flag"].astype(np.int64), contigs, start, start + spans - 1, hits["mapq"])
    return is_correct(found, detect(names[0], "the reads").truth(found, "the reads"), 10) & (
        hits["flag"] & 4 == 0
    )


def batch_rows(mapper: Mapper, batch) -> np.ndarray:
    """int64[n, len(ROW) + 1]: features of the reads with one best place, and whether it is wrong."""
    packed = batch.pack()
    context = BatchContext.of(mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed)
    with mapper.extender.open_reads(packed) as bands:
        backend = HostBackend(context, bands, Stats())
        state = single.run_stages(backend)
        result = backend.trace_back(single.select(backend, state))
    summary = result.summary
    primary = result.hits[result.hits["flag"] & 0x100 == 0]
    spans = reference_spans(primary, result.cigars)
    text, at = bytes(batch.names), batch.name_offsets
    names = [text[a:b].decode() for a, b in zip(at[:-1], at[1:], strict=True)]
    second = summary["second"].astype(np.int64)
    counted = np.where(second == NO_SCORE, 0, second - summary["best"])
    values = (
        packed.lengths, summary["best"], counted, summary["n_second"], state.complete, state.capped, state.looked,
        state.planned, ~placed_right(primary, spans, names, mapper.index.reference),
    )  # fmt: skip
    rows = np.stack([np.asarray(v, np.int64) for v in values], axis=1)
    return rows[(summary["best"] != NO_SCORE) & (summary["n_best"] == 1)]


def observe(mapper: Mapper, path: str) -> Counts:
    """Counts of the reads of one file."""
    batches = open_reads([path], mapper.params.reads_per_batch(), max_length=MAX_READ_LENGTH)
    rows = np.concatenate([batch_rows(mapper, batch) for batch in batches])
    unique, inverse = np.unique(rows[:, :-1], axis=0, return_inverse=True)
    inverse = inverse.ravel()
    column = dict(zip(ROW, unique.T, strict=True))
    plan, best, lengths = mapper.plan, column["best"], column["lengths"]
    seen = argparse.Namespace(
        plan=plan, **{name: column[name] for name in ("complete", "capped", "looked", "planned")}
    )
    missed = missed_shares(best, lengths, seen)
    features = UnseenFeatures(
        best, lengths, np.where(column["counted"] <= EXTRA_STRATA, column["counted"], 0), column["complete"],
        clipped(seen), column["capped"] > 0, missed,
        np.full(len(best), float(plan.n_bases)),
    )  # fmt: skip
    wrong = np.bincount(inverse, weights=rows[:, -1]).astype(np.int64)
    given = chance_places(lengths, best, plan.n_bases)
    return Counts(np.bincount(inverse), wrong, column["n_second"], given, features)


def scoring(probability: Callable, x: np.ndarray, reads: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """The x of most likelihood for wrong of reads, by damped Fisher scoring with numerical derivatives."""

    def likelihood(p: np.ndarray) -> float:
        return float((wrong * np.log(p) + (reads - wrong) * np.log1p(-p)).sum())

    p, damping, h = probability(x), 1.0, 1e-4
    for _ in range(100):
        jacobian = np.stack([(probability(x + e) - p) / h for e in h * np.eye(len(x))], axis=1)
        variance = p * (1 - p)
        gradient = jacobian.T @ ((wrong - reads * p) / variance)
        information = jacobian.T @ (jacobian * (reads / variance)[:, None])
        step = np.clip(np.linalg.solve(information + damping * np.eye(len(x)), gradient), -1, 1)
        gain = likelihood(probability(x + step)) - likelihood(p)
        if gain > 0:
            x = x + step
            p = probability(x)
        damping = damping / 8 if gain > 0 else damping * 8
        if abs(gain) < 1e-3 or damping > 1e9:
            break
    return x


def fit(counts: Counts) -> MapqModel:
    """The model whose constants make the counts most probable."""
    counts = counts.times(np.where(weight(counts, MODEL) > UNSURE, UNSURE_COUNT, 1))
    is_alone = counts.features.counted == 0
    alone = most_probable(counts.take(is_alone), ALONE, MODEL)
    return most_probable(counts.take(~is_alone), BESIDE, alone)


def most_probable(counts: Counts, names: tuple[str, ...], model: MapqModel) -> MapqModel:
    """The model whose constants `names` make the counts most probable; the others are those of `model`."""

    def as_model(x: np.ndarray) -> MapqModel:
        return replace(model, **dict(zip(names, np.exp(x).tolist(), strict=True)))

    def probability(x: np.ndarray) -> np.ndarray:
        other = weight(counts, as_model(x))
        return np.clip(other / (1 + other), 1e-9, 1 - 1e-9)

    start = np.log([getattr(model, name) for name in names])
    return as_model(scoring(probability, start, counts.reads, counts.wrong))


def calibration(counts: Counts, model: MapqModel) -> list[str]:
    """ "observed/expected" wrong alignments between neighbouring EDGES."""
    other = weight(counts, model)
    share = other / (1 + other)
    quality = np.minimum(60, -10 * np.log10(np.maximum(share, 1e-9)))
    inside = [(quality >= low) & (quality < high) for low, high in zip(EDGES, EDGES[1:], strict=False)]
    return [
        f"{counts.wrong[s].sum():.0f}/{(counts.reads * share)[s].sum():.1f}" if s.any() else ""
        for s in inside
    ]


def sets(arguments: list[str], sensitivity: int) -> dict[str, Counts]:
    """Counts by "index reads" of all files of arguments [OFTEN*]INDEX=READS,READS."""
    found = {}
    for argument in arguments:
        index, given, files = argument.partition("=")
        if not given:
            raise UsageError(f"{argument!r} is not INDEX=READS,READS")
        often, _, index = index.rpartition("*")
        mapper = Mapper(index, threads=1, device="none", sensitivity=sensitivity, mode="global")
        for path in files.split(","):
            found[f"{Path(index).stem} {Path(path).stem}"] = observe(mapper, path).times(float(often or 1))
    return found


def main() -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    for name, meaning in (("--fit", "fit to these reads"), ("--test", "show these, too")):
        parser.add_argument(name, action="append", default=[], metavar="[OFTEN*]INDEX=READS,..", help=meaning)
    parser.add_argument("-s", "--sensitivity", type=int, default=2, metavar="0..5", help="[2]")
    args = parser.parse_args()
    fitted, tested = sets(args.fit, args.sensitivity), sets(args.test, args.sensitivity)
    if not fitted and not tested:
        parser.error("nothing to fit or test")
    model = fit(Counts.concatenate(list(fitted.values()))) if fitted else MODEL
    for name, value in asdict(model).items():
        print(f"{name} = {value:.4g}")
    rows = [[name, *calibration(counts, model)] for name, counts in (fitted | tested).items()]
    print(table(["wrong, observed/expected, from MAPQ", *map(str, EDGES[:-1])], rows))


if __name__ == "__main__":
    run(main)

"""Local ends: reads whose ends may be clipped, and reads that lie in two places (--mode local).

The global search goes first, as it is. A read that is settled by it stays as it is aligned: no other alignment has a
better score (`_settles`). Of all others the places that were found are scored again with the local kernel. Where
nothing was found, or where much is clipped, the filters' bounds mean nothing: they speak of whole reads. For these
few reads seeds are looked up anew, densely, and the best supported buckets of diagonals are scored unfiltered.

Places compare by their score with the bonus for each end that is reached; AS and XS are scores without it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _candidates, _local, _select
from .layouts import HIT, NO_SCORE, NO_SUBOPTIMAL
from .params import MAX_READ_LENGTH, Scoring
from .seeding import MARGIN
from .select import MAX_MAPQ, _chance

if TYPE_CHECKING:
    from .search import Bands, BatchSearch

FLAG_UNMAPPED, FLAG_SECONDARY, FLAG_SUPPLEMENTARY = 0x4, 0x100, 0x800
KNOWN_PLACES = 32  # of a read, found by the global search, that are scored again
NEW_PLACES = 32  # best supported buckets of a read that are scored
FAR = 20  # clipped bases from which a read is looked into once more, and may have supplementary alignments
STRIDE = 3  # from seed to seed
SPECIFIC = 4  # bases a seed is longer than one that occurs once by chance
OCCURRENCES = 64  # of a seed that are looked at
WORDS = 2  # of a band: room for gaps of some 50 bases
SAME_PLACE = 10  # diagonals
MIN_ERROR_RATE = 0.005  # of a read without any error
NEAR = 64  # diagonals within which a place that a pair decided on may move
PARTS = 3  # supplementary alignments of a read


class Columns:
    """Parallel arrays of one length."""

    def take(self, index: Any) -> Any:
        """The rows at `index`."""
        return type(self)(*(getattr(self, f.name)[index] for f in fields(self)))  # type: ignore[arg-type]

    @classmethod
    def concatenate(cls, parts: list) -> Any:
        """All rows, in order."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))  # type: ignore[arg-type]


@dataclass
class Places(Columns):
    """Scored bands. `total` is the score with bonus; `reached`, `rows` as `ReadsHandle.local` has them; `diagonal`
    the concatenated coordinate that base 0 faces by the last aligned base; `given`: the place that was chosen
    before."""

    read_strand: np.ndarray
    band_start: np.ndarray
    words: np.ndarray
    score: np.ndarray
    total: np.ndarray
    reached: np.ndarray
    rows: np.ndarray
    diagonal: np.ndarray
    given: np.ndarray

    @property
    def read(self) -> np.ndarray:
        return self.read_strand >> 1


@dataclass
class Lines(Columns):
    """Alignments: `hits` HIT, `begin` and `end` of the aligned bases in the read as sequenced, `total` as in Places,
    the diagonals on which they begin and end."""

    hits: np.ndarray
    read_strand: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    total: np.ndarray
    first_diagonal: np.ndarray
    last_diagonal: np.ndarray
    given: np.ndarray

    @property
    def read(self) -> np.ndarray:
        return self.read_strand >> 1


@dataclass
class Rivals:
    """Of the line of each read: the next best place's `total` and `score`, and how many there are with that total."""

    total: np.ndarray
    score: np.ndarray
    count: np.ndarray


def _settles(scoring: Scoring) -> bool:
    """Whether an ungapped alignment with one mismatch, the only one with so few errors, has the best score.

    Clipping q >= 1 bases loses q * match and a bonus, and gains a mismatch at the most; a place with two errors or
    more has two mismatches, or one gap of two bases or more, or one of each.
    """
    gaps = (o + 2 * e for o, e in zip(scoring.gap_open, scoring.gap_extend, strict=True))
    return scoring.clip >= scoring.mismatch and min(gaps) >= scoring.match + scoring.mismatch


class LocalEnds:
    """The local alignments of one batch, from what the global search found (`bands` of the rows it would report,
    grouped by read by `start`, and `summary`)."""

    def __init__(self, search: BatchSearch, bands: Bands, start: np.ndarray, summary: np.ndarray):
        self.search, self.bands, self.start, self.summary = search, bands, start, summary
        self.scoring, self.lengths, self.n = search.params.scoring, search.lengths, search.n
        self.quality = search._qualities(summary)
        self.mapped = np.diff(start) > 0
        chosen = start[np.flatnonzero(self.mapped)]
        self.home = np.zeros((2, self.n), np.int64)  # read_strand and band_start of the place chosen before
        self.home[:, self.mapped] = bands.read_strand[chosen], bands.band_start[chosen]
        self.decided = search.proper.copy()  # whose pair the global search has placed
        self.cigars: list[np.ndarray] = []
        self.n_runs = 0

    def run(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hits, summary and CIGARs, as `search.BatchResult` has them."""
        with self.search.stats.timed("local"):
            settled = self._settled()
            places = self._score(*self._known(settled.read))
            primary = self._chosen(places)
            self.far = far = self._far(settled, primary)
            if far.any():
                new = self._score(*self._anchored(np.flatnonzero(far).astype(np.uint32)))
                enough = (new.score >= self.scoring.min_score) & ~self._repeats(
                    new, places.take(far[places.read])
                )
                places = Places.concatenate([places, new.take(enough)])
                better = self._chosen(places.take(far[places.read]))
                primary = Lines.concatenate([primary.take(~far[primary.read]), better])
            primary, places = self._pair(settled, primary, places)
            supplementary = self._supplementary(
                places.take(far[places.read]), primary.take(far[primary.read])
            )
            return self._report(settled, primary, supplementary, places)

    # --- places --------------------------------------------------------------------------------------------

    def _settled(self) -> Lines:
        """Reads whose global alignment stands: ungapped, the best in its band (`_local.stands`), no rival near."""
        reads = np.flatnonzero(np.diff(self.start) == 1)
        rows = self.start[reads]
        edits, summary = self.bands.edits[rows], self.summary[reads]
        alone = (summary["n_best"] == 1) & (summary["second"] == NO_SCORE)
        unsure = (edits > 1) | ((edits == 1) & (not _settles(self.scoring)))
        stands = alone | ((edits == 0) & (summary["n_best"] > 1))
        rows, unsure = rows[stands], unsure[stands]
        bands, search = self.bands.take(rows), self.search
        diagonal = _select.ungapped_diagonal(
            search.index.reference.planes, search.packed.planes, search.packed.plane_start, self.lengths,
            bands.read_strand, bands.band_start + bands.end, bands.edits, bands.reach,
        )  # fmt: skip
        keep = diagonal > 0
        judged = np.flatnonzero(keep & unsure)
        keep[judged] = _local.stands(
            bands.read_strand[judged], diagonal[judged], bands.band_start[judged], bands.words[judged],
            search.index.reference.planes, search.packed.planes, search.packed.plane_start, self.lengths, self.scoring,
        )  # fmt: skip
        read_strand, diagonal = bands.read_strand[keep], diagonal[keep]
        whole = self.lengths[read_strand >> 1]
        runs = np.arange(whole.size, dtype=np.uint32), np.ones(whole.size, np.uint16)
        return self._lines(
            read_strand, diagonal, whole << np.uint32(4), *runs, diagonal, np.ones(whole.size, bool)
        )

    def _known(self, settled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """read_strand, band_start, words of the places that the global search found for all other reads, and which
        of them it chose."""
        search, bands = self.search, self.bands
        todo = self.mapped.copy()
        todo[settled] = False
        rows = self.start[np.flatnonzero(todo)]
        chosen = bands.take(rows)
        others = type(bands).concatenate(search.bands)
        others = others.take(np.flatnonzero(todo[others.read_strand >> 1]))
        read_strand = np.concatenate([chosen.read_strand, others.read_strand])
        band_start = np.concatenate([chosen.band_start, others.band_start])
        words = np.concatenate([chosen.words, others.words])
        edits = np.concatenate([chosen.edits, others.edits])
        given = np.arange(read_strand.size) < rows.size
        order = np.lexsort(
            (band_start, read_strand & 1 ^ search.flip[read_strand >> 1], edits, ~given, read_strand >> 1)
        )
        read_strand, band_start, words, given = (c[order] for c in (read_strand, band_start, words, given))
        read = read_strand >> 1
        rank = _rank(read)
        first = np.flatnonzero(rank == 0)[np.cumsum(rank == 0) - 1] if read.size else rank
        again = ~given & (read_strand == read_strand[first]) & (band_start == band_start[first])
        keep = ~again & (rank < KNOWN_PLACES)
        return read_strand[keep], band_start[keep], words[keep], given[keep]

    def _anchored(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """read_strand, band_start, words of the best supported buckets of these reads (none is `given`)."""
        search = self.search
        index = search.index
        lengths, counts = self._seed_plan()
        caps = np.minimum(search.plan.caps, np.uint32(OCCURRENCES))
        packed = search.packed
        seeds = _candidates.Seeds(
            packed.planes,
            packed.plane_start,
            self.lengths,
            search.flip,
            active,
            lengths,
            counts,
            np.ones(counts.size, np.uint16),
            index.k + 16,
        )
        search.parts.resolve(seeds, caps)
        seeds.limit(caps)
        search.parts.copy_positions(seeds)
        nothing = np.empty(0, np.uint64), np.zeros(self.n + 1, np.int64)
        read_strand, diagonal, _, length, _ = _candidates.gather(
            seeds, index.positions, active, search.flip, search.shift, *nothing
        )
        read_strand, bucket = self._supported(read_strand, diagonal >> np.uint32(search.shift), length)
        words = np.maximum(search.words[read_strand >> 1], np.uint8(WORDS))
        margin = 32 * words.astype(np.uint32) - np.uint32((1 << search.shift) >> 1)
        band_start = (bucket << np.uint32(search.shift)) - margin
        return read_strand, band_start, words, np.zeros(words.size, bool)

    def _seed_plan(self) -> tuple[np.ndarray, np.ndarray]:
        """Length and number of seeds by read length."""
        m = np.arange(MAX_READ_LENGTH + 1)
        counts = np.where(m >= self._seed_length(), (m - self._seed_length()) // STRIDE + 1, 0)
        return np.full(m.size, self._seed_length(), np.uint16), counts.astype(np.uint16)

    def _seed_length(self) -> int:
        index = self.search.index
        return min(int(np.ceil(np.log(max(len(index.positions), 4)) / np.log(4))) + SPECIFIC, index.k + 16)

    def _supported(self, read_strand: np.ndarray, bucket: np.ndarray, length: np.ndarray):
        """The buckets of each read whose seeds cover most bases, from anchors in their order."""
        if not read_strand.size:
            return read_strand, bucket
        new = np.r_[True, (read_strand[1:] != read_strand[:-1]) | (bucket[1:] != bucket[:-1])]
        starts = np.flatnonzero(new)
        support = np.add.reduceat(length.astype(np.int64), starts)
        read_strand, bucket = read_strand[starts], bucket[starts]
        order = np.lexsort((np.arange(starts.size), -support, read_strand >> 1))
        keep = order[_rank(read_strand[order] >> 1) < NEW_PLACES]
        return read_strand[keep], bucket[keep]

    def _score(
        self, read_strand: np.ndarray, band_start: np.ndarray, words: np.ndarray, given: np.ndarray
    ) -> Places:
        """Places with a score; bands without any are dropped."""
        k = read_strand.size
        score, reached = np.empty(k, np.int32), np.empty(k, np.uint8)
        rows, end = np.empty(k, np.uint16), np.empty(k, np.uint16)
        for w, some in self.search._by_words(words):
            found = self.search.reads.local(read_strand[some], band_start[some], w, self.scoring)
            score[some], reached[some], rows[some], end[some] = found
        self.search.stats.scored += k
        total = score + self.scoring.clip * ((reached & 1) + (reached >> 1)).astype(np.int32)
        places = Places(read_strand, band_start, words, score, total, reached, rows, band_start + end, given)
        return places.take(np.flatnonzero(score > 0))

    def _may_be(self, read_strand: np.ndarray, band_start: np.ndarray) -> np.ndarray:
        """Places that may become their read's primary: all, or those near the one that its pair decided on."""
        home_strand, home = self.home[:, read_strand >> 1]
        near = (read_strand == home_strand) & (np.abs(band_start.astype(np.int64) - home) <= NEAR)
        return ~self.decided[read_strand >> 1] | near

    def _chosen(self, places: Places) -> Lines:
        """The primary line of every read that has a place."""
        eligible = self._may_be(places.read_strand, places.band_start) | places.given
        return self._align(places.take(self._best(places, eligible)))

    def _repeats(self, new: Places, known: Places) -> np.ndarray:
        """Which of the new places are known: the same end of the read on the same diagonal, with the same score."""

        def keys(p: Places) -> np.ndarray:
            return np.rec.fromarrays([p.read_strand, p.diagonal, p.rows, p.total])

        return np.isin(keys(new), keys(known))

    def _best(self, places: Places, eligible: np.ndarray) -> np.ndarray:
        """Row of the best place of every read that has one. Of equals the given one, else one drawn by the hash of
        the read's bases."""
        flip, digest = self.search.flip, self.search.digest
        rows = np.flatnonzero(eligible)
        p = places.take(rows)
        strand = p.read_strand & 1 ^ flip[p.read]
        order = np.lexsort((p.band_start, ~p.given, p.diagonal, strand, -p.total, p.read))
        rows, p, strand = rows[order], p.take(order), strand[order]
        first = np.flatnonzero(_rank(p.read) == 0)
        best = np.repeat(p.total[first], np.diff(np.r_[first, len(rows)])) == p.total
        keys = p.read, p.total, strand, p.diagonal
        best[1:] &= np.logical_or.reduce([k[1:] != k[:-1] for k in keys])
        rows, read, given = rows[best], p.read[best], p.given[best]
        first = np.flatnonzero(_rank(read) == 0)
        count = np.diff(np.r_[first, len(rows)]).astype(np.uint64)
        chosen = first + (digest[read[first]] % count).astype(np.int64)
        group = np.cumsum(_rank(read) == 0) - 1
        chosen[group[given]] = np.flatnonzero(given)
        return rows[chosen]

    def _pair(self, settled: Lines, primary: Lines, places: Places) -> tuple[Lines, Places]:
        """For pairs: primary lines chosen together, and places with those found for it."""
        return primary, places

    def _pair_quality(self, primary: Lines, rivals: Rivals) -> None:
        """For pairs: `quality` of mates that were placed together."""

    # --- alignments ------------------------------------------------------------------------------------------

    def _align(self, places: Places) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of."""
        k = len(places.total)
        position = np.empty(k, np.uint32)
        at, runs = np.empty(k, np.uint32), np.empty(k, np.uint16)
        cigars, offset = [np.empty(0, np.uint32)], 0
        for w, some in self.search._by_words(places.words):
            columns = places.read_strand[some], places.band_start[some]
            _, position[some], found, start, runs[some], _ = self.search.reads.align_local(
                *columns, w, self.scoring
            )
            at[some] = start + np.uint32(offset)
            cigars.append(found)
            offset += len(found)
        self.search.stats.traced += k
        merged = np.concatenate(cigars)
        return self._lines(places.read_strand, position, merged, at, runs, places.diagonal, places.given)

    def _lines(self, read_strand, position, cigars, at, runs, last_diagonal, given) -> Lines:
        search = self.search
        reference, packed = search.index.reference, search.packed
        hits, cigars, first, last = _local.finish(
            read_strand, position, cigars, at, runs, reference.planes, packed.planes, packed.plane_start,
            self.lengths, reference.starts, reference.lengths, self.scoring,
        )  # fmt: skip
        hits["cigar_start"] += np.uint32(self.n_runs)
        self.cigars.append(cigars)
        self.n_runs += len(cigars)
        m = self.lengths[read_strand >> 1].astype(np.int64)
        first, last = first.astype(np.int64), last.astype(np.int64)
        reached = (first == 0).astype(np.int32) + (last == m)
        begin, end = self._as_sequenced(read_strand, first, last)
        total = hits["score"] + self.scoring.clip * reached
        first_diagonal = hits["position"] - first.astype(np.uint32)
        lines = Lines(hits, read_strand, begin, end, total, first_diagonal, last_diagonal, given)
        return lines.take(np.flatnonzero(hits["cigar_runs"] > 0))

    def _as_sequenced(self, read_strand: np.ndarray, first: np.ndarray, last: np.ndarray):
        m = self.lengths[read_strand >> 1].astype(np.int64)
        reverse = (read_strand & 1).astype(bool)
        return np.where(reverse, m - last, first), np.where(reverse, m - first, last)

    def _far(self, settled: Lines, primary: Lines) -> np.ndarray:
        """Reads to look into once more, bool[n]: without an alignment, or with much of them clipped."""
        far = np.ones(self.n, bool)
        far[settled.read] = False
        clipped = self.lengths[primary.read] - (primary.end - primary.begin)
        far[primary.read] = clipped >= FAR
        return far

    def _parts(self, places: Places) -> tuple[np.ndarray, np.ndarray]:
        """First and last base of the read as sequenced that a place aligns for certain, from its score."""
        last = places.rows.astype(np.int64)
        first = np.where(places.reached & 1, 0, np.maximum(0, last + -places.score // self.scoring.match))
        return self._as_sequenced(places.read_strand, first, last)

    def _supplementary(self, places: Places, primary: Lines) -> Lines:
        """Alignments of parts that better ones leave over, the best first."""
        places = places.take(places.score >= self.scoring.min_score)
        begin, end = self._parts(places)
        clipped = self.lengths[primary.read] - (primary.end - primary.begin)
        taken, found = primary.take(clipped >= FAR), [primary.take(slice(0))]
        of_read = np.full(self.n, -1, np.int64)
        free = np.ones(len(begin), bool)
        for _ in range(PARTS):
            of_read[:] = -1
            of_read[taken.read] = np.arange(len(taken.read))
            line = of_read[places.read]
            free &= (line >= 0) & ~_overlap(begin, end, _at(taken.begin, line), _at(taken.end, line))
            if not free.any():
                break
            lines = self._align(places.take(self._best(places, free)))
            keep = lines.hits["score"] >= self.scoring.min_score
            for before in (primary, *found):
                of_read[:] = -1
                of_read[before.read] = np.arange(len(before.read))
                line = of_read[lines.read]
                clash = _overlap(lines.begin, lines.end, *(_at(c, line) for c in (before.begin, before.end)))
                keep &= (line < 0) | ~clash
            taken = lines.take(keep)
            found.append(taken)
        return Lines.concatenate(found)

    # --- rivals, qualities, rows -----------------------------------------------------------------------------

    def _rivals(self, lines: Lines, places: Places) -> tuple[Rivals, Places]:
        """Of every line (one a read at most) the next best place for the same part of the read; and all of these."""
        of_read = np.full(self.n, -1, np.int64)
        of_read[lines.read] = np.arange(len(lines.read))
        places = places.take(of_read[places.read] >= 0)
        line = of_read[places.read]
        diagonal = places.diagonal.astype(np.int64)
        near = np.abs(diagonal - _at(lines.first_diagonal, line)) <= SAME_PLACE
        near |= np.abs(diagonal - _at(lines.last_diagonal, line)) <= SAME_PLACE
        near &= places.read_strand == _at(lines.read_strand, line)
        begin, end = self._parts(places)
        rival = ~near & _overlap(begin, end, _at(lines.begin, line), _at(lines.end, line))
        places, line = places.take(rival), line[rival]
        order = np.lexsort((places.diagonal, places.read_strand, -places.total, line))
        places, line = places.take(order), line[order]
        k = len(lines.read)
        result = Rivals(np.zeros(k, np.int32), np.full(k, NO_SUBOPTIMAL, np.int32), np.zeros(k, np.int64))
        first = np.flatnonzero(_rank(line) == 0)
        result.total[line[first]], result.score[line[first]] = places.total[first], places.score[first]
        equal = places.total == result.total[line]
        same = np.r_[False, (line[1:] == line[:-1]) & (places.read_strand[1:] == places.read_strand[:-1])]
        same[1:] &= np.diff(places.diagonal.astype(np.int64)) <= SAME_PLACE
        same[1:] &= equal[:-1]
        result.count[:] = np.bincount(line[equal & ~same], minlength=k)
        return result, places

    def _quality(
        self, lines: Lines, rivals: Rivals, far: np.ndarray, bonus: np.ndarray | int = 0
    ) -> np.ndarray:
        """Mapping qualities, uint8[k]. `bonus`: what a line's score gains over its rivals' for its mate.

        As for whole reads (select.mapping_quality), a difference in score counting as so many mismatches, and so a
        long gap as a few. Where no rival is known, one is assumed that the seeds would not have found: of a read that
        was looked into once more it has a mismatch in every stretch of a seed's length.
        """
        aligned = np.maximum(lines.end - lines.begin, 1)
        mismatch = self.scoring.match + self.scoring.mismatch
        edits = np.maximum(0, -(-(aligned * self.scoring.match - lines.hits["score"]) // mismatch))
        rate = np.clip((edits + 0.5) / aligned, MIN_ERROR_RATE, 0.5)
        known = rivals.count > 0
        unseen = np.where(far, np.maximum(1, aligned // (self._seed_length() + STRIDE - 1)), MARGIN + 1)
        total = lines.total + bonus
        worse = (total - rivals.total) / mismatch
        odds = rate / (np.where(known, 1, 3) * (1 - rate))
        wrong = np.where(known, rivals.count, 1) * odds ** np.maximum(np.where(known, worse, unseen), 0)
        bases = len(self.search.index.positions)
        wrong = wrong + _chance(aligned, edits, bases)
        quality = np.minimum(MAX_MAPQ, np.floor(-10 * np.log10(np.clip(wrong / (1 + wrong), 1e-9, 1))))
        quality[known & (rivals.total >= total)] = 0
        return quality.astype(np.uint8)

    def _secondary(self, rivals: Places, primary: Lines) -> Lines:
        """The next best places of each read, as many as were asked for and within the second-best strata."""
        least = np.zeros(self.n, np.int64)
        cost = self.scoring.match + self.scoring.mismatch
        least[primary.read] = primary.total - MARGIN * cost
        rivals = rivals.take(rivals.total >= least[rivals.read])
        return self._align(rivals.take(_rank(rivals.read) < self.search.params.max_hits - 1))

    def _report(self, settled: Lines, primary: Lines, supplementary: Lines, places: Places):
        """All rows in order: hits, summary, CIGARs."""
        summary, quality = self.summary, self.quality
        rivals, behind = self._rivals(primary, places)
        own = ((primary.hits["cigar_runs"] > 1) | ~primary.given) & ~self.decided[primary.read]
        quality[primary.read[own]] = self._quality(primary, rivals, self.far[primary.read])[own]
        self._pair_quality(primary, rivals)
        secondary = self._secondary(behind, primary)
        settled.hits["mapq"], primary.hits["mapq"] = quality[settled.read], quality[primary.read]
        supplementary.hits["mapq"] = self._part_quality(supplementary, places)
        groups = settled, primary, supplementary, secondary
        hits = np.concatenate([lines.hits for lines in groups])
        flags = 0, 0, FLAG_SUPPLEMENTARY, FLAG_SECONDARY
        hits["flag"] |= np.repeat(np.array(flags, np.uint16), [len(lines.read) for lines in groups])
        self._summarise(settled, primary, rivals, hits["read"])
        unmapped = np.flatnonzero(summary["best"] == NO_SCORE)
        quality[unmapped] = 0
        self.search.stats.count_reads(self.lengths, summary, quality)
        blank = np.zeros(unmapped.size, HIT)
        blank["read"], blank["flag"] = unmapped, FLAG_UNMAPPED
        hits = np.concatenate([hits, blank])
        hits = hits[np.argsort(hits["read"], kind="stable")]
        return hits, summary, np.concatenate([np.empty(0, np.uint32), *self.cigars])

    def _part_quality(self, lines: Lines, places: Places) -> np.ndarray:
        """Mapping qualities of supplementary alignments, of which a read may have several."""
        quality = np.zeros(len(lines.read), np.uint8)
        order = np.argsort(lines.read, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = _rank(lines.read[order])
        for i in range(PARTS):
            some = np.flatnonzero(rank == i)
            part = lines.take(some)
            rivals, _ = self._rivals(part, places)
            quality[some] = self._quality(part, rivals, np.ones(len(some), bool))
        return quality

    def _summarise(self, settled: Lines, primary: Lines, rivals: Rivals, read: np.ndarray) -> None:
        """Bring READ_SUMMARY up to date; `read` of all rows. `second` is known of settled reads only."""
        summary = self.summary
        summary["suboptimal"] = NO_SUBOPTIMAL
        tied = summary["n_best"][settled.read] > 1
        summary["suboptimal"][settled.read[tied]] = settled.hits["score"][tied]
        stays = np.zeros(self.n, bool)
        stays[settled.read] = True
        for name, value in (("best", NO_SCORE), ("second", NO_SCORE), ("n_best", 0), ("n_second", 0)):
            summary[name][~stays] = value
        ties = (rivals.total >= primary.total) & (rivals.count > 0)
        summary["best"][primary.read] = primary.hits["edits"]
        summary["n_best"][primary.read] = 1 + np.where(ties, rivals.count, 0)
        summary["n_second"][primary.read] = np.where(ties, 0, rivals.count)
        summary["suboptimal"][primary.read] = rivals.score
        summary["n_reported"] = np.bincount(read, minlength=self.n)


def _rank(sorted_ids: np.ndarray) -> np.ndarray:
    """Index of each row within its run of equal ids."""
    index = np.arange(len(sorted_ids))
    new = np.r_[True, sorted_ids[1:] != sorted_ids[:-1]] if len(sorted_ids) else np.empty(0, bool)
    return index - np.maximum.accumulate(np.where(new, index, 0)) if len(index) else index


def _at(column: np.ndarray, index: np.ndarray) -> np.ndarray:
    """`column[index]` as int64, 0 where the index is -1."""
    padded = np.append(column.astype(np.int64), 0)
    return padded[index]


def _overlap(begin, end, other_begin, other_end) -> np.ndarray:
    """Whether two stretches have at least half of the shorter one in common."""
    common = np.minimum(end, other_end) - np.maximum(begin, other_begin)
    return 2 * common >= np.minimum(end - begin, other_end - other_begin)

"""The search of reads and pairs in plain Python, which looks at every place and every window base by base.

It shares no code with the compiled stages. Genomes and reads to search are here, too.
"""

from __future__ import annotations

from collections import defaultdict

import brute_force as bf
import numpy as np

from gassst.model.layouts import NO_SCORE

LOW, HIGH = 150, 320  # template lengths
MARGIN = 2


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
        self.reverse, self.at, self.edits, self.beside = reverse, at, edits, NO_SCORE


class PlainPairs:
    """The search that docs/pipeline.md describes, of a batch, with sets and loops."""

    def __init__(self, text, borders, reads, mate, flip, insert_sizes, plan, pairs, most_places, given_up):
        self.text, self.borders, self.insert_sizes = text, borders, insert_sizes
        self.given_up, self.further = (
            given_up,
            0,
        )  # errors beyond the best with which another may be as likely
        self.reads, self.mate, self.flip = reads, mate, flip
        self.plan, self.pairs, self.most_places = plan, pairs, most_places
        self.oriented = [(read, bf.reverse_complement(read)) for read in reads]
        n = len(reads)
        self.best, self.limit = [NO_SCORE] * n, [int(plan.errors[len(read)]) for read in reads]
        self.looked, self.complete = [0] * n, [0] * n
        self.places: dict[int, list[PlainPlace]] = defaultdict(list)
        self.known: list[set] = [set() for _ in reads]
        self.tried: set[tuple[int, int]] = set()
        self.found: list[tuple[int, int, int, int]] = []
        self.scored = self.rescued = 0
        self.bands: dict[tuple[int, int, int], tuple[int, int]] = {}

    def other(self, r):
        return r + 1 if self.mate[r] == 1 else r - 1

    # seeds

    def anchors_of(self, r, stage):
        """(read strand, diagonal, first base, bases) of what seeds hit, by strand, the canonical one first."""
        m = len(self.reads[r])
        w, number, every = (
            int(of[stage, m]) for of in (self.plan.seed_length, self.plan.seed_count, self.plan.seed_every)
        )
        rows = []
        for reverse in (self.flip[r], 1 - self.flip[r]):
            read, covered = self.oriented[r][reverse], defaultdict(set)
            for j in range(0, number, every):
                offset = j * (m - w) // (number - 1) if number > 1 else (m - w) // 2
                offset = offset if reverse == self.flip[r] else m - w - offset
                at = self.text.find(read[offset : offset + w])
                while at >= 0:
                    covered[at - offset].add(offset)
                    at = self.text.find(read[offset : offset + w], at + 1)
            for diagonal, offsets in sorted(covered.items()):
                first = end = None
                for offset in [*sorted(offsets), 2 * m]:
                    if end is not None and offset > end:
                        rows.append((2 * r + reverse, diagonal, first, end - first))
                    first, end = (offset if end is None or offset > end else first), offset + w
        return rows

    # bands

    def band(self, read_strand, first, width):
        """Fewest errors of a read on these diagonals, and the leftmost on which such an alignment ends."""
        key = read_strand, first, width
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
                a.beside, b.beside = min(a.beside, b.edits), min(b.beside, a.edits)

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
            if not self.mate[r] or self.best[r] == NO_SCORE:
                continue
            other = self.other(r)
            if len(self.reads[other]) < self.pairs.shortest or not {r, other} & goes_on:
                continue
            places = [p for p in self.places[r] if p.edits == self.best[r]]
            if len(places) > self.most_places:
                continue
            for place in places:
                if place.beside > min(self.best[other], NO_SCORE - 1):
                    place.beside = 0
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

    # stages

    def run(self):
        """All stages. Returns the reads of each."""
        asked = []
        for stage in range(self.plan.MAX_STAGES):
            goes_on = {r for r in range(len(self.reads)) if self.needs(r, stage)}
            for r in range(len(self.reads)):
                mine = {key for key in self.tried if key[0] >> 1 == r}
                self.known[r] = self.known[r] | mine if r in goes_on else set()
            self.tried = set()
            if goes_on:
                asked.append((stage, sorted(goes_on)))
                self.run_stage(stage, goes_on)
        return asked

    def needs(self, r, stage):
        m, plan = len(self.reads[r]), self.plan
        wanted = min(self.best[r] + plan.preset.strata + self.further, int(plan.errors[m]) + 1)
        missed = plan.lost[0, stage, m]
        if self.mate[r] and self.best[self.other(r)] == NO_SCORE:
            missed = plan.lost[1, stage, m] * plan.lost[1, stage, len(self.reads[self.other(r)])]
        return (
            plan.seed_count[stage, m] > 0
            and not (self.best[r] == NO_SCORE and missed < self.given_up)
            and self.complete[r] < wanted
            and self.best[r] > plan.settled[stage, m] - self.further
        )

    def run_stage(self, stage, goes_on):
        anchors = {}
        for r in sorted(goes_on):
            m, every = len(self.reads[r]), int(self.plan.seed_every[stage, len(self.reads[r])])
            rows = self.anchors_of(r, stage)
            anchors[r] = [row for row in rows if (row[0], row[1] >> self.plan.shift) not in self.known[r]]
            self.looked[r] |= 1 << stage
            self.complete[r] = max(self.complete[r], -(-int(self.plan.disjoint[stage, m]) // every))
        self.score(self.best_supported(anchors))
        self.score(self.all_buckets(anchors))
        self.rescue(goes_on)

    def all_buckets(self, some):
        return {(row[0], row[1] >> self.plan.shift) for rows in some.values() for row in rows}

    def rescue(self, goes_on):
        self.rescued += self.score(self.windows(goes_on))


class PlainReads(PlainPairs):
    """Searches single reads in the same way; `narrow`: behind the narrow band of 32 diagonals."""

    def __init__(self, text, reads, flip, plan, given_up, narrow, further=0):
        super().__init__(text, [], reads, [0] * len(reads), flip, [], plan, None, 0, given_up)
        self.narrow, self.further = narrow, further
        self.candidates = self.entered = self.passed = 0

    def run_stage(self, stage, goes_on):
        anchors = {}
        for r in sorted(goes_on):
            m, every = len(self.reads[r]), int(self.plan.seed_every[stage, len(self.reads[r])])
            anchors[r] = [
                row
                for row in self.anchors_of(r, stage)
                if (row[0], row[1] >> self.plan.shift) not in self.known[r]
            ]
            self.candidates += len(anchors[r])
            self.looked[r] |= 1 << stage
            self.complete[r] = max(self.complete[r], -(-int(self.plan.disjoint[stage, m]) // every))
        self.score(self.best_supported(anchors))
        others = {r: [row for row in rows if not self.is_tried(row)] for r, rows in anchors.items()}
        self.entered += sum(map(len, others.values()))
        kept = {r: [row for row in rows if not self.rejects(r, row)] for r, rows in others.items()}
        self.passed += sum(map(len, kept.values()))
        self.score(self.all_buckets(kept))
        self.tried |= self.all_buckets(anchors)  # a bucket is looked at once, whether it is scored or not

    def is_tried(self, row):
        return (row[0], row[1] >> self.plan.shift) in self.tried

    def rejects(self, r, row):
        """Whether no alignment within the limit is in the narrow band, and none may leave it."""
        if not self.narrow or min(self.plan.gaps, self.limit[r]) > 15:
            return False
        return self.band(row[0], row[1] - 16, 32)[0] > self.limit[r]


def text_of(index, genome):
    """All contigs where the reference has them; nothing else there equals a base."""
    text = bytearray(b"-" * index.reference.total)
    for start, contig in zip(index.reference.starts.tolist(), genome.values(), strict=True):
        text[start : start + len(contig)] = contig
    return bytes(text)

"""What a batch with local ends reports, against plain Python, line by line."""

import math

import numpy as np
import pytest
from local_columns import Lines, Places
from rating import alike, lines_of, packed_of, rater, report_of

from gassst.index.miss_model import NO_SEEDS
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL
from gassst.model.params import MapParams, Scoring
from gassst.model.sam_flags import SECONDARY, SUPPLEMENTARY, UNMAPPED

READS, LENGTH, MATCH = 30, 100, 2
DIAGONALS = 4950 + np.array([0, 1, 9, 10, 11, 31, 60])


def random_places(rng, n) -> Places:
    """Crowded: many on one diagonal, many with one total. The last reads have none."""
    score = 10 * rng.integers(1, 5, n)
    read_strand = 2 * np.sort(rng.integers(0, READS - 2, n)) + rng.integers(0, 2, n)
    return Places(
        read_strand, np.full(n, 4900), np.full(n, 128), score, score + rng.choice([0, 5], n),
        rng.integers(0, 4, n), rng.integers(40, 100, n), rng.choice(DIAGONALS, n), rng.random(n) < 0.1,
    )  # fmt: skip


def random_lines(rng, reads, least=2) -> Lines:
    k = len(reads)
    begin = rng.integers(0, 50, k)
    lines = lines_of(reads, begin, begin + rng.integers(30, 50, k), 10 * rng.integers(least, 5, k))
    lines.hits["edits"], lines.hits["cigar_start"] = rng.integers(0, 9, k), rng.integers(0, 1 << 30, k)
    lines.hits["strand"] = rng.integers(0, 2, k)
    lines.rows["read_strand"] += lines.hits["strand"]
    lines.rows["total"] += rng.choice([0, 5], k)
    lines.rows["first_diagonal"] = rng.choice(DIAGONALS, k)
    lines.rows["low_diagonal"] = lines.rows["first_diagonal"]
    lines.rows["high_diagonal"] = lines.rows["first_diagonal"] + rng.choice([0, 3], k)
    lines.rows["last_diagonal"] = lines.rows["high_diagonal"]
    return lines


class World:
    """Two of three reads have a line, a third of these a further part, a sixth another one."""

    def __init__(self, seed, n, most, **options):
        rng = np.random.default_rng(seed)
        reads = rng.permutation(READS)[: 2 * READS // 3]
        self.primary = random_lines(rng, np.sort(reads))
        self.parts = random_lines(rng, np.sort(np.concatenate([reads[::3], reads[::6]])))
        self.places = random_places(rng, n)
        scoring = Scoring(match=MATCH, mismatch=3, min_score=20)
        self.params = MapParams(mode="local", max_hits=most, scoring=scoring, **options)
        given = rater([NO_SEEDS], alike(0.01)), packed_of([LENGTH] * READS), self.primary, self.places
        self.report = report_of(*given, self.parts, params=self.params)
        self.rng = rng
        # Line by line: those of a read one behind the other.
        lines = [(self.primary, i, 0) for i in range(len(reads))]
        lines += [(self.parts, i, i + 1) for i in range(len(self.parts.read))]
        self.lines = sorted(lines, key=lambda line: line[0].read[line[1]])

    def stretch(self, p, i):
        """Bases of the read as sequenced that a place aligns for certain."""
        end = int(p.strand_end[i])
        begin = 0 if p.reached[i] & 1 else max(0, end - math.ceil(p.score[i] / MATCH))
        return (LENGTH - end, LENGTH - begin) if p.read_strand[i] & 1 else (begin, end)

    def rivals(self, lines, row, p):
        """Rows of the places elsewhere for half of the same bases, the best first."""
        found, (a, b) = [], (int(lines.begin[row]), int(lines.end[row]))
        ends = int(lines.first_diagonal[row]), int(lines.last_diagonal[row])
        for i in np.flatnonzero(p.read == lines.read[row]).tolist():
            x, y = self.stretch(p, i)
            near = any(abs(int(p.diagonal[i]) - end) <= 10 for end in ends)
            same = near and p.read_strand[i] == lines.read_strand[row]
            if not same and 2 * (min(b, y) - max(a, x)) >= min(b - a, y - x):
                found.append(i)
        return sorted(found, key=lambda i: (-p.total[i], p.read_strand[i], p.diagonal[i], i))


def groups(rows, places) -> int:
    """How many places sorted rows are: neighbours that are ten diagonals apart or less are one."""
    keys = [(int(places.read_strand[i]), int(places.diagonal[i])) for i in rows]
    new = (a[0] != b[0] or b[1] - a[1] > 10 for a, b in zip(keys, keys[1:], strict=False))
    return bool(keys) + sum(new)


def summary_of(lines, row, rivals, places):
    """As X0, X1 and XS say it."""
    if not rivals:
        return lines.hits["edits"][row], NO_SCORE, 1, 0, NO_SUBOPTIMAL
    total, own = places.total[rivals[0]], lines.total[row]
    score = int(places.score[rivals[0]])
    count = groups([i for i in rivals if places.total[i] == total], places)
    counts = (1 + count, 0) if total >= own else (1, count)
    suboptimal = score if total > own else min(score, lines.hits["score"][row])
    return lines.hits["edits"][row], NO_SCORE, *counts, suboptimal


def without_reported(row):
    best, second, n_best, n_second, _, suboptimal, _ = row.tolist()
    return best, second, n_best, n_second, suboptimal


@pytest.mark.parametrize("n", [0, 30, 900])
def test_summaries_and_rows_without_next_best_places(n):
    world = World(n, n, 1)
    hits, table = world.report.rows()
    rated = world.report.rows()[1]["rating"]
    assert len(table) == len(rated) == READS + len(world.parts.read)
    expected, several = [], 0
    for lines, row, part in world.lines:
        hit, r = lines.hits[row].copy(), lines.read[row]
        where = READS + part - 1 if part else r
        hit["part"], hit["flag"] = part, SUPPLEMENTARY * (part > 0)
        hit["mapq"] = rated["mapq"][where]
        expected.append(hit)
        rivals = world.rivals(lines, row, world.places)
        assert without_reported(table[where]) == summary_of(lines, row, rivals, world.places)
        several += len(rivals) > 1
    assert n < 900 or several > len(world.lines) / 2
    mapped = {int(hit["read"]) for hit in expected}
    assert hits[hits["flag"] != UNMAPPED].tolist() == [hit.tolist() for hit in expected]
    assert hits["read"][hits["flag"] == UNMAPPED].tolist() == sorted(set(range(READS)) - mapped)
    assert (np.diff(hits["read"].astype(int)) >= 0).all()
    for r in range(READS):
        own = hits[hits["read"] == r]
        assert table["n_reported"][r] == (len(own) if r in mapped else 0)
        if r not in mapped:
            assert without_reported(table[r]) == (NO_SCORE, NO_SCORE, 0, 0, NO_SUBOPTIMAL)
            assert own.tolist() == [(r, 0, 0, 0, 0, UNMAPPED, 0, 0, 0, 0, 0)]


@pytest.mark.parametrize(
    "n, most, options", [(0, 3, {}), (30, 2, {}), (900, 3, {}), (900, 1, {"all_hits": True})]
)
def test_next_best_places_of_each_part(n, most, options):
    """Places that score enough, each for the first part that it is a rival of; then the best lines that are new."""
    world = World(n + most, n, most, **options)
    share = 0 if options else 0.8
    reads, least = world.report.least_listed()
    listed, of_part = world.report.further_places()
    taken, expected, scores = set(), [], {}
    for lines, row, part in world.lines:
        score = max(20, math.ceil(share * lines.hits["score"][row]))
        read = int(lines.read[row])
        scores[read] = min(score, scores.get(read, score))
        for i in world.rivals(lines, row, world.places):
            if i not in taken and world.places.score[i] >= score:
                expected.append((world.places.rows[i].tolist(), part))
            taken.add(i)
    assert list(zip(listed.tolist(), of_part.tolist(), strict=True)) == expected
    assert n < 900 or len(expected) > 30
    assert reads.tolist() == sorted(scores) and least.tolist() == [scores[r] for r in sorted(scores)]

    others = random_lines(world.rng, listed["read_strand"] >> 1, 1)
    others.hits["part"] = of_part
    world.report.add_further(others.hits, others.rows)
    hits, table = world.report.rows()
    dropped = 0
    for r in range(READS):
        known = [line[:2] for line in world.lines if line[0].read[line[1]] == r]
        own = [i for i in np.flatnonzero(others.read == r) if others.hits["score"][i] >= 20]
        own.sort(key=lambda i: (others.hits["part"][i], -others.total[i], i))
        counts, secondary = {}, []
        ranked = known + [(others, i) for i in own]
        clusters = clusters_of(ranked)
        for at, i in enumerate(own, len(known)):
            part = int(others.hits["part"][i])
            is_new = all(min(cluster) == at for cluster in clusters if at in cluster)
            dropped += not is_new
            wanted = 1 << 14 if options else most
            if is_new and counts.setdefault(part, 0) < wanted - 1:
                counts[part] += 1
                secondary.append(others.hits[i].copy())
                secondary[-1]["flag"] |= SECONDARY
        rows = hits[hits["read"] == r]
        assert rows[len(known) or 1 :].tolist() == [hit.tolist() for hit in secondary]
        assert table["n_reported"][r] == (len(known) + len(secondary) if known else 0)
    for lines, row, part in world.lines:
        rivals = world.rivals(lines, row, world.places)
        where = READS + part - 1 if part else lines.read[row]
        assert without_reported(table[where]) == summary_of(lines, row, rivals, world.places)
    assert n < 900 or dropped > 10


def clusters_of(lines):
    """Sets of ranks of lines, each of which begins or ends within ten diagonals of the next one's begin or end."""
    ends = sorted(
        (int(of.read_strand[i]), int(diagonal[i]), rank)
        for rank, (of, i) in enumerate(lines)
        for diagonal in (of.first_diagonal, of.last_diagonal)
    )
    clusters = []
    for j, (strand, diagonal, rank) in enumerate(ends):
        if j == 0 or ends[j - 1][0] != strand or diagonal - ends[j - 1][1] > 10:
            clusters.append(set())
        clusters[-1].add(rank)
    return clusters

"""Which parts a split read has (`LocalAligner.add_parts`), against plain Python, one read after the other."""

from types import SimpleNamespace

import numpy as np
from alignments import pack, planes_of, reverse_complement
from local_columns import Lines, Places, lines_at
from rating import aligner_of, batch_of, search_of

from gassst.model.layouts import OVER
from gassst.model.sam_flags import SUPPLEMENTARY

LEAST, READS = 30, 240


def pieces_of(rng, genome):
    """A read, and (strand, diagonal) of each of its pieces: up to five of anywhere, or two that share a diagonal."""
    reverse, at = rng.random() < 0.5, int(rng.integers(200, len(genome) - 400))
    if rng.random() < 0.3:
        read = genome[at : at + 150].copy()
        read[50 : 50 + rng.integers(30, 60)] = rng.integers(0, 4)
        return (reverse_complement(read) if reverse else read), [(reverse, at)]
    bases, placed = [], []
    for _ in range(rng.integers(2, 6)):
        length, at = int(rng.integers(25, 60)), int(rng.integers(200, len(genome) - 400))
        reverse = rng.random() < 0.5
        piece = genome[at : at + length]
        placed.append((reverse, at, sum(map(len, bases)), length))
        bases.append(reverse_complement(piece) if reverse else piece)
    read = np.concatenate(bases)
    return read, [(r, at - (len(read) - first - n if r else first)) for r, at, first, n in placed]


def overlap(a, b):
    return 2 * (min(a[1], b[1]) - max(a[0], b[0])) >= min(a[1] - a[0], b[1] - b[0])


def certain(place, m):
    """Bases of the read as sequenced that a place aligns for certain."""
    end = int(place["strand_end"])
    begin = 0 if place["reached"] & 1 else max(0, end - int(place["score"]))
    return (m - end, m - begin) if place["read_strand"] & 1 else (begin, end)


def best_beside(read, genome, place, line):
    """Scores and stretches of the best ungapped alignments on the diagonal of a place, before and behind a line."""
    m, found = len(read), []
    reverse = place["read_strand"] & 1
    strand = reverse_complement(read) if reverse else read
    own = (m - line[1], m - line[0]) if reverse else line
    for begin, end in ((0, own[0]), (own[1], m)):
        facing = genome[place["diagonal"] + begin : place["diagonal"] + end]
        sums = np.concatenate([[0], np.cumsum(np.where(strand[begin:end] == facing, 1, -4))])
        gain = sums[None, :] - sums[:, None]
        gain[np.tril_indices(len(sums))] = 0
        x, y = np.unravel_index(np.argmax(gain), gain.shape)
        x, y = begin + int(x), begin + int(y)
        found.append((int(gain.max()), (m - y, m - x) if reverse else (x, y)))
    return found


def test_parts_are_what_better_ones_leave_over():
    rng = np.random.default_rng(8)
    genome = rng.integers(0, 4, 30_016).astype(np.uint8)
    made = [pieces_of(rng, genome) for _ in range(READS)]
    reads, packed = [read for read, _ in made], pack([read for read, _ in made])
    contigs = SimpleNamespace(
        planes=planes_of(genome), starts=np.zeros(1, np.int64), lengths=np.array([len(genome)])
    )
    context = batch_of(packed, reference=contigs)
    aligner = aligner_of(context)
    search = search_of(context, aligner)
    columns = [(2 * i + strand, at) for i, (_, placed) in enumerate(made) for strand, at in placed]
    strands, diagonals = (np.array(column) for column in zip(*columns, strict=True))
    aligner.with_further(strands.astype(np.uint32), diagonals)
    places = Places.of(aligner.places)
    order = np.lexsort((-places.total, places.read))
    first = order[np.diff(places.read[order].astype(int), prepend=-1) > 0]
    primary = lines_at(aligner, places.take(first))
    far = rng.random(READS) < 0.9
    aligner.know(places.rows, primary.hits, primary.rows, far.view(np.uint8))
    search.report(True, np.zeros(READS, OVER))
    hits, table = aligner.rows()
    cigars, parts = aligner.cigars, hits[hits["flag"] & SUPPLEMENTARY > 0]
    assert parts["part"].tolist() == list(range(1, len(parts) + 1)) and len(table) == READS + len(parts)

    def stretch(hit):
        """Bases of the read as sequenced that a row aligns."""
        runs = [int(run) for run in cigars[hit["cigar_start"] :][: hit["cigar_runs"]]]
        begin, m = (runs[0] >> 4) * (runs[0] & 15 == 4), len(reads[hit["read"]])
        end = m - (runs[-1] >> 4) * (runs[-1] & 15 == 4)
        return (m - end, m - begin) if hit["strand"] else (begin, end)

    rounds = beside = 0
    for i, (read, _) in enumerate(made):
        m, mine = len(read), [hit for hit in parts if hit["read"] == i]
        line = (int(primary.begin[i]), int(primary.end[i]))
        if not far[i] or m - (line[1] - line[0]) < 20:
            assert not mine
            continue
        free = [row for row in np.flatnonzero(places.read == i) if places.score[row] >= LEAST]
        own, lines, left = list(free), [line], list(mine)
        while own := [row for row in own if not overlap(certain(places.rows[row], m), lines[-1])]:
            # Of equals the first: the hash of every read is 0.
            best = min(
                own, key=lambda row: (-places.total[row], places.read_strand[row], places.diagonal[row])
            )
            new: Lines = lines_at(aligner, places.take(np.array([best])))
            here = (int(new.begin[0]), int(new.end[0]))
            if any(overlap(here, other) for other in lines) or new.hits["score"][0] < LEAST:
                break
            hit = left.pop(0)
            assert (stretch(hit), hit["score"], hit["position"]) == (
                here, new.hits["score"][0], new.hits["position"][0],
            )  # fmt: skip
            lines.append(here)
            rounds += len(lines) > 2
        options = [one for row in free for one in best_beside(read, genome, places.rows[row], line)]
        options = [
            (score, here)
            for score, here in options
            if score >= LEAST and not any(overlap(here, other) for other in lines)
        ]
        assert len(left) == bool(options)
        if options:
            assert left[0]["score"] == max(options)[0]
            assert (left[0]["score"], stretch(left[0])) in options
            beside += 1
    assert rounds > 20 and beside > 20

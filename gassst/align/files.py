"""The best targets of each query, to a file: a table, PAF or SAM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO

import numpy as np
from numpy.typing import NDArray

from gassst.align.alphabets import DNA
from gassst.align.products import BLOCK_BYTES, Product
from gassst.align.scoring import Costs
from gassst.align.sequences import Sequences, reverse_complement
from gassst.align.traced import Alignments, trace
from gassst.errors import UsageError
from gassst.files.sam_header import program_line
from gassst.files.whole_file import whole_file
from gassst.version import __version__
from gassst.workers.tasks import Progress, is_device

ALIGNMENT_FORMATS = ("tsv", "paf", "sam")
COLUMNS = [
    "query",
    "query_begin",
    "query_end",
    "strand",
    "target",
    "target_begin",
    "target_end",
    "score",
    "cigar",
]
NO_MAPQ = 255


@dataclass(frozen=True)
class Choice:
    """Which alignments are written: of each query the `best` targets, of at least `min_score`."""

    best: int = 1
    min_score: int | None = None
    both_strands: bool = False


@dataclass(frozen=True)
class AlignmentRow:
    """One alignment: numbers of the sequences, its place among those of the query, and where it lies.

    Places of the query are those of the strand that is aligned.
    """

    query: int
    target: int
    rank: int
    reverse: bool
    score: int
    query_begin: int
    query_end: int
    target_begin: int
    target_end: int
    runs: NDArray[np.uint32]


class BestAlignments:
    """The best alignments of all queries, block by block; scores are those of a device where one is named."""

    def __init__(
        self,
        queries: Sequences,
        targets: Sequences,
        costs: Costs,
        choice: Choice,
        threads: int,
        device: str | None = None,
    ):
        self.queries, self.targets = queries, targets
        self.strands = [queries]
        if choice.both_strands:
            self.strands.append(reverse_complement(queries))
        self._costs, self._choice, self._threads, self._device = costs, choice, threads, device
        if is_device(device):
            from gassst.gpu.platforms import opened

            opened(str(device), threads)  # fails before anything is written

    def __call__(self, progress: Progress | None = None) -> Iterator[AlignmentRow]:
        """All hits, in the order of the queries, the best first; equal scores in the order of targets and strands."""
        whole = float(self.queries.lengths.sum())
        done = 0.0
        for first, last in self._blocks():
            share = float(self.queries.lengths[first:last].sum()) / whole
            yield from self._block(first, last, _part(progress, done, share))
            done += share

    def _blocks(self) -> Iterator[tuple[int, int]]:
        step = max(1, BLOCK_BYTES // (8 * len(self.strands) * len(self.targets)))
        for first in range(0, len(self.queries), step):
            yield first, min(first + step, len(self.queries))

    def _block(self, first: int, last: int, progress: Progress | None) -> Iterator[AlignmentRow]:
        n, strands = len(self.targets), len(self.strands)
        scores = np.empty((last - first, n * strands), np.int32)
        parts = [_slice(strand, first, last) for strand in self.strands]
        together = np.empty((len(parts) * (last - first), n), np.int32)
        self._score(_joined(parts), together, progress)
        for i in range(strands):
            scores[:, i::strands] = together[i * (last - first) : (i + 1) * (last - first)]
        row, column = self._chosen(scores)
        found = [
            trace(
                part,
                self.targets,
                self._costs,
                np.stack([row, column // strands], 1)[column % strands == i],
                self._threads,
            )
            for i, part in enumerate(parts)
        ]
        taken, rank, before = [0] * strands, 0, -1
        for q, strand in zip(row.tolist(), (column % strands).tolist(), strict=True):
            rank = rank + 1 if q == before else 0
            before = q
            yield _hit(found[strand], taken[strand], q + first, rank, strand == 1)
            taken[strand] += 1

    def _score(self, queries: Sequences, scores: NDArray[np.int32], progress: Progress | None) -> None:
        if is_device(self._device):
            from gassst.align.opencl import DeviceProduct

            product = DeviceProduct(queries, self.targets, self._costs, str(self._device), self._threads)
            product.run(scores, None, progress)
        else:
            Product(queries, self.targets, self._costs, self._threads).run(scores, progress)

    def _chosen(self, scores: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns of the best scores of each row, ordered by row, score and column."""
        keep = min(self._choice.best or scores.shape[1], scores.shape[1])
        best = np.argsort(-scores.astype(np.int64), axis=1, kind="stable")[:, :keep]
        row = np.repeat(np.arange(len(scores)), keep)
        column = best.reshape(-1)
        least = self._choice.min_score
        if least is not None:
            good = scores[row, column] >= least
            row, column = row[good], column[good]
        return row, column


def _hit(found: Alignments, i: int, query: int, rank: int, reverse: bool) -> AlignmentRow:
    query_begin, query_end = int(found.query_begin[i]), int(found.query_end[i])
    target_begin, target_end = int(found.target_begin[i]), int(found.target_end[i])
    ends = query_begin, query_end, target_begin, target_end
    return AlignmentRow(
        query, int(found.target[i]), rank, reverse, int(found.score[i]), *ends, found.runs_of(i)
    )


def _slice(sequences: Sequences, first: int, last: int) -> Sequences:
    start, end = int(sequences.offsets[first]), int(sequences.offsets[last])
    return replace(
        sequences,
        codes=sequences.codes[start:end],
        offsets=sequences.offsets[first : last + 1] - start,
        given_names=sequences.names[first:last],
        qualities=None,
    )


def _joined(parts: list[Sequences]) -> Sequences:
    """One behind the other: more of them fill a vector."""
    codes = [part.codes for part in parts]
    starts = np.cumsum([0, *map(len, codes)])
    offsets = [part.offsets[:-1] + start for part, start in zip(parts, starts[:-1], strict=True)]
    names = [name for part in parts for name in part.names]
    return Sequences(np.concatenate(codes), np.concatenate([*offsets, starts[-1:]]), names, parts[0].alphabet)


def _part(progress: Progress | None, start: float, size: float) -> Progress | None:
    return None if progress is None else lambda share: progress(start + size * share)


# --- formats ------------------------------------------------------------------------------------------------


def write_hits(
    hits: BestAlignments,
    path: str | os.PathLike[str],
    form: str,
    command_line: str = "",
    progress: Progress | None = None,
) -> int:
    """Write all hits in one of `ALIGNMENT_FORMATS`; returns how many. "-" is standard output.

    Raises OutputError, and UsageError for SAM of proteins or of targets that share a name.
    """
    header, line = _writers(hits, form, command_line)
    count = 0
    with whole_file(path) as file:
        _put(file, header)
        for hit in hits(progress):
            if not len(hit.runs) and (form != "sam" or hit.rank):
                continue  # nothing scores above 0: SAM says so once for each query
            _put(file, [line(hit)])
            count += 1
    return count


def check_format(queries: Sequences, targets: Sequences, form: str) -> None:
    """Raises UsageError where SAM cannot hold the alignments."""
    if form != "sam":
        return
    if queries.alphabet is not DNA:
        raise UsageError("SAM is for alignments of DNA; write .tsv or .paf")
    if len(set(targets.names)) < len(targets.names):
        raise UsageError("SAM needs a distinct name for each target; write .tsv or .paf")


def _put(file: IO[bytes], lines: Iterable[str]) -> None:
    file.write("".join(f"{line}\n" for line in lines).encode())


def _writers(
    hits: BestAlignments, form: str, command_line: str
) -> tuple[list[str], Callable[[AlignmentRow], str]]:
    if form == "tsv":
        return ["\t".join(COLUMNS)], lambda hit: _tsv_line(hits, hit)
    if form == "paf":
        return [], lambda hit: _paf_line(hits, hit)
    lengths = zip(hits.targets.names, hits.targets.lengths.tolist(), strict=True)
    header = [
        "@HD\tVN:1.6\tSO:unknown\tGO:query",
        *(f"@SQ\tSN:{name}\tLN:{n}" for name, n in lengths),
        program_line(__version__, command_line),
    ]
    return header, lambda hit: _sam_line(hits, hit)


def _cigar(runs: NDArray[np.uint32]) -> str:
    return "".join(f"{run >> 4}{'MID'[run & 15]}" for run in runs.tolist())


def _forward(hits: BestAlignments, hit: AlignmentRow) -> tuple[int, int]:
    """Begin and end on the query as it was given."""
    if not hit.reverse:
        return hit.query_begin, hit.query_end
    length = int(hits.queries.lengths[hit.query])
    return length - hit.query_end, length - hit.query_begin


def _tsv_line(hits: BestAlignments, hit: AlignmentRow) -> str:
    begin, end = _forward(hits, hit)
    fields = (hits.queries.names[hit.query], begin, end, "+-"[hit.reverse], hits.targets.names[hit.target])
    return "\t".join(
        map(str, (*fields, hit.target_begin, hit.target_end, hit.score, _cigar(hit.runs) or "*"))
    )


def _paf_line(hits: BestAlignments, hit: AlignmentRow) -> str:
    begin, end = _forward(hits, hit)
    matches, _ = _counts(hits, hit)
    query, target = hits.queries, hits.targets
    fields = (
        query.names[hit.query], int(query.lengths[hit.query]), begin, end, "+-"[hit.reverse],
        target.names[hit.target], int(target.lengths[hit.target]), hit.target_begin, hit.target_end,
        matches, int((hit.runs >> 4).sum()), NO_MAPQ, f"AS:i:{hit.score}", f"cg:Z:{_cigar(hit.runs)}",
    )  # fmt: skip
    return "\t".join(map(str, fields))


def _sam_line(hits: BestAlignments, hit: AlignmentRow) -> str:
    strand = hits.strands[hit.reverse]
    name, text = strand.names[hit.query], strand.text(hit.query)
    qualities = strand.qualities[hit.query] if strand.qualities else None
    quality = qualities.decode("ascii", "replace") if qualities else "*"
    if not len(hit.runs):
        return "\t".join((name, "4", "*", "0", "0", "*", "*", "0", "0", text, quality))
    _, edits = _counts(hits, hit)
    clips = [f"{n}S" if n else "" for n in (hit.query_begin, len(text) - hit.query_end)]
    flag = 16 * hit.reverse + 256 * (hit.rank > 0)
    fields = (
        name, flag, hits.targets.names[hit.target], hit.target_begin + 1, NO_MAPQ,
        f"{clips[0]}{_cigar(hit.runs)}{clips[1]}", "*", 0, 0, text, quality,
        f"NM:i:{edits}", f"AS:i:{hit.score}",
    )  # fmt: skip
    return "\t".join(map(str, fields))


def _counts(hits: BestAlignments, hit: AlignmentRow) -> tuple[int, int]:
    """Equal letters beside each other; and letters that differ or have none beside them."""
    query, target = hits.strands[hit.reverse][hit.query], hits.targets[hit.target]
    i, j, matches, edits = hit.query_begin, hit.target_begin, 0, 0
    for run in hit.runs.tolist():
        length, operation = run >> 4, run & 15
        if operation == 0:
            equal = int((query[i : i + length] == target[j : j + length]).sum())
            matches, edits = matches + equal, edits + length - equal
        else:
            edits += length
        i += length * (operation != 2)
        j += length * (operation != 1)
    return matches, edits

"""Stretches of an input, each of which is judged by its own reads: as many for any batches, workers and formats.

Stretch k of a file begins with the first template at or behind its read k * size. The first stretch of an input ends
earlier, with its head, from which a run learns. A batch is mapped as a whole, so each has whole stretches, and is
marked with where it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from gassst._core import reads as _reads
from gassst.frozen import frozen, replace
from gassst.model.read_batch import ReadBatch
from gassst.reads.streams import Unparsed


@frozen(eq=False)
class Stretches:
    """A batch of whole stretches; the last one of a file may be shorter.

    Attributes
    ----------
    batch : Unparsed
    before : int
        Reads of the file before it.
    size : int
        Reads of a stretch.
    head : int
        Reads at the beginning of this file that the run has learned its library from: they need not be whole.
    """

    batch: Unparsed
    before: int
    size: int
    head: int = 0

    def __len__(self) -> int:
        return len(self.batch)

    def parsed(self) -> ReadBatch:
        """The batch."""
        return self.batch.parsed()

    def bounds(self, batch: ReadBatch) -> list[int]:
        """Where the stretches of the parsed batch begin, and where the last one ends."""
        found = [0]
        while found[-1] < len(batch):
            at = self.before + found[-1]
            end = self.head if at < self.head else at // self.size * self.size + self.size
            found.append(between_templates(batch, min(end - self.before, len(batch))))
        return found

    def judged(self, batch: ReadBatch) -> list[tuple[int, int]]:
        """Where those of its stretches begin and end that the run has not learned its library from."""
        return list(pairwise(self.bounds(batch)))[int(self.before < self.head) :]


def whole_stretches(batches: Iterable[Unparsed], size: int, head: int) -> Iterator[Stretches]:
    """The reads of the batches in batches of whole stretches. Where they are such already, nothing is parsed here.

    Batches that are smaller are joined, except the first stretch of the input, its `head`.
    """
    held: list[Unparsed] = []  # reads of one file, from the beginning of a stretch
    before = 0
    for batch in batches:
        begins_at = getattr(batch, "begins_at", None)
        if begins_at is not None:
            if held:
                yield Stretches(joined(held), before, size, head)
            held, before = [], begins_at
            if getattr(batch, "lane", 0):
                head = 0
        elif held:  # what they end with is no whole stretch
            parsed = joined(held).parsed()
            end = before + len(parsed)
            cut = between_templates(parsed, (end // size * size or head) - before)
            if cut > 0:
                yield Stretches(parsed.part(0, cut), before, size, head)
                before += cut
            held = [parsed.part(max(cut, 0), len(parsed))] if cut < len(parsed) else []
        held.append(batch)
        end = before + sum(map(len, held))
        if end % size == 0 or end <= head:
            yield Stretches(joined(held), before, size, head)
            held, before = [], end
    if held:
        yield Stretches(joined(held), before, size, head)


def between_templates(batch: ReadBatch, at: int) -> int:
    """The place `at`, or, where it lies between two mates, that behind the second."""
    return at + int(0 < at < len(batch) and batch.mate is not None and batch.mate[at] == 2)


def spread(
    batch: ReadBatch, stretches: list[tuple[int, int]], most: int
) -> tuple[ReadBatch, np.ndarray, list[int]]:
    """About `most` reads of each stretch, or all, from everywhere in it: a library may end within.

    `stretches`: where they begin and end, in their order. Returns the reads, without names and qualities, which
    reads of the batch they are (int64[k]), and how many are from each.
    """
    of_reads = batch.bases, batch.offsets, batch.mate
    bases, offsets, mate, rows, numbers = _reads.spread(*of_reads, stretches, most)
    none = np.zeros(len(offsets), np.uint32)
    return ReadBatch(batch.names[:0], none, bases, None, offsets, mate=mate), rows, numbers


def joined(batches: Sequence[Unparsed]) -> Unparsed:
    """One batch of the reads of several, which are of one file."""
    if len(batches) == 1:
        return batches[0]
    parts = [batch.parsed() for batch in batches]
    first = parts[0]
    mates = None
    if any(part.mate is not None for part in parts):
        mates = np.concatenate([np.zeros(len(p), np.uint8) if p.mate is None else p.mate for p in parts])
    tags = tag_offsets = copies = quals = None
    if any(part.tags is not None for part in parts):
        tags = np.concatenate([p.tags for p in parts if p.tags is not None])
        tag_offsets = _joined_offsets(
            [np.zeros(len(p) + 1, np.uint32) if p.tag_offsets is None else p.tag_offsets for p in parts]
        )
    if first.copies is not None:
        copies = np.concatenate([part.copies for part in parts if part.copies is not None])
    if first.quals is not None:
        quals = np.concatenate([part.quals for part in parts if part.quals is not None])
    return replace(
        first,
        names=np.concatenate([part.names for part in parts]),
        name_offsets=_joined_offsets([part.name_offsets for part in parts]),
        bases=np.concatenate([part.bases for part in parts]),
        quals=quals,
        offsets=_joined_offsets([part.offsets for part in parts]),
        mate=mates,
        renamed=sum(part.renamed for part in parts),
        tags=tags,
        tag_offsets=tag_offsets,
        left_out=sum(part.left_out for part in parts),
        trimmed=sum(part.trimmed for part in parts),
        copies=copies,
    )


def _joined_offsets(parts: list[np.ndarray]) -> np.ndarray:
    """uint32[n + 1]: of arrays that lie one behind the other."""
    starts = np.cumsum([0, *(int(part[-1]) for part in parts)])
    ends = [part[1:].astype(np.int64) + start for part, start in zip(parts, starts[:-1], strict=True)]
    return np.concatenate([[0], *ends]).astype(np.uint32)

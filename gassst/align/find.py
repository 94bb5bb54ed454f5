"""`gassst.align.find`: all places of short patterns in a text of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.find import BETWEEN, LAST, MOST_LETTERS, Finder
from gassst.align.alphabets import DNA, NO_LETTER
from gassst.align.numbers import integer_from
from gassst.align.sequences import Sequences, each_text, read_sequences, reverse_complement
from gassst.align.traced import OPERATIONS
from gassst.errors import InputError, UsageError
from gassst.workers.tasks import ProgressBar, Task, run_all, thread_count

I64 = NDArray[np.int64]
BASES = "ACTG"  # by their codes in ext/pairwise/find.h
STANDS_FOR = dict(
    zip(
        DNA.letters,
        ("A", "C", "G", "T", "ACGT", "AG", "CT", "CG", "AT", "GT", "AC", "CGT", "AGT", "ACT", "ACG"),
        strict=True,
    )
)
# Letters of the words that are looked up. Longer ones lead to fewer places, and their tables leave the nearer caches:
# with 2 strands of 1, 20 and 100 patterns of 20 letters, k = 3, 9 letters take 45, 124 and 432 ms for 21 Mb, 10 letters
# 48, 92 and 225 ms, 11 letters 61, 103 and 334 ms.
SHORT_WORD, LONG_WORD, MOST_SHORT = 9, 10, 16
# A pattern whose words need a column of the matrix at more than half of all positions gets all columns.
MOST_SHARE = 0.5
SMALL_TEXT = 2e6  # letters times patterns: less work than the list of words
BATCH_LETTERS = 1 << 22  # of contigs that are searched together
BLOCK_LETTERS = 1 << 20  # of a task
BLOCK_EVENTS = 1 << 24  # of a task, where every position may be one
SMALL_WORK = 1e5  # letters of all tasks: well below a millisecond


class Place(NamedTuple):
    """A stretch of a contig that is within k edits of a pattern."""

    pattern: str
    contig: str
    start: int
    end: int
    """Letters `start` to `end` of the contig, from 0, half-open."""
    strand: str
    """"+", or "-" where the stretch is like the reverse complement of the pattern."""
    edits: int
    cigar: str
    """Along the contig: runs of = (the letter allows this base), X (it does not), I (a letter of the pattern alone) and
    D (a letter of the contig alone)."""


@dataclass(frozen=True, eq=False)
class Places:
    """Places of patterns, by contig, end, pattern and strand. Items are `Place`."""

    pattern: I64 = field(repr=False)
    contig: I64 = field(repr=False)
    """int64[n], indexes of the names."""
    start: I64 = field(repr=False)
    end: I64
    """int64[n], half-open, from 0."""
    reverse: NDArray[np.bool_] = field(repr=False)
    """bool[n], whether the reverse complement of the pattern lies there."""
    edits: NDArray[np.int32] = field(repr=False)
    """int32[n]."""
    runs: NDArray[np.uint32] = field(repr=False)
    """uint32[r], runs of all CIGARs as in BAM: length << 4 | operation."""
    run_start: I64 = field(repr=False)
    """int64[n + 1], where the runs of each begin."""
    pattern_names: list[str] = field(repr=False)
    contig_names: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, i: int) -> Place:
        """One place. Raises IndexError."""
        i = range(len(self))[i]
        return Place(
            self.pattern_names[self.pattern[i]],
            self.contig_names[self.contig[i]],
            int(self.start[i]),
            int(self.end[i]),
            "+-"[int(self.reverse[i])],
            int(self.edits[i]),
            self.cigar(i),
        )

    def __iter__(self) -> Iterator[Place]:
        return map(self.__getitem__, range(len(self)))

    def cigar(self, i: int) -> str:
        """The CIGAR of one, as `Place` says. Raises IndexError."""
        i = range(len(self))[i]
        runs = self.runs[self.run_start[i] : self.run_start[i + 1]].tolist()
        return "".join(f"{run >> 4}{OPERATIONS[run & 15]}" for run in runs)


def find(
    patterns: Any, text: Any, k: int, *, both_strands: bool = True, threads: int | None = None
) -> Places:
    """All places of short patterns in a text, within k edits: primers, barcodes, guides.

    An edit changes a letter, leaves one out or puts one in. E(j) is the fewest edits of the whole pattern with any
    stretch of a contig that ends at position j. `find` reports every local minimum of E that is at most k: the last
    position of a run with the same value. E is larger behind the run, or the contig ends. E is larger before it, too,
    or the run begins with the first E of at most k.

    The stretch is that of one path with E(j) edits. From its end backwards, the path prefers a pair of letters to a
    letter of the contig alone, and that to a letter of the pattern alone. The reverse complement of a pattern is
    another pattern, which is searched for in the direction of the contig. A pattern that equals its reverse complement
    is reported on both strands.

    Sassy reports the same ends on the forward strand. On the other one it takes the local minima of the first letters,
    where the rules above take those of the last ones.

    Codes of IUPAC in a pattern stand for their bases. In the text they and N equal nothing, not even N.

    Parameters
    ----------
    patterns : path, iterable, Sequences
        DNA of 1 to 64 letters each, as `read_sequences` takes them.
    text : path, iterable, Sequences
        Likewise, of any length. A file is read contig by contig.
    k : int
        The most edits, less than the letters of the shortest pattern.
    both_strands : bool
        Whether reverse complements of the patterns are searched for, too.
    threads : int, optional
        All cores by default. The result does not depend on it.

    Returns
    -------
    Places

    Raises
    ------
    UsageError
        For k and threads that are not as above, and what is not a sequence.
    InputError
        For a pattern of more than 64 letters, an empty sequence, a letter that is none of DNA, a damaged file.
    """
    search = Search(patterns, k, both_strands, thread_count(threads))
    parts: list[Places] = []
    search.run(text, parts.append)
    return _joined(parts, search)


class Search:
    """Patterns to be searched for.

    Parameters are those of `find`, and raise the same errors.
    """

    def __init__(self, patterns: Any, k: int, both_strands: bool = True, threads: int = 1):
        self.patterns = read_sequences(patterns, DNA, "patterns")
        self.k = _edits(k, self.patterns)
        self.contig_names: list[str] = []
        self.contig_lengths: list[int] = []
        self._threads = threads
        self._strands = 1 + both_strands
        strands = [self.patterns, reverse_complement(self.patterns)][: self._strands]
        self._n = (
            len(self.patterns) * self._strands
        )  # what the finder calls patterns: strand by strand of each
        self._allowed = np.zeros((self._n, MOST_LETTERS), np.uint8)
        for s, strand in enumerate(strands):
            for i in range(len(strand)):
                self._allowed[i * self._strands + s, : strand.lengths[i]] = _BITS[strand[i]]
        self._plain = self._finder()
        self._listed: Finder | None = None

    def run(self, text: Any, take: Callable[[Places], object]) -> None:
        """Search a text; places are handed on in order, some at a time, and `contig_names` and `contig_lengths` filled.

        Raises UsageError and InputError for the text, and what `take` raises.
        """
        done: dict[int, tuple[NDArray[Any], int]] = {}
        waiting: list[
            tuple[int, _Batch, Finder, int, bool]
        ] = []  # number of a task, its end, whether the batch ends
        last = np.zeros(self._n, LAST)

        def hand_on() -> None:
            while waiting and waiting[0][0] in done:
                number, batch, finder, end, is_last = waiting.pop(0)
                events, wrong = done.pop(number)
                if wrong >= 0:
                    raise batch.wrong_letter(wrong)
                minima = finder.minima(events, last, 1 << 62 if is_last else end)
                if len(minima):
                    take(self._places(batch, finder, minima))

        def tasks() -> Iterator[Task]:
            number = 0
            for batch in self._batches(text):
                finder = self._finder_of(len(batch.text))
                step = BLOCK_LETTERS
                if len(finder.everywhere):
                    step = min(step, max(1 << 14, BLOCK_EVENTS // len(finder.everywhere)))
                for begin in range(0, len(batch.text), step):
                    end = min(begin + step, len(batch.text))
                    waiting.append((number, batch, finder, end, end == len(batch.text)))
                    yield float(end - begin), partial(_search, finder, batch.text, begin, end, done, number)
                    number += 1
                    hand_on()

        run_all(tasks(), self._threads, self._stop, ProgressBar(None, 0), SMALL_WORK)
        hand_on()

    def _stop(self) -> None:
        self._plain.stop()
        if self._listed is not None:
            self._listed.stop()

    def _finder(self) -> Finder:
        word = SHORT_WORD if self._n <= MOST_SHORT else LONG_WORD
        lengths = np.repeat(self.patterns.lengths, self._strands).astype(np.int32)
        return Finder(self._allowed, lengths, self.k, word, _CODES, _IS_LETTER)

    def _finder_of(self, letters: int) -> Finder:
        """One that has a list of words, if it is worth its time."""
        if self._listed is None:
            if letters * self._n <= SMALL_TEXT:
                return self._plain
            self._listed = self._finder()
            self._listed.list_words(MOST_SHARE)
        return self._listed

    def _batches(self, text: Any) -> Iterator[_Batch]:
        """Contigs, short ones together: k + 1 bytes between them make any stretch across too dear."""
        parts: list[bytes] = []
        starts, size, between = [0], 0, BETWEEN * (self.k + 1)
        for name, contig in each_text(text, DNA, "text"):
            if parts and size + len(contig) > BATCH_LETTERS:
                yield self._batch(parts, starts)
                parts, starts, size = [], [0], 0
            if BETWEEN in contig:
                raise _wrong_letter(name, contig, contig.index(BETWEEN))
            self.contig_names.append(name)
            self.contig_lengths.append(len(contig))
            parts.append(contig)
            size += len(contig) + len(between)
            starts.append(size)
        yield self._batch(parts, starts)

    def _batch(self, parts: list[bytes], starts: list[int]) -> _Batch:
        first = len(self.contig_names) - len(parts)
        text = parts[0] if len(parts) == 1 else (BETWEEN * (self.k + 1)).join(parts)
        return _Batch(text, np.array(starts[:-1]), first, self.contig_names)

    def _places(self, batch: _Batch, finder: Finder, minima: NDArray[Any]) -> Places:
        minima = minima[np.lexsort((minima["pattern"], minima["end"]))]
        contig = batch.contig_of(minima["end"] - 1)
        origin = batch.starts[contig]
        begin, runs, run_start = finder.paths(batch.text, origin, minima)
        pattern = minima["pattern"].astype(np.int64)
        return Places(
            pattern // self._strands,
            contig + batch.first,
            begin - origin,
            minima["end"] - origin,
            pattern % self._strands == 1,
            minima["edits"].copy(),
            runs,
            run_start,
            self.patterns.names,
            self.contig_names,
        )


@dataclass(frozen=True, eq=False)
class _Batch:
    text: bytes
    starts: I64
    first: int
    names: list[str]
    """Names of all contigs; this batch has those from `first` on."""

    def contig_of(self, position: Any) -> Any:
        return np.searchsorted(self.starts, position, "right") - 1

    def wrong_letter(self, position: int) -> InputError:
        contig = int(self.contig_of(position))
        origin = int(self.starts[contig])
        return _wrong_letter(self.names[self.first + contig], self.text[origin:], position - origin)


def _wrong_letter(contig: str, text: bytes, at: int) -> InputError:
    return InputError(
        f"text: {chr(text[at])!r} at {at + 1} of contig {contig} is no letter of the DNA alphabet"
    )


def _search(
    finder: Finder,
    text: bytes,
    begin: int,
    end: int,
    done: dict[int, tuple[NDArray[Any], int]],
    number: int,
) -> None:
    done[number] = finder.search(text, begin, end)


def _edits(k: Any, patterns: Sequences) -> int:
    """A verified k, for patterns of verified lengths."""
    edits = integer_from(0, k)
    if edits is None:
        raise UsageError(f"k = {k!r}: an integer that is not negative is wanted")
    for i in (int(patterns.lengths.argmax()), int(patterns.lengths.argmin())):
        letters = int(patterns.lengths[i])
        if letters > MOST_LETTERS:
            raise InputError(
                f"patterns: {patterns.names[i]} has {letters:,} letters; {MOST_LETTERS} are the limit"
            )
        if letters <= edits:
            raise UsageError(
                f"k = {edits}: it must be less than the {letters} letters of pattern {patterns.names[i]}"
            )
    return edits


def _joined(parts: list[Places], search: Search) -> Places:
    def column(name: str, dtype: Any) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, dtype), *(getattr(part, name) for part in parts)])

    run_start = np.zeros(sum(map(len, parts)) + 1, np.int64)
    np.cumsum(
        np.concatenate([np.zeros(0, np.int64), *(np.diff(p.run_start) for p in parts)]), out=run_start[1:]
    )
    return Places(
        column("pattern", np.int64),
        column("contig", np.int64),
        column("start", np.int64),
        column("end", np.int64),
        column("reverse", np.bool_),
        column("edits", np.int32),
        column("runs", np.uint32),
        run_start,
        search.patterns.names,
        search.contig_names,
    )


_BITS = np.array(
    [sum(1 << BASES.index(base) for base in STANDS_FOR[letter]) for letter in DNA.letters], np.uint8
)
"""uint8[15], by the code of a letter in `DNA`: a bit for each of its bases."""
_IS_LETTER = (DNA.codes != NO_LETTER).astype(np.uint8)
_CODES = np.full(256, len(BASES), np.uint8)
for _code, _base in enumerate(BASES):
    _CODES[DNA.codes == DNA.letters.index(_base)] = _code

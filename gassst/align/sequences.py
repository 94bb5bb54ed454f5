"""Sequences as the kernels take them: codes of all in one array, and where each begins.

They come from lists of text, arrays of codes, records of pysam, dnaio or Biopython, or a FASTA or FASTQ file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gassst._core.pairwise import encode
from gassst.align.alphabets import DNA, NO_LETTER, Alphabet
from gassst.errors import InputError, UsageError
from gassst.files.fasta import bounded_line, fasta_stretches
from gassst.files.inflate import open_input

log = logging.getLogger("gassst")
MAX_LETTERS_EACH = (1 << 31) - 1
"""Of one sequence: places are int32."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of one alphabet, none of them empty."""

    codes: NDArray[np.uint8] = field(repr=False)
    """uint8[letters of all], codes of `alphabet`."""
    offsets: NDArray[np.int64] = field(repr=False)
    """int64[n + 1], where each begins in `codes`; the last is the number of letters."""
    given_names: list[str] | None = field(repr=False)
    """Of each; None where no sequence has any."""
    alphabet: Alphabet
    qualities: list[bytes | None] | None = field(default=None, repr=False)
    """Of each, as in FASTQ (Phred + 33); None where no sequence has any."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<Sequences: {len(self):,} of {self.alphabet.name}, {len(self.codes):,} letters>"

    def __getitem__(self, i: int) -> NDArray[np.uint8]:
        """Codes of one, uint8[letters]."""
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.codes[self.offsets[i] : self.offsets[i + 1]]

    @cached_property
    def names(self) -> list[str]:
        """Of each; its number, counted from 1, where it has none."""
        return list(map(str, range(1, len(self) + 1))) if self.given_names is None else self.given_names

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n], letters of each."""
        return np.diff(self.offsets)

    def text(self, i: int) -> str:
        """The letters of one."""
        return self.alphabet.decode(self[i])


def read_sequences(source: Any, alphabet: Alphabet, what: str = "sequences") -> Sequences:
    """The sequences of `source` as codes.

    Parameters
    ----------
    source : path, iterable, Sequences
        A str or a path names a FASTA or FASTQ file, compressed or not. Its records without letters are left out,
        with a warning. Items of an iterable are str, bytes, arrays of codes, (name, sequence) or (name, sequence,
        quality), or records with `sequence`, `query_sequence` or `seq`. An array uint8[n, length] is n sequences.
    alphabet : Alphabet
        Lower case is read as upper case.
    what : str
        The name of the source in messages, unless it is a file.

    Raises
    ------
    InputError
        When there is no sequence; for an empty one of an iterable, a letter outside the alphabet, and a file that is
        cut or damaged.
    UsageError
        For an item that is not a sequence.
    """
    if isinstance(source, Sequences):
        return _of_alphabet(source, alphabet, what)
    if isinstance(source, (list, tuple)) and source:
        at_once = encode(list(source), alphabet.codes_of_two, MAX_LETTERS_EACH)
        if at_once is not None:
            return Sequences(*at_once, None, alphabet)
    records, what = _records(source, alphabet, what)
    return _assembled(records, alphabet, what)


def each_text(source: Any, alphabet: Alphabet, what: str) -> Iterator[tuple[str, bytes]]:
    """Name and letters of each sequence of `source`, one after the other; a file is never held as a whole.

    Parameters and errors are those of `read_sequences`, but text is not looked at: it may hold other letters.
    """
    if isinstance(source, Sequences):
        source = _of_alphabet(source, alphabet, what)
        for i, name in enumerate(source.names):
            yield name, source.text(i).encode()
        return
    records, what = _records(source, alphabet, what)
    number = 0
    for number, (name, text, _) in enumerate(records, 1):
        where = _where(what, number, name)
        if not isinstance(text, bytes):
            text = alphabet.decode(_encoded(text, alphabet, where)).encode()
        _check_length(text, where)
        yield name or str(number), text
    if not number:
        raise InputError(f"{what}: no sequence")


def _of_alphabet(sequences: Sequences, alphabet: Alphabet, what: str) -> Sequences:
    if sequences.alphabet.letters != alphabet.letters:
        raise UsageError(f"{what}: letters are {sequences.alphabet.name}, the scores are for {alphabet.name}")
    return sequences


def _records(source: Any, alphabet: Alphabet, what: str) -> tuple[Iterator[_Record], str]:
    """The sequences in a file or an iterable, and what messages call them."""
    if isinstance(source, (bytes, bytearray)):
        raise UsageError(f"{what}: put a single sequence into a list: [sequence]")
    if isinstance(source, (str, os.PathLike)):
        if _is_sequence(source, alphabet):
            raise InputError(
                f"{what}: no file {str(source)[:20]!r}; put a single sequence into a list: [sequence]"
            )
        what = os.fspath(source)
        return _file_records(what), what
    if not isinstance(source, Iterable):
        raise UsageError(f"{what}: {type(source).__name__} is neither a path nor a list of sequences")
    return map(_record, source), what


def _is_sequence(source: Any, alphabet: Alphabet) -> bool:
    """Whether a str that should name a file is a sequence instead."""
    if not isinstance(source, str) or not source or os.path.exists(source):
        return False
    return NO_LETTER not in _bytes(source).translate(alphabet.codes.tobytes())


def reverse_complement(sequences: Sequences) -> Sequences:
    """The other strands of DNA, in the same order; qualities are turned round with them.

    Raises UsageError for another alphabet.
    """
    if sequences.alphabet is not DNA:
        raise UsageError(f"letters of the {sequences.alphabet.name} alphabet have no complement")
    codes = np.concatenate([COMPLEMENT[sequences[i][::-1]] for i in range(len(sequences))])
    qualities = sequences.qualities
    turned = None if qualities is None else [None if text is None else text[::-1] for text in qualities]
    return Sequences(codes, sequences.offsets, sequences.given_names, DNA, turned)


COMPLEMENT = np.array([DNA.letters.index(letter) for letter in "TGCANYRSWMKVHDB"], np.uint8)
"""uint8[15], by the code of a base."""

_Codes = bytes | NDArray[np.integer]
_Record = tuple[str, _Codes, bytes | None]


def _assembled(records: Iterable[_Record], alphabet: Alphabet, what: str) -> Sequences:
    names: list[str] = []
    parts: list[NDArray[np.uint8]] = []
    qualities: list[bytes | None] = []
    for number, (name, text, quality) in enumerate(records, 1):
        where = _where(what, number, name)
        parts.append(_encoded(text, alphabet, where))
        if quality is not None and len(quality) != len(text):
            raise InputError(f"{where}: {len(quality)} qualities for {len(text)} letters")
        names.append(name or str(number))
        qualities.append(quality)
    if not parts:
        raise InputError(f"{what}: no sequence")
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    any_quality = any(quality is not None for quality in qualities)
    return Sequences(np.concatenate(parts), offsets, names, alphabet, qualities if any_quality else None)


def _where(what: str, number: int, name: str) -> str:
    return f"{what}: sequence {number}" + (f" ({name})" if name else "")


def _check_length(text: _Codes, where: str) -> None:
    if not len(text):
        raise InputError(f"{where}: it is empty")
    if len(text) > MAX_LETTERS_EACH:
        raise InputError(f"{where}: {len(text):,} letters; {MAX_LETTERS_EACH:,} are the limit")


def _encoded(text: _Codes, alphabet: Alphabet, where: str) -> NDArray[np.uint8]:
    _check_length(text, where)
    if isinstance(text, bytes):
        codes: NDArray[np.uint8] = alphabet.codes[np.frombuffer(text, np.uint8)]
        at = int(codes.argmax())
        if codes[at] == NO_LETTER:
            raise InputError(
                f"{where}: {chr(text[at])!r} at {at + 1} is not a letter of the {alphabet.name} alphabet"
            )
        return codes
    if text.ndim != 1 or text.dtype.kind not in "iu":
        raise UsageError(f"{where}: codes are integers in one dimension")
    wrong = (text < 0) | (text >= len(alphabet))
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"{where}: code {text[at]} at {at + 1}; those of the {alphabet.name} alphabet end at {len(alphabet) - 1}"
        )
    return text.astype(np.uint8)


def _record(item: Any) -> _Record:
    """Name, sequence and quality of an item, by what it is or has."""
    if isinstance(item, tuple) and 2 <= len(item) <= 3 and isinstance(item[0], (str, bytes)):
        quality = _bytes(item[2]) if len(item) == 3 and item[2] is not None else None
        return _text(item[0]), _codes(item[1]), quality
    if isinstance(item, (str, bytes, bytearray, np.ndarray)):
        return "", _codes(item), None
    for sequence, name in _ATTRIBUTES:
        if hasattr(item, sequence):
            text = getattr(item, sequence)
            qualities = (getattr(item, quality, None) for quality in _QUALITIES)
            found = next((_bytes(text) for text in qualities if text is not None), None)
            return _text(getattr(item, name, None) or ""), _codes("" if text is None else text), found
    raise UsageError(f"{type(item).__name__} is not a sequence: text, codes or a record with one")


# Of records: pysam.AlignedSegment, dnaio and pysam.FastxRecord, Biopython.
_ATTRIBUTES = (("query_sequence", "query_name"), ("sequence", "name"), ("seq", "id"))
_QUALITIES = ("query_qualities_str", "qualities", "quality")


def _codes(text: Any) -> _Codes:
    if isinstance(text, np.ndarray):
        return text
    return _bytes(text if isinstance(text, (str, bytes, bytearray)) else str(text))


def _bytes(text: Any) -> bytes:
    # What is not ASCII becomes bytes that no alphabet has.
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)


def _text(name: str | bytes) -> str:
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name


# --- files --------------------------------------------------------------------------------------------------


def _file_records(path: str) -> Iterator[_Record]:
    empty = 0
    with open_input(path) as file:
        start = file.peek(1)[:1]  # type: ignore[attr-defined]
        if start not in (b">", b"@", b""):
            raise InputError(f"{path}: neither FASTA nor FASTQ: it begins with {start.decode('latin-1')!r}")
        for record in _fastq(file, path) if start == b"@" else _fasta(file, path) if start else ():
            if record[1]:
                yield record
            empty += not record[1]
    if empty:
        log.warning("%s: records without letters: %d; they are left out", path, empty)


def _fasta(file: IO[bytes], path: str) -> Iterator[_Record]:
    name = ""
    parts: list[bytes] = []
    for line, is_header, text in fasta_stretches(file, path):
        if is_header:
            if line > 1:
                yield name, b"".join(parts), None
            name, parts = _first_word(text[1:]), []
        else:
            parts.append(b"".join(text.split()))
    yield name, b"".join(parts), None


def _fastq(file: IO[bytes], path: str) -> Iterator[_Record]:
    number = 1
    while (header := bounded_line(file, path, number)).strip():
        sequence, plus, quality = (bounded_line(file, path, number + i).rstrip() for i in (1, 2, 3))
        if not header.startswith(b"@") or not plus.startswith(b"+"):
            raise InputError(f"{path}: record {number // 4 + 1} is not FASTQ of four lines")
        yield _first_word(header[1:]), sequence, quality
        number += 4


def _first_word(line: bytes) -> str:
    words = line.split(None, 1)
    return _text(words[0]) if words else ""

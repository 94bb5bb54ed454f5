"""The shapes in which Python programs hold reads, into (name, sequence, quality) as bytes.

Told by what an object has, so that none of the packages they come from is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

Text: TypeAlias = str | bytes | bytearray


class SequenceRecordLike(Protocol):
    """As `dnaio.SequenceRecord`."""

    @property
    def name(self) -> str: ...
    @property
    def sequence(self) -> str: ...
    @property
    def qualities(self) -> str | None: ...


class FastxRecordLike(Protocol):
    """As `pysam.FastxRecord`."""

    @property
    def name(self) -> str: ...
    @property
    def sequence(self) -> str: ...
    @property
    def quality(self) -> str | None: ...


class SeqRecordLike(Protocol):
    """As `Bio.SeqRecord.SeqRecord`."""

    @property
    def id(self) -> str | None: ...
    @property
    def seq(self) -> Any: ...
    @property
    def letter_annotations(self) -> Any: ...


Read: TypeAlias = (
    Text
    | tuple[Text, Text]
    | tuple[Text, Text, Text | None]
    | SequenceRecordLike
    | FastxRecordLike
    | SeqRecordLike
)
"""A read: a sequence; (name, sequence); (name, sequence, quality or None); or a record of dnaio, pysam or Biopython.

Qualities are ASCII, phred + 33. A sequence without a name is called by its number, from 1.
"""
Parts: TypeAlias = tuple[bytes, bytes, bytes | None]

SHAPES = "a sequence, (name, sequence[, quality]), or a record of dnaio, pysam or Biopython"
_TEXT = (str, bytes, bytearray)


def fields_of_read(read: Any, number: int, source: str = "reads") -> Parts:
    """Name, sequence and quality of the read with this number, from 1, of its source.

    Raises TypeError for what is none of the shapes of `Read`; it names number and type.
    """
    if isinstance(read, tuple | list):
        return _of_sequence(read, number, source)
    if isinstance(read, _TEXT):
        return str(number).encode(), _bytes(read), None
    sequence = getattr(read, "sequence", None)
    if sequence is not None and hasattr(read, "name"):
        quality = (
            getattr(read, "qualities", None) if hasattr(read, "qualities") else getattr(read, "quality", None)
        )
        return _typed((read.name, sequence, quality), read, number, source)
    if hasattr(read, "seq") and hasattr(read, "letter_annotations"):
        phred = read.letter_annotations.get("phred_quality")
        quality = None if phred is None else bytes([value + 33 for value in phred])
        return _typed((read.id, bytes(read.seq), quality), read, number, source)
    raise _unknown(type(read).__name__, number, source)


def each_parts(reads: Iterable[Any], source: str = "reads") -> Iterator[Parts]:
    """`fields_of_read` of every read. TypeError at once where `reads` is a text (a path or a sequence), an open file,
    or a set or dictionary.
    """
    if isinstance(reads, (*_TEXT, set, frozenset, Mapping)) or hasattr(reads, "readline"):
        raise TypeError(
            f"{source} is a {type(reads).__name__}, not an iterable of reads: map_file maps files by their paths"
        )
    return (fields_of_read(read, number, source) for number, read in enumerate(reads, 1))


def _of_sequence(read: Sequence[Any], number: int, source: str) -> Parts:
    if len(read) not in (2, 3):
        raise _unknown(f"{type(read).__name__} of {len(read)}", number, source)
    return _typed((read[0], read[1], read[2] if len(read) == 3 else None), read, number, source)


def _typed(parts: tuple[Any, Any, Any], read: Any, number: int, source: str) -> Parts:
    name, sequence, quality = parts
    if not isinstance(name, _TEXT) or not isinstance(sequence, _TEXT):
        raise _unknown(_types(read), number, source)
    if quality is not None and not isinstance(quality, _TEXT):
        raise _unknown(_types(read), number, source)
    return _bytes(name), _bytes(sequence), None if quality is None else _bytes(quality)


def _types(read: Any) -> str:
    if not isinstance(read, tuple | list):
        return type(read).__name__
    return f"{type(read).__name__} of {', '.join(type(part).__name__ for part in read)}"


def _unknown(what: str, number: int, source: str) -> TypeError:
    return TypeError(f"{source}: read {number} is a {what}, not {SHAPES}")


def _bytes(text: Text) -> bytes:
    if not isinstance(text, str):
        return bytes(text)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, as JSON may have it, is shown by its number
        return text.encode("utf-8", "backslashreplace")

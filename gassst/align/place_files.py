"""Places of patterns, to a file: a table, BED or SAM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np

from gassst.align.find import Places, Search
from gassst.align.sequences import reverse_complement
from gassst.errors import UsageError
from gassst.files.sam_header import program_line
from gassst.files.whole_file import whole_file
from gassst.version import __version__

PLACE_FORMATS = ("tsv", "bed", "sam")
COLUMNS = ["pattern", "contig", "start", "end", "strand", "edits", "cigar"]
NO_MAPQ = 255


def write_places(
    search: Search, text: Any, path: str | os.PathLike[str], form: str, command_line: str = ""
) -> int:
    """Write all places of a text in one of `PLACE_FORMATS`; returns how many. "-" is standard output.

    A table and BED are written as places are found. SAM is written at the end, the fewest edits of each pattern first,
    since its header lists the contigs; a pattern without a place has an unmapped record. Raises UsageError for SAM of
    contigs that share a name, OutputError, and what `Search.run` raises.
    """
    count = 0
    held: list[Places] = []
    with whole_file(path) as file:
        take: Callable[[Places], object] = held.append
        if form != "sam":
            line = _tsv_line if form == "tsv" else _bed_line
            if form == "tsv":
                _put(file, ["\t".join(COLUMNS)])

            def take(places: Places) -> None:
                nonlocal count
                count += len(places)
                _put(file, (line(places, i) for i in range(len(places))))

        search.run(text, take)
        if form == "sam":
            count = sum(map(len, held))
            _put(file, _sam_header(search, command_line))
            _put(file, _sam_lines(search, held))
    return count


def _put(file: IO[bytes], lines: Iterable[str]) -> None:
    for line in lines:
        file.write(f"{line}\n".encode())


def _tsv_line(places: Places, i: int) -> str:
    return "\t".join(map(str, places[i]))


def _bed_line(places: Places, i: int) -> str:
    place = places[i]
    return f"{place.contig}\t{place.start}\t{place.end}\t{place.pattern}\t{place.edits}\t{place.strand}"


def _sam_header(search: Search, command_line: str) -> Iterator[str]:
    if len(set(search.contig_names)) < len(search.contig_names):
        raise UsageError("SAM needs a name of its own for each contig; write .tsv or .bed")
    yield "@HD\tVN:1.6\tSO:unknown\tGO:query"
    for name, length in zip(search.contig_names, search.contig_lengths, strict=True):
        yield f"@SQ\tSN:{name}\tLN:{length}"
    yield program_line(__version__, command_line)


def _sam_lines(search: Search, parts: list[Places]) -> Iterator[str]:
    strands = search.patterns, reverse_complement(search.patterns)
    whole = np.zeros(0, np.int64)
    parts_of = np.concatenate([whole, *(np.full(len(part), i) for i, part in enumerate(parts))])
    indexes = np.concatenate([whole, *(np.arange(len(part)) for part in parts)])
    patterns = np.concatenate([whole, *(part.pattern for part in parts)])
    edits = np.concatenate([whole, *(part.edits for part in parts)])
    order = np.lexsort((edits, patterns))  # stable: equals stay in the order of the text
    part, index, pattern = parts_of[order].tolist(), indexes[order].tolist(), patterns[order].tolist()
    at = 0
    for p, name in enumerate(search.patterns.names):
        if at == len(pattern) or pattern[at] != p:
            yield "\t".join((name, "4", "*", "0", "0", "*", "*", "0", "0", strands[0].text(p), "*"))
        is_first = True
        while at < len(pattern) and pattern[at] == p:
            places, i = parts[part[at]], index[at]
            place, reverse = places[i], bool(places.reverse[i])
            flag = 16 * reverse + 256 * (not is_first)
            fields = (
                name, flag, place.contig, place.start + 1, NO_MAPQ, place.cigar, "*", 0, 0,
                strands[reverse].text(p), "*", f"NM:i:{place.edits}",
            )  # fmt: skip
            yield "\t".join(map(str, fields))
            is_first, at = False, at + 1

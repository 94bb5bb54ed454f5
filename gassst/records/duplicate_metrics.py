"""The metrics of duplicates in the format of Picard's MarkDuplicates, which MultiQC and others read.

The columns and their meaning are those of Picard's `DuplicationMetrics`. Its histogram says how many sets of pairs are
so large, with and without their optical duplicates, and by how much more coverage would grow with more sequencing.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gassst.files.destination import Destination
from gassst.records.duplicates import DuplicateCounts
from gassst.records.options import DuplicateRules
from gassst.records.unmapped import FileBeside, UnmappedText
from gassst.version import __version__

if TYPE_CHECKING:
    from gassst.records.coverage import Covered

COLUMNS = (
    "LIBRARY",
    "UNPAIRED_READS_EXAMINED",
    "READ_PAIRS_EXAMINED",
    "SECONDARY_OR_SUPPLEMENTARY_RDS",
    "UNMAPPED_READS",
    "UNPAIRED_READ_DUPLICATES",
    "READ_PAIR_DUPLICATES",
    "READ_PAIR_OPTICAL_DUPLICATES",
    "PERCENT_DUPLICATION",
    "ESTIMATED_LIBRARY_SIZE",
)
MOST_COVERAGE = 100  # the histogram tells of up to so many times the sequencing


def library_size(pairs: int, unique: int) -> int | None:
    """How many different molecules a library holds, of which `pairs` were drawn and `unique` are different.

    Lander and Waterman's equation, as Picard and samtools solve it: with X molecules, unique / X = 1 - exp(-pairs / X).
    Optical duplicates are drawn once: they do not count. None where there are no duplicates to judge by.
    """
    if not 0 < unique < pairs:
        return None
    low, high = float(unique), 2.0 * unique
    while high * -math.expm1(-pairs / high) < unique:
        high *= 2
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return int(middle)
        if middle * -math.expm1(-pairs / middle) < unique:
            low = middle
        else:
            high = middle


def metrics_text(counts: DuplicateCounts) -> str:
    """The file for these counts. Libraries without reads are left out, unless there is no other."""
    lines = [
        "## htsjdk.samtools.metrics.StringHeader",
        f"# gassst map --markdup (gassst {__version__}), by the rules of samtools markdup, in the format of Picard",
        "",
        "## METRICS CLASS\tpicard.sam.DuplicationMetrics",
        "\t".join(COLUMNS),
        *(
            _row(counts, i)
            for i in range(len(counts.names))
            if counts.examined[i].any() or len(counts.names) == 1
        ),
        "",
    ]
    return "\n".join([*lines, *_histogram(counts), ""])


def _row(counts: DuplicateCounts, i: int) -> str:
    pairs, singles, not_primary, unmapped = counts.examined[i].tolist()
    marked_pairs, marked_singles, optical = counts.marked[i].tolist()
    examined = singles + 2 * pairs
    share = (marked_singles + 2 * marked_pairs) / examined if examined else 0
    size = library_size(pairs - optical, pairs - marked_pairs)
    numbers = singles, pairs, not_primary, unmapped, marked_singles, marked_pairs, optical
    return "\t".join(
        [counts.names[i], *map(str, numbers), _decimal(share), "" if size is None else str(size)]
    )


def _decimal(value: float) -> str:
    """Up to six decimals, as Picard writes them."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _histogram(counts: DuplicateCounts) -> Iterator[str]:
    """Of all libraries together; the growth of coverage only where there is one with an estimated size."""
    pairs, optical = int(counts.examined[:, 0].sum()), int(counts.marked[:, 2].sum())
    unique = pairs - int(counts.marked[:, 0].sum())
    alone = pairs - sum(n * number for (n, _), number in counts.sizes.items())
    every, with_optical, without = Counter({1: alone}), Counter[int](), Counter({1: alone})
    for (n, n_optical), number in counts.sizes.items():
        every[n] += number
        without[n - n_optical] += number
        if n_optical:
            with_optical[n_optical + 1] += number
    size = library_size(pairs - optical, unique) if (counts.examined[:, 0] > 0).sum() == 1 else None
    tables: dict[str, dict[int, str]] = {}
    if size is not None:
        growth = {n: -math.expm1(-n * pairs / size) * size / unique for n in range(1, MOST_COVERAGE + 1)}
        tables["CoverageMult"] = {n: _decimal(value) for n, value in growth.items()}
    for name, sets in (("all_sets", every), ("optical_sets", with_optical), ("non_optical_sets", without)):
        if found := {n: str(number) for n, number in sets.items() if number}:
            tables[name] = found
    if tables:
        yield "## HISTOGRAM\tjava.lang.Double"
        yield "\t".join(["set_size" if size is None else "BIN", *tables])
    for n in sorted({n for table in tables.values() for n in table}):
        yield "\t".join([f"{n}.0", *(table.get(n, "0") for table in tables.values())])
    yield ""


class MetricsFile:
    """A file of metrics, a `FileBeside`; `counts` are complete when it is closed.

    Raises OutputError when it cannot be written: at once, if it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], counts: DuplicateCounts):
        self._counts = counts
        self._destination = Destination(path)
        self._fd: int | None = self._destination.open()

    def write(self, text: UnmappedText, covered: Covered | None) -> None:
        """Nothing yet."""

    def close(self) -> None:
        assert self._fd is not None, "written before"
        fd, self._fd = self._fd, None
        with self._destination.errors(), os.fdopen(fd, "wb") as file:
            file.write(metrics_text(self._counts).encode())

    def commit(self) -> None:
        self._destination.commit()

    def discard(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._destination.discard()


def metrics_files(rules: DuplicateRules, counts: DuplicateCounts) -> list[FileBeside]:
    """The file that the rules ask for, or none. Raises OutputError."""
    return [] if rules.metrics_path is None else [MetricsFile(rules.metrics_path, counts)]

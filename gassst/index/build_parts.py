"""An index in parts is built and written part by part: memory for the seeds of one part is enough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np

from gassst.errors import OutputError, UsageError
from gassst.files.whole_file import whole_file
from gassst.index.file import (
    PARTS_VERSION,
    SEED_ARRAYS,
    cut_bases,
    map_sections,
    typed_arrays,
    write,
)
from gassst.index.parts import IndexPart, part_path, replacing
from gassst.index.seed_index import (
    Counted,
    IndexSource,
    SeedIndex,
    Sized,
    Told,
    bytes_of_seeds,
    json_section,
    reference_sections,
    share_sorted,
)
from gassst.model.array_types import NDArray
from gassst.model.reference import Reference
from gassst.version import __version__

MAX_PARTS = 256
"""There are no more k-mers that differ in their first four bases."""


def build_parts(
    reference: Reference | str | os.PathLike[str],
    path: str | os.PathLike[str],
    parts: int | None = None,
    memory: int | None = None,
    threads: int | None = None,
    alt: str | os.PathLike[str] | None = None,
    step: int | None = None,
    told: Told | None = None,
    sized: Sized | None = None,
    rename: bool = False,
    circular: Sequence[str] = (),
) -> SeedIndex:
    """Index a reference, and write the index in parts of about equal size: `path`, and `part_path` of each.

    Parameters
    ----------
    reference, threads, alt, step, told, sized, rename, circular
        As for `SeedIndex.build`.
    path : path
        Of the index. It holds the reference, 3 bits per base, and is what runs are given.
    parts : int, optional
        How many, 1 to 256. There may be fewer, as seeds that begin with the same four bases stay together.
    memory : int, optional
        In place of `parts`: most bytes of a part, on average.

    Returns
    -------
    SeedIndex
        The index, opened. Peak memory is the reference and one part.

    Raises OutputError where a file cannot be written; none of them then takes its name. Else as `SeedIndex.build`, and
    UsageError for a number of parts out of range. Parts of an index that was there before are replaced or removed.
    """
    name = os.fspath(path)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):
        raise OutputError(f"{name}: not a regular file")
    if parts is not None and not 1 <= parts <= MAX_PARTS:
        raise UsageError(f"parts: {parts} is not from 1 to {MAX_PARTS}")
    source = IndexSource.of(reference, threads, alt, step, told, rename, circular)
    k, step, reference = source.k, source.step, source.reference
    cut = cut_bases(k, step, reference.total)
    counted = Counted.of(reference, k, source.threads, step, least=cut)
    sizes = counted.counts.sum(axis=0, dtype=np.int64).reshape(4**cut, -1)
    total = bytes_of_seeds(k, step, int(sizes.sum()))
    if parts is None:
        parts = -(-total // max(memory or total, 1))
        if parts > MAX_PARTS:
            raise UsageError(f"parts: {total:,} bytes make more than {MAX_PARTS} of {memory:,} bytes")
    cuts = _cuts(sizes.sum(axis=1), parts)
    if sized is not None:
        sized(*source.size(total, -(-total // (len(cuts) - 1))))
    prefixes, kmers = sizes.shape[1], 4 ** (k - cut)
    rows, built = list[list[int]](), list[IndexPart]()
    with ExitStack() as names, ExitStack() as stack:
        manifest = stack.enter_context(whole_file(name))  # the last to take its name
        for number, (first, last) in enumerate(zip(cuts[:-1], cuts[1:], strict=True), 1):
            shares = first * prefixes / sizes.size, last * prefixes / sizes.size
            arrays = counted.sorted(first * prefixes, last * prefixes, share_sorted(told, *shares))
            fields = {"program": f"gassst {__version__}", "part": number, "k": k, "step": step}
            sections = {"metadata": json_section(fields), **dict(zip(SEED_ARRAYS, arrays, strict=True))}
            file = stack.enter_context(whole_file(part_path(name, number)))
            header_crc = write(file, sections, PARTS_VERSION)
            rows.append([first * kmers, last * kmers, len(arrays[1]), header_crc])
            built.append(_read_back(file, reference, k, step, rows[-1]))
        more = {"parts": rows}
        sections = reference_sections(reference, k, step, source.fasta_bytes, **more)
        seeds = SeedIndex(reference, k, *counted.sorted(0, 0), step=step, parts=tuple(built))
        sections["spectrum"] = seeds.spectrum.shares
        header_crc = write(manifest, sections, PARTS_VERSION)
        names.enter_context(replacing(name, len(rows)))
        stack.close()  # the files take their names
        return SeedIndex.open(name, check=False).trust(header_crc)


def _read_back(file: IO[bytes], reference: Reference, k: int, step: int, row: list[int]) -> IndexPart:
    """A part that was written, mapped into memory; `row` as `Metadata.parts` has it."""
    file.flush()
    with os.fdopen(os.dup(file.fileno()), "rb") as again:
        again.seek(0)
        sections = map_sections(again, "index").sections
    array = typed_arrays(sections, SEED_ARRAYS, step, "index")
    table, positions, following = (array[name] for name in SEED_ARRAYS)
    kmers = row[0], row[1]
    return IndexPart(reference, k, step, kmers, table, positions, following, "index", None, ())


def _cuts(sizes: NDArray[np.int64], parts: int) -> list[int]:
    """Where to cut, int[p + 1] from 0 to len(sizes), so that no part is empty and all are about equal."""
    ends = np.cumsum(sizes)
    wanted = ends[-1] * np.arange(1, parts) / parts
    before = np.concatenate([[0], ends])
    right = np.searchsorted(before, wanted)
    nearer = right - (wanted - before[right - 1] < before[right] - wanted)
    filled = np.flatnonzero(sizes)
    inside = np.unique(nearer[(nearer > filled[0]) & (nearer <= filled[-1])])
    # Two cuts with nothing between them are one.
    inside = inside[np.unique(before[inside], return_index=True)[1]]
    return [0, *inside.tolist(), len(sizes)]

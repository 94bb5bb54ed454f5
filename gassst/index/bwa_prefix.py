"""What a name stands for where bwa wants the prefix of its index: a FASTA, an index, or what bwa's own files hold."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import numpy as np

from gassst.errors import InputError
from gassst.index.choice import SUFFIX, index_path, keep_index
from gassst.index.reference_files import FASTA_SUFFIXES

log = logging.getLogger("gassst")


def reference_at(prefix: str, threads: int) -> str:
    """The FASTA or index with this name or this prefix, as `load_index` takes it.

    Where bwa's index alone is there (`.pac` and `.ann`), the reference is read from it, and an index is made next to
    it. Raises InputError where there is none of these.
    """
    packed = ("", ".gz")
    fastas = (f"{prefix}{suffix}{end}" for suffix in FASTA_SUFFIXES for end in packed)
    for path in (prefix, *fastas, f"{prefix}{SUFFIX}"):
        if os.path.exists(path) and not os.path.isdir(path):
            return path
    if not os.path.isfile(f"{prefix}.pac"):
        raise InputError(f"{prefix}: no such FASTA, and no index of gassst or bwa has this prefix")
    beside = index_path(prefix)
    if not (os.path.isfile(beside) and os.stat(beside).st_mtime_ns >= os.stat(f"{prefix}.pac").st_mtime_ns):
        from gassst.index.seed_index import alt_list
        from gassst.model.reference import Reference

        reference = Reference.from_sequences(_contigs(prefix), f"{prefix}.pac")
        alt = alt_list(prefix)
        reference = reference if alt is None else reference.with_alt(alt)
        keep_index(reference, f"{prefix}.pac", beside, threads)
    return beside


def _contigs(prefix: str) -> Iterator[tuple[str, bytes]]:
    """Name and sequence of each contig of an index of bwa. Raises InputError.

    `.pac` has two bits per base, four bases per byte from the highest bits on, `.ann` the names and lengths, and `.amb`
    the stretches of other letters.
    """
    try:
        with open(f"{prefix}.ann") as ann, open(f"{prefix}.amb") as amb:
            rows = [line.split() for line in ann][1:]
            holes = [line.split() for line in amb][1:]
        packed = np.fromfile(f"{prefix}.pac", np.uint8)
        contigs = [
            (name[1], int(start), int(length))
            for name, (start, length, *_) in zip(rows[::2], rows[1::2], strict=True)
        ]
        ambiguous = [(int(start), int(length), letter) for start, length, letter in holes]
        if contigs and sum(contigs[-1][1:]) > 4 * len(packed):
            raise ValueError("too short")
    except (OSError, ValueError, IndexError) as error:
        raise InputError(
            f"{prefix}.pac: not the index of bwa that {prefix}.ann describes ({error})"
        ) from None
    for name, start, length in contigs:
        stretch = packed[start // 4 : -(-(start + length) // 4)]
        codes = (stretch[:, None] >> np.array([6, 4, 2, 0], np.uint8) & 3).ravel()
        letters = np.frombuffer(b"ACGT", np.uint8)[codes[start % 4 : start % 4 + length]].copy()
        for begin, size, letter in ambiguous:
            if start <= begin < start + length:
                letters[begin - start : begin - start + size] = ord(letter)
        yield name, letters.tobytes()

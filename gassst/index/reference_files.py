"""Where the FASTA of an index lies."""

from __future__ import annotations

import os

FASTA_SUFFIXES = (".fa", ".fasta", ".fna", ".fas")


def fasta_beside(index: str, size: int) -> str | None:
    """The FASTA of so many bytes from which an index has its name: ref.fa or ref.fa.gz of ref.gsi."""
    root = os.path.splitext(index)[0]
    for path in (f"{root}{suffix}{packed}" for suffix in (*FASTA_SUFFIXES, "") for packed in ("", ".gz")):
        if os.path.isfile(path) and os.path.getsize(path) == size:
            return path
    return None


def as_uri(path: str) -> str | None:
    """A path as the tag UR has it, and as samtools writes it; None where a header cannot hold it."""
    whole = os.path.abspath(path)
    return whole if whole.isascii() and whole.isprintable() else None

"""How large the inputs of a run are, before any of them is read."""

from __future__ import annotations

from collections.abc import Iterable

from gassst.files.inflate import MAGIC_SIZE, format_of
from gassst.files.input_progress import size_of

COMPRESSION = 3
"""FASTQ by FASTQ.gz with 40 levels of quality, BAM alike; with four or eight levels it is 5."""


def fastq_bytes(paths: Iterable[str]) -> int | None:
    """About how large these inputs are as uncompressed FASTQ; None where one is a stream, or cannot be read."""
    total = 0
    for path in paths:
        size = size_of(path)
        if size is None:
            return None
        try:
            with open(path, "rb", buffering=0) as file:
                head = file.read(MAGIC_SIZE)
        except OSError:  # the run says what is wrong with it
            return None
        is_compressed = format_of(head) is not None or head.startswith(b"CRAM")
        total += size * COMPRESSION if is_compressed else size
    return total

"""Reads of SAM, BAM and CRAM. A first byte of "b" means that the rest is BAM before its compression."""

import os
from contextlib import closing
from pathlib import Path

import gassst.files.htslib  # noqa: F401 - before the compiled module that links its htslib
from gassst._core.alignment_text import AlignmentReader
from gassst.files import bgzf
from gassst.files.quiet import QuietHtslib

QuietHtslib.enter()


def as_bgzf(data: bytes) -> bytes:
    return b"".join(bgzf.blocks(data, bgzf.deflater(1))) + bgzf.END_OF_FILE


def one(data: bytes, folder: Path) -> bool:
    path = folder / "x.sam"
    path.write_bytes(as_bgzf(data[1:]) if data[:1] == b"b" else data)
    try:
        with closing(AlignmentReader(os.open(path, os.O_RDONLY), str(path))) as reader:
            reader.starts_paired()
            while reader.read(8, 1 << 16)[1]:
                pass
    except (OSError, ValueError):
        return False
    return True

"""The share of the input that is done: by the bytes of the files as they are, for the reads mapped so far."""

from __future__ import annotations

import gzip
import os

import pytest

from gassst.files.input_progress import InputProgress
from gassst.reads.input import open_reads

RECORD = "@r{}\nACGTACGTACGTACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n"
TEXT = "".join(map(RECORD.format, range(1000)))


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.fq"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def zipped(tmp_path):
    path = tmp_path / "zipped.fq.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    return str(path)


def test_all_is_read_in_the_end(plain, zipped):
    paths = [plain, zipped]
    progress = InputProgress(paths)
    total = os.path.getsize(plain) + os.path.getsize(zipped)
    assert progress.bytes_total == total
    reads = sum(len(batch) for batch in progress.marked(open_reads(paths, 100, progress=progress)))
    assert reads == 2000
    assert progress.bytes_read == total
    assert progress.share_done(reads) == 1

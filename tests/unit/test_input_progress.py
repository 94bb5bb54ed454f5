"""The share of the input that is done: by the bytes of the files as they are, for the reads mapped so far."""

from __future__ import annotations

import errno
import gzip
import io
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


def test_share_grows_with_the_reads_mapped_not_with_those_read(plain):
    """With a small buffer the position of the file is close to the last record parsed."""
    progress = InputProgress([plain])
    batches = open_reads([plain], 100, buffer_size=256, progress=progress)
    assert len(list(progress.marked(batches))) == 10
    assert progress.bytes_read == progress.bytes_total
    assert progress.share_done(0) == 0
    assert progress.share_done(99) == 0
    shares = [progress.share_done(reads) for reads in (100, 350, 700)]
    assert shares == pytest.approx([0.1, 0.3, 0.7], abs=0.02)


def test_both_files_of_pairs_count(plain, zipped):
    progress = InputProgress([plain, zipped])
    for _ in progress.marked(open_reads(plain, 100, mates=zipped, progress=progress)):
        pass
    assert progress.bytes_read == progress.bytes_total
    assert progress.share_done(2000) == 1


def test_a_stream_has_no_total(plain, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    progress = InputProgress([plain, "-"])
    assert progress.bytes_total is None
    for _ in progress.marked(open_reads([plain, "-"], 100, progress=progress)):
        pass
    assert progress.share_done(1000) is None


def test_a_pipe_has_no_total(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert InputProgress([str(pipe)]).bytes_total is None


def test_empty_input_has_no_share(tmp_path):
    empty = tmp_path / "empty.fq"
    empty.touch()
    assert InputProgress([str(empty)]).share_done(0) is None


@pytest.mark.parametrize(
    "error", [ValueError("I/O operation on closed file"), OSError(errno.EBADF, "Bad file descriptor")]
)
def test_a_file_that_another_thread_closes_counts_as_read(tmp_path, error):
    """Closed before the position is asked for, or between the check of that and the system call."""
    path = tmp_path / "reads.fq"
    path.write_bytes(b"@r\nACGT\n+\nIIII\n")

    class Closing:
        def __init__(self, file):
            self.fileno = file.fileno

        def tell(self):
            raise error

    progress = InputProgress([str(path)])
    with open(path, "rb", buffering=0) as file:
        progress.follow(Closing(file))
        assert progress.bytes_read == path.stat().st_size

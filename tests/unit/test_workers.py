"""Workers, and the thread that writes behind them."""

from __future__ import annotations

import errno
import gzip
import os
import threading
from contextlib import closing

import numpy as np
import pytest

from gassst.files import writing
from gassst.files.input_progress import InputProgress
from gassst.files.writing import WriteBehind, write_all
from gassst.reads.input import open_reads
from gassst.workers.threads import Workers


def scaled(factor, array):
    return factor * array


def test_calls_are_made_with_their_arguments():
    with closing(Workers(3)) as workers:
        futures = [workers.submit(scaled, 2, np.arange(i)) for i in range(0, 20_000, 1000)]
        for i, future in enumerate(futures):
            assert future.result().tolist() == list(range(0, 2000 * i, 2))


def test_the_end_waits_for_no_call():
    """Those that have not begun are dropped."""
    begun, may_end = threading.Event(), threading.Event()

    def wait():
        begun.set()
        may_end.wait()

    workers = Workers(1)
    under_way, waiting = workers.submit(wait), workers.submit(wait)
    begun.wait()
    workers.close()
    assert waiting.cancelled() and not under_way.done()
    may_end.set()
    assert under_way.result() is None


def test_pieces_of_any_number_and_size_are_written_in_full(tmp_path, monkeypatch):
    """A system call may take less than it is given."""
    monkeypatch.setattr(os, "writev", lambda fd, views: os.write(fd, bytes(views[0])[:3000]))
    pieces = [bytes([i & 255]) * (i * 37 % 9000) for i in range(600)]
    with open(tmp_path / "out", "wb") as file:
        write_all(file.fileno(), pieces)
    assert (tmp_path / "out").read_bytes() == b"".join(pieces)


class Gate:
    """Stands for `write_all`: writes nothing before it is opened, and keeps what it has written."""

    def __init__(self):
        self.begun, self.open = threading.Semaphore(0), threading.Event()
        self.written: list[bytes] = []
        self.threads: set[str] = set()
        self.error: Exception | None = None

    def __call__(self, fd, pieces):
        self.begun.release()
        self.open.wait()
        self.threads.add(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        self.written.append(b"".join(pieces))


@pytest.fixture
def gate(monkeypatch):
    gate = Gate()
    monkeypatch.setattr(writing, "write_all", gate)
    yield gate
    gate.open.set()


def test_a_thread_writes_in_order_what_others_go_on_from(gate):
    behind = WriteBehind(-1, 4)
    for i in range(4):
        behind.put([b"%d" % i, b","])  # nobody waits: nothing is written yet
    assert not gate.written
    gate.open.set()
    behind.finish()
    assert b"".join(gate.written) == b"0,1,2,3," and gate.threads == {"gassst-writer"}
    assert behind.nanoseconds > 0


def test_what_fails_is_told_and_nothing_is_written_after_it(gate):
    """Whoever puts more than may wait is not left waiting."""
    gate.error = OSError(errno.ENOSPC, "no space")
    gate.open.set()
    behind = WriteBehind(-1, 1)
    with pytest.raises(OSError, match="no space"):
        for _ in range(100):
            behind.put([b"x"])
        behind.finish()
    gate.error = None
    with pytest.raises(OSError, match="no space"):
        behind.put([b"x"])
    with pytest.raises(OSError, match="no space"):
        behind.finish()
    assert gate.begun.acquire(timeout=60) and not gate.begun.acquire(blocking=False) and not gate.written


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

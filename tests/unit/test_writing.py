"""Pieces of a file: written in full and in order, by whoever has them or by a thread of its own."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from gassst.files import writing
from gassst.files.writing import WriteBehind, write_all


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
    assert gate.begun.acquire(timeout=9) and not gate.begun.acquire(blocking=False) and not gate.written

"""Large arrays on their way to an OpenCL device: through pinned memory, by several threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

COPIED = 1 << 22
"""Bytes uploaded at once. An H100 takes 26 GB/s in pieces of 4 MiB from 8 threads, 12 in pieces of 16 MiB."""
UPLOADERS = 8
"""Threads that upload an index, at most."""
PIECES_EACH = 4
"""Pieces from which on a thread is worth its pinned memory."""


def upload(cl: Any, context: Any, buffers: Sequence[Any], arrays: Sequence[np.ndarray]) -> None:
    """Copy each array into its buffer, and wait for it.

    The bus takes 20 GB/s and more from pinned memory. One thread does not read a mapped file that fast, so several
    fill pinned pieces, each one while the last is on its way.
    """
    views = [array.view(np.uint8) for array in arrays]
    cut = [
        (buffer, at, view[at : at + COPIED])
        for buffer, view in zip(buffers, views, strict=True)
        for at in range(0, len(view), COPIED)
    ]
    pieces, threads = iter(cut), min(UPLOADERS, -(-len(cut) // PIECES_EACH)) or 1
    lock, handing = threading.Lock(), threading.Lock()

    def copy_share(_: int) -> None:
        uploader = Uploader(cl, context, handing)
        while True:
            with lock:
                piece = next(pieces, None)
            if piece is None:
                break
            uploader.copy(*piece)
        uploader.queue.finish()

    with ThreadPoolExecutor(threads, thread_name_prefix="gassst-upload") as pool:
        for _ in pool.map(copy_share, range(threads)):
            pass


class Uploader:
    """A queue, and two pinned pieces of `COPIED` bytes that take turns.

    `handing`: held while a command is handed over. PoCL 3.0 crashes where several queues are given commands of one
    buffer at once.
    """

    def __init__(self, cl: Any, context: Any, handing: threading.Lock):
        self._cl, self._handing = cl, handing
        self.queue = cl.CommandQueue(context)
        self._pinned = [pinned_memory(cl, context, self.queue, COPIED) for _ in range(2)]
        self._under_way: list[Any] = [None, None]
        self._turn = 0

    def copy(self, buffer: Any, at: int, data: NDArray[np.uint8]) -> None:
        """The bytes into the buffer from byte `at` on; they have been read when this returns."""
        self._turn = 1 - self._turn
        if self._under_way[self._turn] is not None:
            self._under_way[self._turn].wait()
        piece = self._pinned[self._turn][1][: len(data)]
        np.copyto(piece, data)
        with self._handing:
            self._under_way[self._turn] = self._cl.enqueue_copy(
                self.queue, buffer, piece, dst_offset=at, is_blocking=False
            )
            self.queue.flush()


def pinned_memory(cl: Any, context: Any, queue: Any, size: int) -> tuple[Any, NDArray[np.uint8]]:
    """A buffer in the host's memory that the driver has pinned, and its bytes."""
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, size)
    access = cl.map_flags.READ | cl.map_flags.WRITE
    return buffer, cl.enqueue_map_buffer(queue, buffer, access, 0, size, np.uint8)[0]

"""Any file of reads as BGZF, so that machines can share it: one pass that inflates, and workers that deflate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from gassst.files import bgzf
from gassst.files.destination import Destination
from gassst.files.input_progress import InputProgress
from gassst.files.source import Source
from gassst.files.writing import write_all
from gassst.workers.threads import Workers

PIECE = 16 * bgzf.BLOCK_SIZE  # bytes of text that a worker deflates at once
AHEAD = 2  # pieces for each worker


def deflated(text: bytes, level: int) -> list[bytes]:
    """A call of workers: the blocks of some text."""
    return list(bgzf.blocks(text, bgzf.deflater(level)))


def write_bgzf(
    path: str,
    destination: Destination,
    workers: Workers,
    level: int = bgzf.DEFAULT_LEVEL,
    inputs: InputProgress | None = None,
    progress: Callable[[int], None] = lambda _: None,
    allow_truncated: bool = False,
) -> int:
    """Write the text of a file, which may be compressed in any way, as BGZF; `destination` is left to be committed.

    `progress` is called with the bytes of text so far. Returns how many there are. Raises InputError, OutputError.
    """
    total = 0
    fd = destination.open()
    with destination.errors(), open(fd, "wb", buffering=0) as target:
        waiting: deque[Future[list[bytes]]] = deque()
        with Source(path, None, inputs, allow_truncated) as source:
            for text in _pieces(source):
                total += len(text)
                waiting.append(workers.submit(deflated, text, level))
                if len(waiting) > AHEAD * workers.threads:
                    write_all(target.fileno(), waiting.popleft().result())
                    progress(total)
        for future in waiting:
            write_all(target.fileno(), future.result())
        write_all(target.fileno(), [bgzf.END_OF_FILE])
    return total


def _pieces(source: Source) -> Iterator[bytes]:
    """The text in pieces of `PIECE` bytes, but the last."""
    piece, filled = memoryview(bytearray(PIECE)), 0
    while added := source.readinto(piece[filled:]):
        filled += added
        if filled == PIECE:
            yield bytes(piece)
            filled = 0
    if filled:
        yield bytes(piece[:filled])

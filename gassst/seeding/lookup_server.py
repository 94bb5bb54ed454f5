"""A process that has one part of an index in memory and looks seeds up in it for runs elsewhere."""

from __future__ import annotations

import json
import logging
import socket
import threading
from contextlib import closing, suppress
from multiprocessing import AuthenticationError
from typing import Any

import numpy as np

from gassst._core import seeds as _seeds
from gassst.seeding.index_parts import IndexPart
from gassst.seeding.lookup_messages import DONE, HELLO, PLACES, REFUSED, RESOLVE, Channel
from gassst.seeding.seed_index import SeedIndex

log = logging.getLogger("gassst")


class LookupServer:
    """Answers any number of runs, each connection in a thread of its own.

    Parameters
    ----------
    index : SeedIndex
        In parts, of which this one is open.
    number : int
        Of the part, from 1.
    key : bytes
    address : (str, int)
        Where to listen; port 0 is any that is free.

    Attributes
    ----------
    address : (str, int)
        Where it listens.

    Raises OSError where it cannot.
    """

    def __init__(self, index: SeedIndex, number: int, key: bytes, address: tuple[str, int]):
        [self._part] = [part for part in index.parts if part.number == number]
        self._hello = {"parts": index.part_rows, "number": number}
        self._key = key
        self._listening = socket.create_server(address, backlog=128)
        self.address: tuple[str, int] = self._listening.getsockname()[:2]

    def serve(self) -> None:
        """Answer until `close`."""
        while True:
            try:
                connected, peer = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._talk, args=(connected, peer), daemon=True).start()

    def close(self) -> None:
        """Listen no more; connections end with their callers."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes up `accept`, which closing does not
        self._listening.close()

    def _talk(self, connected: socket.socket, peer: Any) -> None:
        try:
            with closing(Channel(connected, self._key, is_server=True)) as channel:
                while True:
                    kind, *contents = channel.receive()
                    try:
                        channel.send(DONE, *self._answer(kind, contents))
                    except ValueError as error:
                        channel.send(REFUSED, str(error).encode())
        except AuthenticationError:
            log.warning("%s: a caller without the key", peer[0])
        except (OSError, EOFError):
            pass  # it has what it wanted, or is gone
        except (ValueError, MemoryError) as error:
            log.warning("%s: hung up: %s", peer[0], error)

    def _answer(self, kind: bytes, contents: list[bytes]) -> list[Any]:
        if kind == HELLO:
            return [json.dumps(self._hello).encode()]
        if kind == RESOLVE and len(contents) == 4:
            return resolved(self._part, *contents)
        if kind == PLACES and len(contents) == 1:
            ranges = _array(contents[0], "<u4")
            return [_seeds.places_of(self._part, ranges.reshape(-1, 6))]
        raise ValueError("an unknown question")


def resolved(part: IndexPart, caps: bytes, codes: bytes, rooms: bytes, lengths: bytes) -> list[Any]:
    """What `seeds.resolve_asked` finds of such seeds: ranges, lengths, clipped."""
    own = _array(lengths, "u1").copy()
    columns = _array(caps, "<u4"), _array(codes, "<u8"), _array(rooms, "u1")
    ranges, clipped = _seeds.resolve_asked(part, *columns, own, part.kmers)
    return [ranges, own, clipped]


def _array(contents: bytes, dtype: str) -> np.ndarray:
    return np.frombuffer(contents, dtype)

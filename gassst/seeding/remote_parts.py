"""The parts of an index that servers have: what a run asks them, and what it does when one does not answer."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Sequence
from multiprocessing import AuthenticationError
from typing import Any

import numpy as np

from gassst.errors import InputError
from gassst.seeding.lookup import WholeIndex
from gassst.seeding.lookup_messages import DONE, HELLO, PLACES, RESOLVE, Channel, address_of
from gassst.seeding.seed_index import SeedIndex

ANSWER_SECONDS = 120.0
"""Without an answer for so long a server is taken for gone. An answer takes milliseconds."""
PAUSES = (0.0, 1.0, 5.0, 20.0)
"""Seconds before a question is asked again, as when a server has been moved to another node under its name."""


class Server:
    """One server, and the connections to it that are free; each thread of a run takes one of its own.

    Parameters
    ----------
    address : str
        HOST:PORT.
    key : bytes
    """

    def __init__(self, address: str, key: bytes):
        self.address, self._key = address, key
        self._free: tuple[int, list[Channel]] = os.getpid(), []

    def ask(self, *question: Any) -> Question:
        """Send a question; its `answer` comes later, so that several servers work at once."""
        return Question(self, question)

    def take(self) -> Channel:
        """A connection for one question."""
        pid, free = self._free
        if pid != os.getpid():  # those of the process that this one was forked from
            self._free = os.getpid(), []
        elif free:
            return free.pop()
        host, port = address_of(self.address)
        return Channel(socket.create_connection((host, port), timeout=10), self._key, is_server=False)

    def give_back(self, channel: Channel) -> None:
        """It may serve the next question."""
        self._free[1].append(channel)


class Question:
    """A question under way. Every question may be asked twice: it changes nothing at the server."""

    def __init__(self, server: Server, contents: Sequence[Any]):
        self._server, self._contents = server, contents
        self._channel: Channel | None = None
        self._trouble: Exception | None = None
        self._send()

    def _send(self) -> None:
        try:
            self._channel = self._server.take()
            self._channel.send(*self._contents)
        except AuthenticationError:
            raise InputError(f"{self._server.address}: the server has another key") from None
        except (OSError, EOFError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel, self._trouble = None, error

    def answer(self) -> list[bytes]:
        """What the server says. Raises InputError where it refuses, or does not answer when asked again."""
        address = self._server.address
        for pause in PAUSES:
            try:
                if self._channel is None:
                    time.sleep(pause)
                    self._send()
                if self._channel is not None:
                    kind, *answer = self._channel.receive(ANSWER_SECONDS)
                    self._server.give_back(self._channel)
                    if kind != DONE:
                        raise InputError(f"{address}: {b' '.join(answer).decode('utf-8', 'replace')}")
                    return answer
            except (OSError, EOFError, ValueError) as error:
                self._give_up(error)
        reason = getattr(self._trouble, "strerror", None) or str(self._trouble) or "it has hung up"
        raise InputError(f"{address}: no answer from this server of a part of the index: {reason}")


class RemotePart:
    """A part that a server has; its fields are those of `IndexPart` that planning seeds takes."""

    def __init__(self, index: SeedIndex, number: int, server: Server):
        first, last, *_ = index.part_rows[number - 1]
        self.kmers, self.k, self.step = (first, last), index.k, index.step
        self.server = server


class RemoteParts(WholeIndex):
    """An index all of whose parts servers have. Every result is that of the index in one piece.

    Parameters
    ----------
    index : SeedIndex
        In parts; none need be open.
    servers : sequence of str
        HOST:PORT of one server for each part, in any order.
    key : bytes
        That the servers have, too.

    Raises InputError where one does not answer, has another index, or a part has no server.
    """

    copies = True

    def __init__(self, index: SeedIndex, servers: Sequence[str], key: bytes):
        super().__init__(index)
        found: dict[int, RemotePart] = {}
        asked = [(server, server.ask(HELLO)) for server in (Server(address, key) for address in servers)]
        for server, question in asked:
            number = _part_of(index, server.address, question.answer())
            found.setdefault(number, RemotePart(index, number, server))
        missing = sorted(set(range(1, len(index.part_rows) + 1)) - found.keys())
        if missing:
            raise InputError(f"{index.path}: no server has part {missing[0]} of {len(index.part_rows)}")
        self._remote = [found[number] for number in sorted(found)]

    def resolve(self, seeds: Any, caps: np.ndarray) -> None:
        again = True
        while again:
            asked = []
            for part in self._remote:
                rows, *columns = seeds.asked(part, *part.kmers)
                if len(rows):
                    asked.append((part, rows, part.server.ask(RESOLVE, caps, *columns)))
            for part, rows, question in asked:
                shapes = ("<u4", (len(rows), 3 * part.step)), ("u1", len(rows)), ("u1", len(rows))
                seeds.answered(rows, *_arrays(part.server.address, question.answer(), shapes))
            again = seeds.lengthen(caps)

    def copy_positions(self, seeds: Any) -> None:
        asked = []
        for part in self._remote:
            at, ranges = seeds.places_asked(part, *part.kmers)
            if len(at):
                asked.append((part, at, ranges, part.server.ask(PLACES, ranges)))
        for part, at, ranges, question in asked:
            wanted = int(ranges[:, 5].sum(dtype=np.int64))
            [places] = _arrays(part.server.address, question.answer(), [("<u4", wanted)])
            seeds.places_answered(at, ranges, places)


def _part_of(index: SeedIndex, address: str, answer: list[bytes]) -> int:
    """The number of the part that a server says that it has."""
    try:
        hello = json.loads(answer[0])
        rows, number = [tuple(row) for row in hello["parts"]], int(hello["number"])
        is_part = rows == [tuple(row) for row in index.part_rows] and 1 <= number <= len(rows)
    except (IndexError, KeyError, TypeError, ValueError):
        is_part, number = False, 0
    if not is_part:
        raise InputError(f"{address}: the server has a part of another index than {index.path}")
    return number


def _arrays(address: str, answer: list[bytes], shapes: Sequence[tuple[str, Any]]) -> list[np.ndarray]:
    """The arrays of an answer. Raises InputError where it is not of these types and shapes."""
    try:
        pairs = zip(answer, shapes, strict=True)
        return [np.frombuffer(contents, dtype).reshape(shape) for contents, (dtype, shape) in pairs]
    except ValueError:
        raise InputError(f"{address}: the server of a part of the index answers something else") from None

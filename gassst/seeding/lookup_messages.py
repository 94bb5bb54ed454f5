"""What a run and the servers of an index in parts say to each other: messages of arrays, over TCP, behind a key.

A message is the number of its arrays and their bytes as little-endian int64, then the arrays. Nothing in it is ever
run or unpickled. Both sides prove that they know the key before the first message; what follows is not encrypted.
"""

from __future__ import annotations

import os
import socket
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.errors import InputError

HELLO, RESOLVE, PLACES = b"hello", b"resolve", b"places"
"""What is asked for: which part this is; `seeds.resolve_asked`; `seeds.places_of`."""
DONE, REFUSED = b"done", b"refused"
"""How answers begin; a refusal says why."""
MOST_BYTES = 1 << 30
"""Of a message: 16 times what a batch of 32,768 reads asks for."""
LEAST_KEY = 16
"""Bytes of a key."""


class Channel:
    """One connection, of which both ends have shown that they know the key.

    Raises multiprocessing.AuthenticationError where the other end does not, OSError or EOFError where it is gone.
    """

    def __init__(self, connected: socket.socket, key: bytes, is_server: bool):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.settimeout(None)
        self._connection = Connection(connected.detach())
        steps = (deliver_challenge, answer_challenge) if is_server else (answer_challenge, deliver_challenge)
        try:
            for step in steps:
                step(self._connection, key)
        except BaseException:
            self.close()
            raise

    def send(self, *arrays: bytes | NDArray[Any]) -> None:
        """Send a message."""
        contents = [a if isinstance(a, bytes) else np.ascontiguousarray(a).tobytes() for a in arrays]
        sizes = np.array([len(contents), *map(len, contents)], "<i8")
        self._connection.send_bytes(b"".join([sizes.tobytes(), *contents]))

    def receive(self, within: float | None = None) -> list[bytes]:
        """The next message. Raises TimeoutError after `within` seconds, ValueError where it is none."""
        if within is not None and not self._connection.poll(within):
            raise TimeoutError(f"no answer within {within:g} s")
        message = self._connection.recv_bytes(MOST_BYTES)
        n = int.from_bytes(message[:8], "little", signed=True)
        at = 8 * (n + 1)
        sizes = np.frombuffer(message[8:at], "<i8").tolist() if 0 <= n < 100 else [-1]
        if min(sizes, default=0) < 0 or len(sizes) != n or at + sum(sizes) != len(message):
            raise ValueError("no message of gassst")
        contents = []
        for size in sizes:
            contents.append(message[at : at + size])
            at += size
        return contents

    def close(self) -> None:
        self._connection.close()


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file. Raises InputError where it cannot be read, is short, or is open to others."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            is_open = os.fstat(file.fileno()).st_mode & 0o077
            key = file.read(4096).strip()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error
    if len(key) < LEAST_KEY:
        raise InputError(f"{name}: a key has {LEAST_KEY} bytes or more, as `openssl rand -hex 32` makes them")
    if is_open:
        raise InputError(f"{name}: others may read the key: chmod 600 it")
    return key


def address_of(text: str, default: str = "") -> tuple[str, int]:
    """Host and port of 'HOST:PORT'. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not (host or default) or not port.isascii() or not port.isdecimal() or int(port) > 0xFFFF:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.strip("[]") or default, int(port)

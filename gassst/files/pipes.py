"""Named pipes whose first bytes are looked at before anybody reads them: they can be opened once, and read once."""

from __future__ import annotations

from typing import IO

_held: dict[str, IO[bytes]] = {}
"""Pipes that were looked at, until they are opened for their bytes."""


def first_bytes(path: str, count: int) -> bytes:
    """Some bytes that the pipe of `held` will give again, as many as have come, up to about `count`.

    Waits until somebody writes to the pipe. So this is for an only input: who fills two pipes in turn may wait
    for a reader of the other one. Raises OSError.
    """
    if path not in _held:
        _held[path] = open(path, "rb", buffering=count)  # noqa: SIM115 - whoever reads it closes it
    return _held[path].peek(count)  # type: ignore[attr-defined]


def held(path: str) -> IO[bytes] | None:
    """A pipe that was looked at, from its first byte on, for the caller to close; None for any other file."""
    return _held.pop(path, None)

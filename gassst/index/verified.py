"""Which index files this user has written, or read whole and found intact, so that not every run reads them.

A file is known by its device, inode, size and times, and by the checksum of its header. Whatever is written to it, even
one byte, changes the time of its inode, and it is read again. What is remembered is a text of one line a file in
`$XDG_CACHE_HOME/gassst`, or `~/.cache/gassst`; nothing is lost with it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

_REMEMBERED = 1000  # files, the latest


def is_known(state: tuple[Any, ...]) -> bool:
    """Whether a file of this state was found intact. A list that cannot be read knows none."""
    return _line(state) in _lines()


def remember(state: tuple[Any, ...]) -> None:
    """Note that the file of this state is intact. Where the user may not write, nothing is noted.

    Two runs at once may lose a line of each other: that file is read once more.
    """
    with suppress(OSError, ValueError):
        lines = [*(line for line in _lines() if line != _line(state)), _line(state)][-_REMEMBERED:]
        os.makedirs(os.path.dirname(_list()), exist_ok=True)
        new = f"{_list()}.{os.getpid()}"
        try:
            with open(new, "w") as file:
                file.write("\n".join(lines) + "\n")
            os.replace(new, _list())
        finally:
            with suppress(OSError):
                os.unlink(new)


def _list() -> str:
    """Raises OSError for a user without a home."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if folder.startswith("~"):
        raise OSError("no home")
    return os.path.join(folder, "gassst", "intact-indexes")


def _lines() -> list[str]:
    with suppress(OSError, ValueError), open(_list(), encoding="ascii") as file:
        return file.read().split()
    return []


def _line(state: tuple[Any, ...]) -> str:
    return repr(state).replace(" ", "")

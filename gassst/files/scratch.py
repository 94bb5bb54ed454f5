"""Hidden folders for what is not finished: removed by their owner, or by the next run for the same output.

A folder is called `.NAME.gassst-XXXXXXXX.tmp`. Its owner holds a lock on it, which the system gives up with the
process, however that ends. So a folder without a lock was left by a run that was killed: whoever finds it removes it.
Where a file system has no locks for folders (some forms of NFS), nothing is ever taken for left.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable
from contextlib import suppress

from gassst._core import bus_error
from gassst.files import interrupt

LONGEST_NAME = 50  # characters of NAME: with 4 bytes for each, the folder's name stays within 255 bytes


class Scratch:
    """A hidden folder in `directory` for the unfinished files of the output `name`.

    Raises OSError where it cannot be made.
    """

    def __init__(self, directory: str, name: str):
        name = name[:LONGEST_NAME]
        sweep(directory, name)
        self._path = ""
        self._names: set[str] = set()
        self._lock: int | None = None
        interrupt.on_stop(self.remove)
        try:
            while self._lock is None:
                self._path = os.path.join(directory, f".{name}.gassst-{os.urandom(4).hex()}.tmp")
                os.mkdir(self._path, 0o700)
                bus_error.folder_made(os.fsencode(self._path))
                self._lock = _locked(self._path)
        except BaseException:
            self.remove()
            raise

    def file(self, name: str) -> str:
        """The path of a file in the folder; the end of its name may be chosen, for a compressor goes by it."""
        self._names.add(name)
        return os.path.join(self._path, name)

    def remove(self) -> None:
        """Remove the folder and all in it, though other threads may still create files there. May be called again."""
        if self._path:
            _remove(self._path, self._names)
            bus_error.folder_gone(os.fsencode(self._path))
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)
        interrupt.settled(self.remove)


def sweep(directory: str, name: str) -> None:
    """Remove the folders that killed runs have left for the output `name`."""
    ours = re.compile(rf"\.{re.escape(name)}\.gassst-[0-9a-f]{{8}}\.tmp(\.gone)?")
    left: list[str] = []
    with suppress(OSError), os.scandir(directory or os.curdir) as entries:
        left = [entry.path for entry in entries if ours.fullmatch(entry.name)]
    for path in left:
        with suppress(OSError):
            _remove_if_left(path)


def _remove_if_left(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(fd).st_uid == os.geteuid():
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
    finally:
        os.close(fd)


def _locked(path: str) -> int | None:
    """A descriptor that holds the lock; None if somebody swept the folder before it had one."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    with suppress(OSError):  # no locks here
        fcntl.flock(fd, fcntl.LOCK_EX)
    if os.fstat(fd).st_nlink and os.path.exists(path):
        return fd
    os.close(fd)
    return None


def _remove(path: str, names: Iterable[str] = ()) -> None:
    """Remove a folder. Where `names` is all that it holds, this takes no descriptor: there may be none left."""
    gone = path if path.endswith(".gone") else path + ".gone"
    with suppress(OSError):
        os.rename(path, gone)  # from here on nothing can be created under the old name
    for name in list(names):
        with suppress(OSError):
            os.unlink(os.path.join(gone, name))
    try:
        os.rmdir(gone)
    except OSError:
        import shutil  # 2 ms that few runs need

        shutil.rmtree(gone, ignore_errors=True)

"""The copy of an index on each machine of a cluster."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from contextlib import suppress

from gassst.errors import InputError, OutputError, unreadable
from gassst.index.file import PAGE
from gassst.index.seed_index import SeedIndex


def staged(index: str, folder: str) -> str:
    """The copy of an index in a folder of this machine, made by the first process that asks; `index` may be in parts.

    A copy is found again by path, size and time of the original, in a folder that only this user can enter. Its header
    must equal the original's, which holds the checksums of all sections. Raises InputError, OutputError.
    """
    try:
        info = os.stat(index)
        facts = repr((index, info.st_size, info.st_mtime_ns)).encode()
        parts = [part.path for part in SeedIndex.open(index).parts]
    except OSError as error:
        raise unreadable(index, error) from error
    place = os.path.join(_own_folder(folder), hashlib.sha256(facts).hexdigest()[:16])
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(os.path.join(place, "lock"), flags, 0o600), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for path in (*parts, index):  # the index last: where it is, all is
                copy = os.path.join(place, os.path.basename(path))
                if not os.path.exists(copy):
                    shutil.copyfile(path, f"{copy}.tmp")
                    os.replace(f"{copy}.tmp", copy)
                if _header(copy) != _header(path):
                    raise InputError(f"{copy}: a copy of an index other than {path}: remove it")
    except OSError as error:
        raise OutputError(f"{place}: the index cannot be copied: {error.strerror or error}") from error
    return os.path.join(place, os.path.basename(index))


def _own_folder(folder: str) -> str:
    """A folder in a shared one that only this user can enter: its name is known, so whoever made it is looked at.

    One folder for all processes of this user, where `mkdtemp` would make a copy for each. Raises OutputError.
    """
    path = os.path.join(folder, f"gassst-{os.geteuid()}")
    try:
        os.makedirs(folder, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        info, around = os.lstat(path), os.stat(folder)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error
    is_ours = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
    if not is_ours:
        raise OutputError(
            f"{path}: not a folder that only its owner can enter: remove it, or stage elsewhere"
        )
    if around.st_mode & stat.S_IWOTH and not around.st_mode & stat.S_ISVTX:
        raise OutputError(f"{folder}: anyone can rename its files: set its sticky bit, or stage elsewhere")
    return path


def _header(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(PAGE)

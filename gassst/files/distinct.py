"""No output may take the place of an input, or of another output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gassst.errors import UsageError
from gassst.files.destination import Destination, index_paths

Path = str | os.PathLike[str]


def check_distinct(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Raise UsageError where an output is also read, or two outputs are one file: by name, or by any link.

    "-" and None are standard input and standard output: no file, and each taken once.
    """
    taken = {key for path in inputs if not _is_dash(path) for key in _keys(path)}
    for path in outputs:
        destination = Destination(path)
        keys = {"-"} if destination.is_stdout else _keys(destination.path)
        if keys & taken and (destination.is_stdout or not destination.is_stream):
            raise UsageError(f"{destination.name}: named twice among the files to read and to write")
        taken |= keys


def with_indexes(output: Path | None) -> list[Path | None]:
    """An alignment file, and all indexes next to it that may appear or go with it."""
    if output is None or _is_dash(output):
        return [output]
    return [output, *index_paths(os.fspath(output))]


def paths_of(paths: Path | Iterable[Path]) -> list[Path]:
    """One path or several, as a list. TypeError for what may be read as paths, but once only or by mistake."""
    if isinstance(paths, (str, os.PathLike)):
        return [paths]
    if (
        not isinstance(paths, Iterable)
        or isinstance(paths, Iterator | bytes | bytearray)
        or hasattr(paths, "read")
    ):
        is_file = " (an open file: give its path)" if hasattr(paths, "read") else ""
        raise TypeError(f"neither a path nor a list of paths: {type(paths).__name__}{is_file}")
    found = list(paths)
    for path in found:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"not a path: {type(path).__name__}")
    return found


def _is_dash(path: Path | None) -> bool:
    return path is None or os.fspath(path) == "-"


def _keys(path: Path | None) -> set[object]:
    """What the system knows the file as; one that is not there yet by its folder and its name."""
    if path is None:
        return set()
    try:
        state = os.stat(path)
        return {(state.st_dev, state.st_ino)}
    except OSError:
        real = os.path.realpath(path)
    folder, name = os.path.split(real)
    try:
        state = os.stat(folder)
    except OSError:
        return {real}
    return {(state.st_dev, state.st_ino, name)}

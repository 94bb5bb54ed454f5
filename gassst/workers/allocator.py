"""Memory: how much there is, arrays that vectors fill, and what the C library does with what is given back to it."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of malloc.h
_LARGEST = 1 << 25  # bytes that may lie between others: glibc takes no more
_LINE = 64  # bytes of a cache line


def keep_freed_memory() -> None:
    """From here on, memory that this process and its children free serves their next arrays; a matter of glibc only.

    By default large arrays go back to the system, which clears and maps their pages for the next batch once more.
    """
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(_MMAP_THRESHOLD, _LARGEST)
            libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def available_memory() -> int:
    """Bytes that this machine can give without swapping; those of all its memory where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def aligned(shape: tuple[int, ...], dtype: Any = "f8") -> NDArray[Any]:
    """An array without content that begins with a cache line: vectors are loaded from where they lie."""
    import numpy as np  # not for the command line, which asks here for memory only

    size = math.prod(shape) * np.dtype(dtype).itemsize
    space = np.empty(size + _LINE, np.uint8)
    begin = -space.ctypes.data % _LINE
    return space[begin : begin + size].view(dtype).reshape(shape)

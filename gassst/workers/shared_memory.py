"""Memory that processes share: numbered regions, each of which holds one pickled value and its buffers."""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import threading
import weakref
from bisect import bisect_right, insort
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.errors import WorkerError

REGION = 1 << 36  # bytes of the file that each region may take; what is not written takes no memory
ALIGNMENT = 64
KEPT = 4  # shared values that a process keeps as it has read them
LEAST = 1 << 20  # bytes of a region that are mapped at once
HEAD = np.dtype(np.uint64)
AT_ONCE = 512  # pieces a system call, of 1024 that Linux takes


class Place(NamedTuple):
    """Bytes of a region."""

    region: int
    start: int
    size: int


class _File:
    """A file without a name, which ends with the last reference to this. Raises OSError."""

    def __init__(self, size: int):
        self.fd = os.memfd_create("gassst")
        os.ftruncate(self.fd, size)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
    ]  # fmt: skip
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


class _Mapping:
    """Bytes of a file, mapped as long as this is there; `mmap.mmap` keeps a descriptor for each. Raises OSError."""

    def __init__(self, file: _File, size: int, offset: int):
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        self._address = _libc().mmap(None, size, protection, mmap.MAP_SHARED, file.fd, offset)
        if self._address == ctypes.c_void_p(-1).value:
            self._address = None
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._size = size
        self._munmap = _libc().munmap  # modules may be gone when this ends

    def __del__(self) -> None:
        if self._address is not None:
            self._munmap(self._address, self._size)

    def __len__(self) -> int:
        return self._size

    def part(self, start: int, size: int) -> _Part:
        """Bytes of it."""
        return _Part(self, self._address + start, size)


class _Part:
    """Bytes of a mapping, which stays as long as this; an array that is made of it, or of part of that, keeps it."""

    def __init__(self, mapping: _Mapping, address: int, size: int):
        self.mapping, self.address = mapping, address
        self.__array_interface__ = {
            "version": 3, "shape": (size,), "typestr": "|u1", "data": (address, False),
        }  # fmt: skip


class SharedMemory:
    """A file without a name, which processes that inherit it map region by region.

    Its regions lie far apart, so each can grow; the gaps take no memory. Only one process at a time writes
    to a region. Raises OSError where the system does not grant such a file.

    Parameters
    ----------
    regions : int
        Most regions.
    """

    def __init__(self, regions: int):
        self._file: _File | None = _File(regions * REGION)
        _libc()  # before `fork`, so that no process has to load it
        self._maps: dict[int, _Mapping] = {}
        self._lent: list[tuple[int, int]] = []  # (address, region) of the values that are in use, ascending
        self._lock = threading.RLock()  # a value may be collected while it is held

    def close(self) -> None:
        """Give the memory back, but for values that are still in use; it holds no others from here on."""
        self._file, self._maps = None, {}

    @property
    def _open_file(self) -> _File:
        """Of a thread that holds it, the descriptor stays its own, whoever closes meanwhile. Raises WorkerError."""
        if (file := self._file) is None:
            raise WorkerError("the workers have ended")
        return file

    def put(self, region: int, value: Any) -> int:
        """Write a value into a region, over what was there, and return the bytes it takes.

        Buffers that lie in shared memory already, as parts of a value that `get` has returned, are not copied.
        """
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        views = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
        places = [self._place_of(view) for view in views]
        copied = [view for view, place in zip(views, places, strict=True) if place is None]
        sizes = [len(view) for view in copied]
        head = pickle.dumps((sizes, places, pickled))
        starts, end = _starts([HEAD.itemsize + len(head), *sizes])
        pieces: list[Any] = [np.array([len(head)], HEAD).view(np.uint8), head]
        written = HEAD.itemsize + len(head)
        for start, view in zip(starts[1:], copied, strict=True):
            pieces += bytes(start - written), view
            written = start + len(view)
        self._write(region, pieces)
        return end

    def _write(self, region: int, pieces: list[Any]) -> None:
        """Write a region from its start on. By system calls: a mapping costs every process a fault for every page."""
        file = self._open_file
        left = [memoryview(piece) for piece in pieces if len(piece)]
        offset = region * REGION
        while left:
            try:
                written = os.pwritev(file.fd, left[:AT_ONCE], offset)
            except OSError as error:
                raise MemoryError(f"no memory to share between processes: {error.strerror}") from None
            offset += written
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if written:
                left[0] = left[0][written:]

    def get(self, region: int, size: int, done: Callable[[int], object] | None = None) -> Any:
        """The value of `size` bytes that a region holds; its arrays are views of the region.

        `done` is called with the region as soon as nothing refers to it any more.
        """
        part = self._mapped(region, size).part(0, size)
        root = np.asarray(part)
        if done is not None:
            self._lend(part, region, done)
        length = int(root[: HEAD.itemsize].view(HEAD)[0])
        sizes, places, pickled = pickle.loads(root[HEAD.itemsize : HEAD.itemsize + length].data)
        starts, _ = _starts([HEAD.itemsize + length, *sizes])
        copied = iter([root[start : start + n] for start, n in zip(starts[1:], sizes, strict=True)])
        buffers = [next(copied) if place is None else self._view(place) for place in places]
        return pickle.loads(pickled, buffers=[buffer.data for buffer in buffers])

    def _lend(self, part: _Part, region: int, done: Callable[[int], object]) -> None:
        lent = part.address, region
        with self._lock:
            insort(self._lent, lent)
        weakref.finalize(part, self._given_back, lent, done).atexit = False

    def _given_back(self, lent: tuple[int, int], done: Callable[[int], object]) -> None:
        with self._lock:
            self._lent.remove(lent)
        done(lent[1])

    def _view(self, place: Place) -> NDArray[np.uint8]:
        mapping = self._mapped(place.region, place.start + place.size)
        return np.asarray(mapping.part(place.start, place.size))

    def _place_of(self, view: NDArray[np.uint8]) -> Place | None:
        """Where in shared memory the bytes lie, if they do."""
        if not self._lent or not len(view):  # a value whose part this is would be among them
            return None
        address = _address(view)
        with self._lock:
            at = bisect_right(self._lent, (address, REGION)) - 1
            if at < 0:
                return None
            begin, region = self._lent[at]
        start, size = address - begin, len(self._maps.get(region, ()))
        return Place(region, start, len(view)) if start + len(view) <= size else None

    def _mapped(self, region: int, size: int) -> _Mapping:
        """A region from its start on, `size` bytes at least."""
        known = self._maps.get(region)
        if known is None or len(known) < size:
            # Half of it more, so that regions which grow a little each time are not mapped each time.
            size = max(LEAST, _aligned(size + size // 2))
            known = self._maps[region] = _Mapping(self._open_file, size, region * REGION)
        return known


class SharedValue:
    """A value that is put into a region once, and read once by each process that calls go to (`Workers.share`).

    Parameters
    ----------
    value : object
        Kept here as long as this is.
    region, size : int
        Where it lies, and its bytes.
    done : callable
        Called with the region when nothing refers to this any more.
    """

    def __init__(self, value: Any, region: int, size: int, done: Callable[[int], object]):
        self.value = value
        self._key = os.urandom(8), region, size  # regions are used again, for other values
        weakref.finalize(self, done, region).atexit = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _ValueElsewhere, self._key


class _ValueElsewhere(NamedTuple):
    """A `SharedValue` in another process."""

    name: bytes
    region: int
    size: int

    @property
    def value(self) -> Any:
        if self.name in (kept := _kept.copy()):
            return kept[self.name]
        assert _inherited is not None, "read_shared_values() comes first"
        value = _kept[self.name] = _inherited.get(self.region, self.size)
        for name in list(_kept)[:-KEPT]:
            _kept.pop(name, None)  # another thread may be doing the same
        return value


_inherited: SharedMemory | None = None
_kept: dict[bytes, Any] = {}


def read_shared_values(memory: SharedMemory) -> None:
    """Have shared values read from this memory: called in a process that has inherited it."""
    global _inherited
    _inherited = memory


def _address(array: NDArray[np.uint8]) -> int:
    return int(array.__array_interface__["data"][0])


def _aligned(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _starts(sizes: list[int]) -> tuple[list[int], int]:
    """Where pieces of these sizes begin, each at a multiple of `ALIGNMENT`, and where the last one ends."""
    starts, end = [], 0
    for size in sizes:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        starts.append(start)
        end = start + size
    return starts, end

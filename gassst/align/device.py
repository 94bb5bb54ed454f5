"""The OpenCL devices that a call names, each with what later calls find again: a context, queues and programs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.errors import DeviceError
from gassst.gpu import opencl_engine
from gassst.gpu.devices import is_disabled


class Machine:
    """A device at work. Threads share its programs, not its queues' order."""

    def __init__(self, info: Any, device: Any):
        cl = self.cl = opencl_engine.load_pyopencl()
        self.name = info.name
        self.device = device
        with self.errors():
            self.context = cl.Context([device])
            self.queue = cl.CommandQueue(self.context)
            self.second = cl.CommandQueue(self.context)
            self.copies = cl.CommandQueue(self.context)
        self.is_cpu = info.type == "cpu"
        self.is_nvidia = "nvidia" in device.platform.vendor.lower()
        self.is_hopper = self.is_nvidia and getattr(device, "compute_capability_major_nv", 0) >= 9
        self._programs: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._lock = threading.Lock()

    def errors(self) -> Any:
        """A context in which pyopencl's errors become DeviceError."""
        return opencl_engine.AsDeviceError(self.cl, self.name)

    def program(self, text: str, options: Sequence[str]) -> Any:
        """The program of a text, built once. Raises DeviceError."""
        key = text, tuple(options)
        with self._lock:
            if key not in self._programs:
                try:
                    self._programs[key] = self.cl.Program(self.context, text).build(options=list(options))
                except self.cl.Error as error:
                    raise DeviceError(
                        f"OpenCL device {self.name} cannot build the kernels:\n{error}"
                    ) from error
            return self._programs[key]

    def buffer(self, array: NDArray[Any]) -> Any:
        """The contents of an array on the device, read-only."""
        flags = self.cl.mem_flags
        given = np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)
        return self.cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=given)

    def room(self, size: int) -> Any:
        """Bytes on the device."""
        return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(16, size))


def machines(device: str, threads: int) -> list[Machine]:
    """The one of "gpu", "0:1" or part of a name; with ":all" behind it all of its kind.

    `threads` bounds those of PoCL. Raises DeviceError where there is none, and where GASSST_OPENCL=0 rules all out.
    """
    wanted = device.lower()
    if is_disabled(wanted):
        raise DeviceError("GASSST_OPENCL=0 keeps OpenCL out of this run")
    return [_machine(info.index, threads) for info, _ in opencl_engine.choose_all(wanted, threads)]


@functools.cache
def _machine(index: str, threads: int) -> Machine:
    return Machine(*opencl_engine.choose(index, threads))

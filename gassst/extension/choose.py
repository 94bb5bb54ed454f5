"""Which backend extends seeds: compiled code, or an OpenCL device.

Both run the recurrences of `gassst/extension/kernels` and return the same bytes. All threads share an extender; a
`ReadsHandle` belongs to the thread that uses it.
"""

from __future__ import annotations

import logging
import os

from gassst.errors import DeviceError
from gassst.extension.cpu import CpuExtender
from gassst.extension.opencl import OpenCLExtender

log = logging.getLogger("gassst")

Extender = CpuExtender | OpenCLExtender


def make_extender(
    reference_planes, device: str | None = None, threads: int = 2, *, profiling: bool = False
) -> Extender:
    """The backend to use for a reference of planes uint64[rows, 3].

    `device`: None takes the best OpenCL device and falls back to the CPU backend with one warning; "none"
    is the CPU backend; anything else names a device as `opencl_engine.choose` knows it, and DeviceError is
    raised where it cannot be had or fails. GASSST_OPENCL=0 in the environment means "none" whatever
    `device` says. `threads` bounds PoCL's threads. On a device that is a CPU alignments are OpenCL's, scores the CPU
    backend's: `OpenCLExtender` itself has all done on the device.
    """
    cpu = CpuExtender(reference_planes)
    device = device.lower() if device else None
    if os.environ.get("GASSST_OPENCL") == "0" or device == "none":
        if device not in (None, "none"):
            log.warning("GASSST_OPENCL=0: device %r is not used; on with the %s", device, cpu.describe())
        return cpu
    if device is not None:
        return OpenCLExtender(reference_planes, device, threads, scorer=cpu, profiling=profiling)
    try:
        return OpenCLExtender(reference_planes, None, threads, spare=cpu, scorer=cpu, profiling=profiling)
    except DeviceError as error:
        log.warning("%s; on with the %s", error, cpu.describe())
        return cpu

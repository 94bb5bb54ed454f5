"""The OpenCL device that a call names."""

from __future__ import annotations

from typing import Any

from gassst.errors import DeviceError
from gassst.extension import opencl_engine
from gassst.extension.devices import is_disabled


def named_device(device: str, threads: int) -> tuple[Any, Any, Any]:
    """(pyopencl, DeviceInfo, pyopencl.Device) of "gpu", "0:1" or part of a name; `threads` bounds those of PoCL.

    Raises DeviceError where there is none, and where GASSST_OPENCL=0 rules all out.
    """
    if is_disabled(device):
        raise DeviceError("GASSST_OPENCL=0 keeps OpenCL out of this run")
    info, chosen = opencl_engine.choose(device.lower(), threads)
    return opencl_engine.load_pyopencl(), info, chosen

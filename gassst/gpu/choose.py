"""Which backend extends seeds: compiled code, or an OpenCL device.

Both run the recurrences of `gassst/gpu/kernels` and return the same bytes, so a run may change from one to the
other. All threads share an extender; a `ReadsHandle` belongs to the thread that uses it, and the host needs none.

Without a name that is compiled code. The command line then also looks for a GPU (`gassst.gpu.late`), which
searches whole batches.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Protocol

from gassst._core.stages import instruction_sets
from gassst.model.array_types import U64
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times

if TYPE_CHECKING:
    from gassst.gpu.bands import ReadsHandle

log = logging.getLogger("gassst")


class Extender(Protocol):
    """What scores and aligns bands."""

    @property
    def name(self) -> str:
        """ "cpu" or "opencl"."""
        ...

    @property
    def counters(self) -> Times: ...

    def describe(self) -> str:
        """One line for people: what runs, or has run, where."""
        ...

    def open_reads(self, packed: PackedReads) -> ReadsHandle | None:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]. None: the host needs no more."""
        ...


class HostExtender:
    """Compiled code, which the schedule of a batch calls by itself."""

    name = "cpu"
    counters = Times()

    def describe(self) -> str:
        """One line for people."""
        return f"CPU backend ({instruction_sets()[0]})"

    def open_reads(self, packed: PackedReads) -> None:
        """Nothing is to be done."""


def make_extender(reference_planes: U64, device: str | None = None, threads: int = 2) -> Extender:
    """The backend to use for a reference of planes uint64[rows, 3].

    Parameters
    ----------
    device : str, optional
        None, "auto" or "none": compiled code. Anything else names a device as
        `platforms.choose` knows it. GASSST_OPENCL=0 in the environment means "none" whatever is asked for.
    threads : int
        Bounds the threads of a device that is a CPU.

    Raises
    ------
    DeviceError
        A device that is named cannot be had, or does not pass its trial.
    """
    compiled = HostExtender()
    device = device.lower() if device else "auto"
    if device in ("auto", "none"):
        return compiled
    if os.environ.get("GASSST_OPENCL") == "0":
        log.warning(
            "GASSST_OPENCL=0: device %r is not used; continuing with the %s", device, compiled.describe()
        )
        return compiled
    from gassst.gpu.bands import CpuExtender
    from gassst.gpu.opencl import OpenCLExtender
    from gassst.gpu.probe import tried

    tried_device = tried(device, threads).device
    return OpenCLExtender(reference_planes, tried_device, threads, scorer=CpuExtender(reference_planes))

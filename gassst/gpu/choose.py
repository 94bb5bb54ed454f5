"""Which backend extends seeds: compiled code, or an OpenCL device.

Both run the recurrences of `gassst/gpu/kernels` and return the same bytes, so a run may change from one to the
other. All threads share an extender; a `ReadsHandle` belongs to the thread that uses it.

Where no device is named:

* Only a GPU or an accelerator is considered. An OpenCL device that is a CPU runs on the same cores as the compiled
  code, is no faster, and has its programs to build first.
* The compiled code maps from the first read on. Meanwhile another process tries the device and builds its programs
  (`gassst.gpu.probe`).
* Once that is done, the device gets a few batches. From then on each batch goes where a band takes less time.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Protocol

from gassst.bands.base import ReadsHandle
from gassst.bands.cpu import CpuExtender
from gassst.errors import DeviceError
from gassst.gpu.drivers import why_no_accelerator
from gassst.model.array_types import U64
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times

if TYPE_CHECKING:
    from gassst.gpu.opencl import OpenCLExtender
    from gassst.gpu.probe import Verdict

log = logging.getLogger("gassst")

# Batches that a device gets before it is compared with the compiled code; the first one is not counted.
TRIAL_BATCHES = 4


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

    def open_reads(self, packed: PackedReads) -> ReadsHandle:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]."""
        ...


class Trial(Protocol):
    """As `probe.Probe`."""

    def poll(self) -> Verdict | None: ...


class FasterExtender:
    """Compiled code at first; a device as well once its trial has passed; then the faster of the two.

    Parameters
    ----------
    reference_planes : uint64[rows, 3]
    threads : int
        That map; each has its own share of the trial batches.
    trial : Trial
        Of the device.
    """

    def __init__(self, reference_planes: U64, threads: int, trial: Trial):
        self.compiled = CpuExtender(reference_planes)
        self.device: OpenCLExtender | None = None
        self._threads = threads
        self._trial: Trial | None = trial
        self._lock = threading.Lock()
        self._given = 0  # batches to the device
        self._decided = False
        self._process = os.getpid()

    @property
    def name(self) -> str:
        return "cpu" if self.device is None else "opencl"

    @property
    def counters(self) -> Times:
        """Of both; those of the device count its spare's calls, which are the compiled code's."""
        return self.compiled.counters if self.device is None else self.device.counters

    def describe(self) -> str:
        if self.device is None:
            return self.compiled.describe()
        return f"{self.device.describe()}, {self._given} batches; others: {self.compiled.describe()}"

    def open_reads(self, packed: PackedReads) -> ReadsHandle:
        if (
            os.getpid() != self._process
        ):  # forked: without the device, and maybe with a lock that nobody gives back
            return CpuExtender(self.compiled.reference).open_reads(packed)
        if self._trial is not None and self._lock.acquire(blocking=False):
            try:
                self._look_at_trial()
            finally:
                self._lock.release()
        if self.device is None or not self._is_for_device(self.device):
            return self.compiled.open_reads(packed)
        return self.device.open_reads(packed)

    def _look_at_trial(self) -> None:
        verdict = self._trial.poll() if self._trial is not None else None
        if verdict is None:
            return
        self._trial = None
        if verdict.device is None:
            level = logging.WARNING if verdict.failed else logging.DEBUG
            log.log(level, "%s; continuing with the %s", verdict.reason, self.compiled.describe())
            return
        from gassst.gpu.opencl import OpenCLExtender

        os.environ.update(verdict.environment)
        try:
            planes, spare = self.compiled.reference, self.compiled
            self.device = OpenCLExtender(planes, verdict.device, self._threads, spare=spare, scorer=spare)
        except DeviceError as error:
            log.warning("%s; continuing with the %s", error, self.compiled.describe())
        else:
            log.debug("%s is ready: compared with the %s", self.device.describe(), self.compiled.describe())

    def _is_for_device(self, device: OpenCLExtender) -> bool:
        """Whether the next batch is the device's."""
        with self._lock:
            wanted = not device.failed and self._given < TRIAL_BATCHES * self._threads
            if not wanted and not device.failed:
                wanted = is_faster(device.pace, self.compiled.pace)
                if not self._decided:
                    self._decided = True
                    winner = device if wanted else self.compiled
                    log.debug("the faster one here: %s", winner.describe())
            self._given += wanted
            return wanted


class LateExtender:
    """A named device that is looked for when it is first needed: its start and trial take longer than a short run.

    As `make_extender` makes it, which may then raise DeviceError.
    """

    def __init__(self, reference_planes: U64, device: str, threads: int):
        self.compiled = CpuExtender(reference_planes)
        self.device = device
        self._threads = threads
        self._made: Extender | None = None
        self._lock = threading.Lock()

    @property
    def made(self) -> Extender:
        """The extender of the device."""
        with self._lock:
            if self._made is None:
                self._made = make_extender(self.compiled.reference, self.device, self._threads)
            return self._made

    @property
    def name(self) -> str:
        return self.made.name

    @property
    def counters(self) -> Times:
        return Times() if self._made is None else self._made.counters

    @property
    def engine(self) -> Any:
        """Of the device, None where compiled code stands in for it."""
        return getattr(self.made, "engine", None)

    def describe(self) -> str:
        if self._made is None:
            return f"device {self.device}, not used up to now"
        return self._made.describe()

    def open_reads(self, packed: PackedReads) -> ReadsHandle:
        return self.made.open_reads(packed)


def is_faster(device: tuple[int, int], compiled: tuple[int, int]) -> bool:
    """Whether a band takes less time on the device; both are (ns, bands). Not where either has done nothing."""
    if not device[1] or not compiled[1]:
        return bool(device[1])
    return device[0] * compiled[1] < compiled[0] * device[1]


def make_extender(
    reference_planes: U64, device: str | None = None, threads: int = 2, *, profiling: bool = False
) -> Extender:
    """The backend to use for a reference of planes uint64[rows, 3].

    Parameters
    ----------
    device : str, optional
        None or "auto": the faster one, as the module says. "none": compiled code. Anything else names a device as
        `opencl_engine.choose` knows it. GASSST_OPENCL=0 in the environment means "none" whatever is asked for.
    threads : int
        Bounds PoCL's threads.
    profiling : bool
        Have a device that is named keep its own clock.

    Raises
    ------
    DeviceError
        A device that is named cannot be had, or does not pass its trial. Where none is named, a device that fails is
        a warning, and the compiled code goes on.
    """
    compiled = CpuExtender(reference_planes)
    device = device.lower() if device else "auto"
    if os.environ.get("GASSST_OPENCL") == "0" or device == "none":
        if device not in ("auto", "none"):
            log.warning(
                "GASSST_OPENCL=0: device %r is not used; continuing with the %s", device, compiled.describe()
            )
        return compiled
    if device == "auto":
        reason = why_no_accelerator()
        if reason:
            log.debug("%s; continuing with the %s", reason, compiled.describe())
            return compiled
        from gassst.gpu.probe import Probe

        return FasterExtender(reference_planes, threads, Probe(None, threads))
    from gassst.gpu.opencl import OpenCLExtender
    from gassst.gpu.probe import tried

    tried_device = tried(device, threads).device
    return OpenCLExtender(reference_planes, tried_device, threads, scorer=compiled, profiling=profiling)

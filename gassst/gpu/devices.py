"""What `gassst devices` says: platforms and devices, and which one a run would use, and why."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from gassst._core.stages import instruction_sets
from gassst.errors import DeviceError
from gassst.gpu.drivers import is_disabled, why_no_accelerator

if TYPE_CHECKING:
    from gassst.gpu.device import DeviceInfo
    from gassst.gpu.search import DeviceSearch
    from gassst.index.seed_index import SeedIndex
    from gassst.model.params import MapParams

log = logging.getLogger("gassst")

MOST_BASES = 1 << 32
"""Of a reference: coordinates on a device have 32 bits."""

GPU = (
    "for runs of `gassst map` that are long enough: a GPU goes before an accelerator, then most compute units"
)
NO_GPU = "no GPU; an OpenCL device that is a CPU is used only where it is named"


def is_late(device: str | None) -> bool:
    """Whether a run looks for the device only while it maps: for a GPU, whose start takes as long as a short run.

    Where no device is named, for any GPU whose driver is there.
    """
    if is_disabled(device):
        return False
    return (device or "").lower() == "gpu" or (not is_named(device) and not why_no_accelerator())


def is_named(device: str | None) -> bool:
    """Whether a device was asked for, so that its lack is an error."""
    return device is not None and device.lower() != "auto"


def check_device(params: MapParams) -> None:
    """DeviceError if a device was asked for by name that is not there or does not pass its trial.

    Nothing is said of one that `is_late`.
    """
    device = params.device
    if device is not None and is_named(device) and not is_disabled(device) and not is_late(device):
        from gassst.gpu.probe import kind_of, tried

        tried(device.lower(), params.threads, kind_of(params))


def named_search(index: SeedIndex, params: MapParams) -> DeviceSearch | None:
    """The search on the device that parameters name; None where they name none, or GASSST_OPENCL=0 rules it out.

    Raises DeviceError where it cannot be had, or does not pass its trial.
    """
    if params.device is None or not is_named(params.device) or is_disabled(params.device):
        if is_named(params.device) and str(params.device).lower() != "none":
            log.warning("GASSST_OPENCL=0: device %r is not used; continuing on the host", params.device)
        return None
    if index.reference.total > MOST_BASES:
        raise DeviceError(
            f"a reference of more than {MOST_BASES:,} bases is mapped on the host: --device none"
        )
    from gassst.gpu import platforms
    from gassst.gpu.device import Engine
    from gassst.gpu.probe import kind_of, tried
    from gassst.gpu.search import DeviceSearch, sources_of

    verdict = tried(params.device.lower(), params.threads, kind_of(params), index.step)
    info, device = platforms.choose(verdict.device, params.threads)
    return DeviceSearch(index, Engine(info, device, index.reference.planes), sources=sources_of(params))


def describe_devices(note: Callable[[DeviceInfo], str] | None = None) -> str:
    """Lines for people: every OpenCL device by platform, and what would be chosen and why.

    `note`: more of a usable device, on a line of its own.
    """
    from gassst.gpu import platforms

    lines: list[str] = []
    platform = None
    for info in platforms.devices():
        if info.platform != platform:
            platform = info.platform
            lines.append(f"OpenCL platform {platform}")
        fault = "" if info.usable else f"  (not usable: {info.reason})"
        size = f"{info.compute_units} compute units, {info.memory / 2**30:.1f} GiB, driver {info.driver}"
        lines.append(f"  {info.index}  {info.type:<4} {info.name}, {size}{fault}")
        if note is not None and info.usable:
            lines.append(f"       {note(info)}")
    if lines:  # where there is no device, the choice says why
        lines += platforms.not_loaded()
    chosen, reason = _choice()
    return "\n".join([*(lines or ["no OpenCL device"]), f"chosen: {chosen} ({reason})"])


def _choice() -> tuple[str, str]:
    """What a run would use when no device is named, and why."""
    from gassst.gpu import platforms

    cpu = f"CPU backend, {instruction_sets()[0]}"
    if is_disabled(None):
        return cpu, "GASSST_OPENCL=0"
    try:
        info, _ = platforms.choose()
    except DeviceError as error:
        return cpu, str(error)
    return (cpu, NO_GPU) if info.type == "cpu" else (f"{info.index} {info.name}", GPU)

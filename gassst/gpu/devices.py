"""What `gassst devices` says: platforms and devices, and which one a run would use, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gassst._core.stages import instruction_sets
from gassst.errors import DeviceError
from gassst.gpu.drivers import is_disabled, why_no_accelerator

if TYPE_CHECKING:
    from gassst.gpu.device import DeviceInfo

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


def check_device(device: str | None, threads: int) -> None:
    """DeviceError if a device was asked for by name that is not there or does not pass its trial.

    Nothing is said of one that `is_late`.
    """
    if device is not None and is_named(device) and not is_disabled(device) and not is_late(device):
        from gassst.gpu.probe import tried

        tried(device.lower(), threads)


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
    """What `make_extender` would use when no device is named, and why."""
    from gassst.gpu import platforms

    cpu = f"CPU backend, {instruction_sets()[0]}"
    if is_disabled(None):
        return cpu, "GASSST_OPENCL=0"
    try:
        info, _ = platforms.choose()
    except DeviceError as error:
        return cpu, str(error)
    return (cpu, NO_GPU) if info.type == "cpu" else (f"{info.index} {info.name}", GPU)

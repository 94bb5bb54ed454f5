"""The OpenCL devices of this machine, and which one is meant by a name."""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import TYPE_CHECKING

from gassst.errors import DeviceError
from gassst.gpu.device import REMEDY, Device, DeviceInfo, load_pyopencl
from gassst.gpu.drivers import drivers, is_disabled, own_signals, registered, why_not_loaded

if TYPE_CHECKING:
    from types import ModuleType

    import pyopencl

    Found = tuple[DeviceInfo, pyopencl.Device]

log = logging.getLogger("gassst")

ALL = ":all"  # behind the name of a kind of devices


def _type_name(cl: ModuleType, device: pyopencl.Device) -> str:
    for name in ("GPU", "ACCELERATOR", "CPU"):
        if device.type & getattr(cl.device_type, name):
            return name.lower()
    return "custom"


def _why_not(cl: ModuleType, device: pyopencl.Device) -> str:
    if not device.available:
        return "not available"
    if not device.compiler_available:
        return "no compiler"
    if not device.endian_little:
        return "big-endian"
    return _why_not_compiled(cl, device) if device.type & cl.device_type.CPU else ""


def _why_not_compiled(cl: ModuleType, device: pyopencl.Device) -> str:
    """Why the compiler builds no kernel at all, "" if it does: the LLVM of an older PoCL refuses a newer processor."""
    try:
        with own_signals():
            cl.Program(cl.Context([device]), "__kernel void nothing(void) {}").build()
    except cl.Error as error:
        said = re.search(r"^error: (.*)", str(error), re.MULTILINE)
        return f"its compiler builds nothing for this processor: {said[1] if said else str(error).splitlines()[0]}"
    return ""


def _describe(cl: ModuleType, index: str, platform: pyopencl.Platform, device: pyopencl.Device) -> DeviceInfo:
    reason = _why_not(cl, device)
    return DeviceInfo(
        index=index,
        platform=platform.name.strip(),
        name=device.name.strip(),
        type=_type_name(cl, device),
        compute_units=device.max_compute_units,
        memory=device.global_mem_size,
        driver=device.driver_version.strip(),
        usable=not reason,
        reason=reason,
        allocation=device.max_mem_alloc_size,
    )


def _discover(threads: int | None = None) -> list[Found]:
    """(DeviceInfo, pyopencl.Device) of every device, maybe none. DeviceError without pyopencl."""
    cl = load_pyopencl(threads)
    found = []
    for p, platform in enumerate(_platforms(cl)):
        try:
            devices_here = platform.get_devices()
        except cl.Error as error:
            log.debug("OpenCL platform %s: %s", platform.name, error)
            continue
        for d, device in enumerate(devices_here):
            found.append((_describe(cl, f"{p}:{d}", platform, device), device))
    return found


def _platforms(cl: ModuleType) -> list[pyopencl.Platform]:
    try:
        with registered(), own_signals():
            platforms: list[pyopencl.Platform] = cl.get_platforms()
    except cl.Error:  # the loader says PLATFORM_NOT_FOUND_KHR where it finds none
        return []
    return platforms


def not_loaded() -> list[str]:
    """A line for each driver that is registered, but cannot be loaded."""
    faults = ((driver, why_not_loaded(driver)) for driver in drivers())
    return [f"OpenCL driver of {driver.source}: not usable, {fault}" for driver, fault in faults if fault]


def devices(threads: int | None = None) -> list[DeviceInfo]:
    """All OpenCL devices of this machine, usable or not; empty without pyopencl."""
    try:
        return [info for info, _ in _discover(threads)]
    except DeviceError as error:
        log.debug("%s", error)
        return []


def _matches(info: DeviceInfo, wanted: str) -> bool:
    wanted = wanted.lower()
    return wanted in (info.index, info.type) or (":" not in wanted and wanted in info.name.lower())


def choose(wanted: str | None = None, threads: int | None = None) -> Found:
    """The (DeviceInfo, pyopencl.Device) to use: GPU, then accelerator, then CPU, then by compute units.

    `wanted` narrows it: an index "0:1", "gpu", "cpu", "accelerator", or part of a name. DeviceError when none
    is left.
    """
    return _ranked(wanted, threads)[0]


def choose_all(wanted: str, threads: int | None = None) -> list[Found]:
    """The devices to use together: that of `choose`, or with ":all" behind `wanted` all usable ones like it.

    Devices are alike that have a platform, a type and a name in common. Raises DeviceError when none is left.
    """
    first = choose(wanted.removesuffix(ALL), threads)
    if not wanted.endswith(ALL):
        return [first]
    return [pair for pair in _discover(threads) if pair[0].usable and _kind(pair[0]) == _kind(first[0])]


def _kind(info: DeviceInfo) -> tuple[str, str, str]:
    return info.platform, info.type, info.name


def _ranked(wanted: str | None, threads: int | None) -> list[Found]:
    found = _discover(threads)
    if not found:
        why = "; ".join(not_loaded()) or "a driver is missing"
        raise DeviceError(
            f"no OpenCL device found: {why}. `pip install gassst[opencl]` makes the CPU a device on x86-64 Linux, "
            f"`conda install pocl` elsewhere; {REMEDY}"
        )
    fitting = [pair for pair in found if wanted is None or _matches(pair[0], wanted)]
    if not fitting:
        names = "; ".join(str(info) for info, _ in found)
        raise DeviceError(f"no OpenCL device matches {wanted!r}; there are: {names}")
    usable = [pair for pair in fitting if pair[0].usable]
    if not usable:
        raise DeviceError(f"no usable OpenCL device: {fitting[0][0]}")
    order = ("gpu", "accelerator", "cpu", "custom")
    return sorted(usable, key=lambda pair: (order.index(pair[0].type), -pair[0].compute_units))


def opened(wanted: str, threads: int) -> list[Device]:
    """The devices of `choose_all`, with what later calls find again: contexts and programs.

    `threads` bounds those of a device that is a CPU. Raises DeviceError where there is none, and where GASSST_OPENCL=0
    rules all out.
    """
    if is_disabled(wanted):
        raise DeviceError("GASSST_OPENCL=0 keeps OpenCL out of this run")
    return [_opened(info.index, threads) for info, _ in choose_all(wanted.lower(), threads)]


@cache
def _opened(index: str, threads: int) -> Device:
    return Device(*choose(index, threads))

"""Which drivers of OpenCL are registered here, and whether one may be that of an accelerator; none is loaded for it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from gassst.frozen import NamedTuple

VENDORS = "/etc/OpenCL/vendors"
OF_CPUS = ("pocl", "intelocl")  # in the name of a driver's library
PACKAGE, LIBRARY = "intel-opencl-rt", "libintelocl.so"  # of the extra opencl


class Driver(NamedTuple):
    """A driver that is registered: what registers it, and the path or name of its library."""

    source: str
    library: str


def is_disabled(device: str | None) -> bool:
    """Whether no OpenCL device is looked for at all."""
    return os.environ.get("GASSST_OPENCL") == "0" or (device or "").lower() == "none"


def why_no_accelerator() -> str:
    """Why there can be no GPU or accelerator here, "" if there may be one.

    On Linux a driver registers itself by a file that names its library. Where there are none but those that run on the
    CPU, the compiled code is at least as fast and needs no programs built.
    """
    if not sys.platform.startswith("linux"):
        return ""
    if os.environ.get("OCL_ICD_FILENAMES"):
        return ""
    for driver in _registered():
        if not any(name in driver.library.lower() for name in OF_CPUS):
            return ""
    return "no OpenCL driver of a GPU is registered"


def drivers() -> list[Driver]:
    """Returns those of the system, or where the environment says, and what the extra `opencl` installed."""
    found = _registered()
    library = "" if _is_named() else _library_of_pip()
    if library and not any(LIBRARY in driver.library for driver in found):
        found.append(Driver(PACKAGE, library))
    return found


@contextmanager
def registered() -> Iterator[None]:
    """Context in which a loader finds all of `drivers` when it first looks for platforms.

    What pip installs is registered nowhere: the file of Intel's runtime names a folder of another machine. So a folder
    stands in for that of the system meanwhile. Where none can be made, the loader finds the system's drivers.
    """
    from tempfile import TemporaryDirectory

    with ExitStack() as stack:
        with suppress(OSError):
            found = drivers()
            if found and found[-1].source == PACKAGE:
                made = TemporaryDirectory(prefix="gassst-opencl-", ignore_cleanup_errors=True)
                folder = stack.enter_context(made)
                for i, driver in enumerate(found):
                    with open(os.path.join(folder, f"{i:03}.icd"), "w", encoding="utf-8") as file:
                        file.write(f"{driver.library}\n")
                stack.callback(os.environ.pop, "OCL_ICD_VENDORS", None)
                os.environ["OCL_ICD_VENDORS"] = folder
        yield


@contextmanager
def own_signals() -> Iterator[None]:
    """Context after which signals go where they went before.

    Compilers inside of drivers take the signals that end a process for themselves: to print their own stack, where
    gassst removes what is half written, or where Python lets a write fail that is too large.
    """
    import ctypes

    before, call = {}, ctypes.CDLL(None).sigaction
    for number in map(int, signal.valid_signals()):
        action = ctypes.create_string_buffer(1024)  # longer than a `struct sigaction`
        if call(number, None, action) == 0:
            before[number] = action
    try:
        yield
    finally:
        for number, action in before.items():
            call(number, action, None)


def why_not_loaded(driver: Driver) -> str:
    """What the linker says of a library that it cannot load, "" if it can."""
    import ctypes

    try:
        with own_signals():
            ctypes.CDLL(driver.library)
    except OSError as error:
        return str(error)
    return ""


def _is_named() -> bool:
    """Whether the environment says where drivers are registered."""
    return any(map(os.environ.get, ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES")))


def _registered() -> list[Driver]:
    """By files, in the order of their names. What names a library that is not in its folder was not installed here."""
    system = os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH") or VENDORS
    found = []
    for folder in (system, os.path.join(sys.prefix, "etc", "OpenCL", "vendors")):
        with suppress(OSError):
            for name in sorted(name for name in os.listdir(folder) if name.endswith(".icd")):
                path = os.path.join(folder, name)
                with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                    library = file.read().strip()
                    if folder == system or not os.path.isabs(library) or os.path.exists(library):
                        found.append(Driver(path, library))
    return found


def _library_of_pip() -> str:
    """The library that the extra `opencl` installed, "" if there is none."""
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files(PACKAGE) or ():
            if file.name == LIBRARY:
                return os.path.realpath(str(file.locate()))
    return ""

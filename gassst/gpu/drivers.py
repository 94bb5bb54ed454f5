"""Whether the driver of an accelerator is registered here; none is loaded to find out."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

VENDORS = "/etc/OpenCL/vendors"


def is_disabled(device: str | None) -> bool:
    """Whether no OpenCL device is looked for at all."""
    return os.environ.get("GASSST_OPENCL") == "0" or (device or "").lower() == "none"


def why_no_accelerator() -> str:
    """Why there can be no GPU or accelerator here, "" if there may be one.

    On Linux a driver registers itself by a file that names its library. Where there is none but PoCL, which runs on the
    CPU, the compiled code is at least as fast and needs no programs built.
    """
    if not sys.platform.startswith("linux"):
        return ""
    if os.environ.get("OCL_ICD_FILENAMES"):
        return ""
    named = os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH") or VENDORS
    for folder in (named, os.path.join(sys.prefix, "etc", "OpenCL", "vendors")):
        for name in _names_in(folder):
            with (
                suppress(OSError),
                open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file,
            ):
                if name.endswith(".icd") and "pocl" not in file.read().lower():
                    return ""
    return "no OpenCL driver of a GPU is registered"


def _names_in(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []

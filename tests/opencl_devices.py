"""The OpenCL devices of the tests. A test reaches one by the mark `device` alone: without it, conftest.py hides them.

`device` asks for any usable device, `device("cpu")` for one of this type, `device("Portable")` for one whose platform's
name begins so. Where there is none the test is skipped, and the summary says why.
"""

from functools import cache

import pytest

from gassst.errors import DeviceError
from gassst.gpu import platforms
from gassst.gpu.device import DeviceInfo
from gassst.gpu.drivers import is_disabled


@cache
def usable(kind: str = "") -> list[DeviceInfo]:
    """Lists those that can be used, of a type or a platform."""
    if is_disabled(None):
        return []
    found = [info for info in platforms.devices(threads=2) if info.usable]
    return [info for info in found if kind == info.type or info.platform.startswith(kind)]


@cache
def why_none(kind: str = "") -> str:
    """Why there is none, "" if there is one."""
    if usable(kind):
        return ""
    if is_disabled(None):
        return "no OpenCL device: GASSST_OPENCL=0"
    if usable():
        return f"no OpenCL device of the kind {kind}"
    try:
        return f"no OpenCL device of the kind {platforms.choose()[0]}"
    except DeviceError as error:
        return str(error).partition(". ")[0]


def each_device() -> list:
    """Parameters of a fixture or a test: a DeviceInfo each."""
    infos = usable() or [None]
    names = [f"{info.type}-{info.index}" if info else "no device" for info in infos]
    return [
        pytest.param(info, id=name, marks=pytest.mark.device) for info, name in zip(infos, names, strict=True)
    ]

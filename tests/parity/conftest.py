import pytest
from alignments import BACKENDS
from device_searches import SPLIT
from opencl_devices import each_device

import gassst
from gassst.gpu import platforms
from gassst.gpu.bands import CpuExtender
from gassst.gpu.device import Engine
from gassst.gpu.opencl import OpenCLExtender
from gassst.gpu.search import DeviceSearch


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request):
    """reference planes -> extender"""
    kind, _, rest = request.param.partition("-")
    if kind == "cpu":
        return lambda planes: CpuExtender(planes, rest)
    return lambda planes: OpenCLExtender(planes, rest.partition("-")[2], threads=2)


@pytest.fixture(scope="module", params=each_device())
def engine(request, small_index):
    info, device = platforms.choose(request.param.index, 2)
    return Engine(info, device, gassst.Index.open(small_index).reference.planes)


@pytest.fixture(scope="module")
def index(small_index):
    return gassst.Index.open(small_index)


@pytest.fixture(scope="module")
def search(engine, index):
    """One for all tests: its kernels are built once."""
    return DeviceSearch(index, engine, SPLIT)

from functools import partial

import pytest
from device_searches import SPLIT
from kernel_bands import Reads
from opencl_devices import each_device

import gassst
from gassst._core.stages import instruction_sets
from gassst.gpu import platforms
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch


@pytest.fixture(scope="session", params=instruction_sets())
def backend(request):
    """(reference planes, packed reads) -> reads for kernels of an instruction set"""
    return partial(Reads, instruction_set=request.param)


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

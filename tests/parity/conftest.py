import pytest
from alignments import BACKENDS

from gassst.extension.cpu import CpuExtender
from gassst.extension.opencl import OpenCLExtender


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request):
    """reference planes -> extender"""
    kind, _, rest = request.param.partition("-")
    if kind == "cpu":
        return lambda planes: CpuExtender(planes, rest)
    return lambda planes: OpenCLExtender(planes, rest.partition("-")[2], threads=2)

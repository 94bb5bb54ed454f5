"""Whatever an OpenCL driver does, the process goes on: with compiled code, and one line that says why."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec

import pytest

from gassst.bands.cpu import CpuExtender
from gassst.errors import DeviceError
from gassst.gpu import drivers, platforms, probe
from gassst.gpu.choose import make_extender
from gassst.gpu.opencl import OpenCLExtender

CPUS = [info.index for info in platforms.devices(threads=2) if info.usable and info.type == "cpu"]
needs_cpu = pytest.mark.skipif(not CPUS, reason="no OpenCL device that is a CPU here")


@pytest.fixture
def planes():
    return probe._pairs()[0]


@pytest.fixture(autouse=True)
def no_verdicts(monkeypatch):
    """Verdicts of one test are not those of another, and neither is the environment."""
    probe._tried.cache_clear()
    for name in ("POCL_CACHE_DIR", "PYOPENCL_NO_CACHE", "GASSST_OPENCL"):
        monkeypatch.delenv(name, raising=False)
    yield
    probe._tried.cache_clear()


# --- the trial ----------------------------------------------------------------------------------------------


def break_trial(monkeypatch, tmp_path, program):
    """The process of the trial runs this instead; it has the device and the number of threads as arguments."""
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{program}' \"$@\"\n")
    script.chmod(0o755)
    monkeypatch.setattr(drivers.sys, "executable", str(script))


FAILURES = {
    "abort": ("import os; os.abort()", "SIGABRT"),
    "segmentation fault": ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
    "exit code": ("raise SystemExit(3)", "exit code 3"),
    "no answer": ("pass", "exit code 0"),
    "nonsense": ('print("[1")', "exit code 0"),
    "a traceback": ("1 / 0", "exit code 1"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_trial_that_fails_is_a_line(monkeypatch, tmp_path, planes, case):
    program, reason = FAILURES[case]
    break_trial(monkeypatch, tmp_path, program)
    with pytest.raises(DeviceError, match=reason):
        make_extender(planes, "cpu")


@needs_cpu
def test_wrong_results_are_no_device(monkeypatch):
    monkeypatch.setattr("gassst.bands.cpu.CpuExtender", lambda planes: CpuExtender(planes[::-1]))
    answer = probe.run_trial(CPUS[0], 1)
    assert answer["device"] is None and "wrong results" in answer["reason"]


# --- after a fork -------------------------------------------------------------------------------------------


@needs_cpu
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_goes_on_without_the_device(planes):
    packed = probe._pairs()[1]
    extender = OpenCLExtender(planes, CPUS[0], 1)
    expected = probe._results(extender, packed)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(probe._results(extender, packed) == expected))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the case here
        child.start()
    try:
        child.join(60)
        assert child.exitcode == 0 and queue.get()
    finally:
        child.kill()
        child.join()


@needs_cpu
def test_a_damaged_cache_of_pocl_ends_no_process(tmp_path):
    """All files of the cache cut to nothing, which nothing repairs. Every process builds a few kernels only."""
    (tmp_path / "sitecustomize.py").write_text(
        "from gassst.bands import base\nbase.WORDS, base.WIDTHS = base.WORDS[:1], ()\n"
    )
    cache = tmp_path / "cache"
    program = (
        "import sys\n"
        "from gassst.gpu import probe\n"
        "from gassst.gpu.choose import make_extender\n"
        "planes, packed = probe._pairs()\n"
        "print(len(probe._results(make_extender(planes, 'cpu', 1), packed)))\n"
    )
    cache.mkdir()
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "POCL_CACHE_DIR": str(cache), "PYOPENCL_NO_CACHE": "1", "PYTHONPATH": path}
    environment.pop("GASSST_OPENCL", None)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout.strip().isdecimal()) == (0, True), done.stderr
        libraries = list(cache.rglob("*.so"))
        assert libraries
        for library in libraries:
            library.write_bytes(b"")


# --- without PoCL, without pyopencl -------------------------------------------------------------------------

NO_DRIVER = """
class Error(Exception): pass
class CompilerWarning(UserWarning): pass
def get_platforms(): raise Error("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")
"""
MISSING = {
    "a driver is missing": (
        NO_DRIVER,
        "no OpenCL device found: a driver is missing. PoCL makes the CPU a device (`pip install gassst[opencl]` ",
    ),
    "no pyopencl": (
        "raise ImportError('no wheel here')",
        "pyopencl cannot be imported: no wheel here. Install",
    ),
}


@pytest.mark.parametrize(("module", "message"), MISSING.values(), ids=MISSING.keys())
def test_all_but_a_named_device_works_without(module, message, tmp_path, small_index, small_fastq):
    """As on ARM and macOS, where PoCL has no wheel; trials in other processes see the same."""
    (tmp_path / "pyopencl.py").write_text(module)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    def gassst(*argv):
        command = [sys.executable, "-m", "gassst", *map(str, argv)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        return done.returncode, done.stdout, done.stderr

    assert gassst("map", small_index, small_fastq, "-q", "-t", 1)[::2] == (0, "")
    code, out, error = gassst("devices")
    assert (code, error) == (0, "") and out.startswith("no OpenCL device\nchosen: CPU backend")
    code, out, error = gassst("map", small_index, small_fastq, "--device", "cpu")
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert error.startswith(f"gassst: {message}") and "`--device none`" in error


def stderr_of_small_run(drivers, index, reads, then):
    """What a process says that maps a few reads with these drivers registered, then runs `then`."""
    program = (
        "import sys\n"
        "from gassst.cli.main import main\n"
        f"assert main(['map', {str(index)!r}, {str(reads)!r}, '-q', '-t', '1']) == 0\n"
        f"{then}\n"
    )
    more = {"OCL_ICD_VENDORS": str(drivers), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment = {**os.environ, **more}
    environment.pop("GASSST_OPENCL", None)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    return done.stderr


def test_a_run_imports_no_opencl_that_it_does_not_use(tmp_path, small_index, small_fastq):
    """Neither pyopencl nor matplotlib, whose extra may be missing, where a driver is missing of a GPU is registered."""
    (tmp_path / "pocl.icd").write_text("libpocl.so.2\n")
    shown = "print(sorted({'pyopencl', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    assert stderr_of_small_run(tmp_path, small_index, small_fastq, shown) == "[]\n"


def test_a_small_run_imports_nothing_that_it_does_not_use(tmp_path, small_index, small_fastq):
    """Short runs consist of imports: none of a process pool, of devices, or of other tasks."""
    shown = "print(*sys.modules, sep='\\n', file=sys.stderr)"
    loaded = set(stderr_of_small_run(tmp_path, small_index, small_fastq, shown).split())
    unused = (
        "numpy.ma numpy.random numpy.fft numpy.testing multiprocessing concurrent.futures.process subprocess socket"
        " asyncio csv gassst.align gassst.mapping.alt gassst.cluster gassst.tools.report"
        " gassst.tools.simulate gassst.records.duplicates"
        " gassst.workers.process gassst.workers.processes gassst.workers.shared_memory"
    )
    assert all(find_spec(name) for name in unused.split())  # a name that changes must change here, too
    assert loaded.isdisjoint(unused.split())
    of_devices = {name for name in loaded if name.startswith("gassst.gpu.")}
    assert of_devices <= {f"gassst.gpu.{name}" for name in ("drivers", "devices", "choose")}

"""Whatever an OpenCL driver does, the process goes on: with compiled code, and one line that says why."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from opencl_devices import usable

import gassst
from gassst.errors import DeviceError
from gassst.gpu import drivers, platforms, probe
from gassst.gpu.device import Device, DeviceInfo
from gassst.gpu.devices import named_search
from gassst.gpu.search import DeviceSearch
from gassst.model.params import MapParams
from gassst.reads.in_memory import batch_of_records


@pytest.fixture
def index(small_index):
    return gassst.Index.open(small_index)


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
def test_a_trial_that_fails_is_a_line(monkeypatch, tmp_path, index, case):
    program, reason = FAILURES[case]
    break_trial(monkeypatch, tmp_path, program)
    with pytest.raises(DeviceError, match=reason):
        named_search(index, MapParams(device="cpu"))


@pytest.mark.device
@pytest.mark.parametrize("kind, step", [(probe.SEARCH, 1), (probe.SEARCH, 2), (probe.ALL_PLACES, 2)])
def test_a_search_is_tried_where_a_run_searches(monkeypatch, kind, step):
    """By the programs of its step."""
    name, build, built = usable()[0].index, Device._build, []
    monkeypatch.setattr(Device, "_build", lambda *of: built.append(of[2]) or build(*of))
    assert probe.run_trial(name, 1, kind, step) == {"device": name, "reason": ""}
    assert built and all(f"-DSTEP={step} " in options[0] for options in built)
    find = DeviceSearch._found
    monkeypatch.setattr(DeviceSearch, "_found", lambda *a: changed(find(*a)))
    assert "wrong results" in probe.run_trial(name, 1, kind, step)["reason"]


def changed(found):
    """Each array of the answer has another number in its middle."""
    for array in found:
        if isinstance(array, np.ndarray) and array.size:
            numbers = array["key"] if array.dtype.names else array
            numbers.flat[array.size // 2] += 2
    return found


# --- which device, and none ---------------------------------------------------------------------------------


def fake(type_, units, index="0:0", usable=True):
    reason = "" if usable else "broken"
    return DeviceInfo(index, "P", f"Fake {type_}", type_, units, 2**30, "1", usable, reason)


def test_choice_goes_by_type_then_units(monkeypatch):
    infos = [
        fake("cpu", 64, "0:0"),
        fake("gpu", 8, "1:0"),
        fake("gpu", 80, "1:1"),
        fake("gpu", 99, "1:2", False),
        fake("accelerator", 500, "2:0"),
    ]
    monkeypatch.setattr(platforms, "_discover", lambda threads=None: [(info, None) for info in infos])
    expected = {None: "1:1", "cpu": "0:0", "gpu": "1:1", "0:0": "0:0", "1:0": "1:0", "fake acc": "2:0"}
    assert {wanted: platforms.choose(wanted)[0].index for wanted in expected} == expected
    with pytest.raises(DeviceError, match="broken"):
        platforms.choose("1:2")
    with pytest.raises(DeviceError, match="no OpenCL device matches '3:0'; there are: 0:0 cpu Fake cpu"):
        platforms.choose("3:0")


def test_a_device_that_the_environment_rules_out_is_told(monkeypatch, caplog, index):
    monkeypatch.setenv("GASSST_OPENCL", "0")
    assert named_search(index, MapParams(device="cpu")) is None
    assert "GASSST_OPENCL=0: device 'cpu' is not used" in caplog.text


# --- after a fork -------------------------------------------------------------------------------------------


@pytest.mark.device("cpu")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_goes_on_without_the_device(index, small_reads):
    mapper = gassst.Mapper(index, device="cpu", threads=1)
    batch = batch_of_records(small_reads[:40])

    def mapped():
        result, stats = mapper._engine.map_batch(batch)
        return result.hits.tobytes(), stats.extension.device_scored > 0

    expected, by_device = mapped()
    assert by_device
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(mapped() == (expected, False)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the case here
        child.start()
    try:
        child.join(60)
        assert child.exitcode == 0 and queue.get()
    finally:
        child.kill()
        child.join()


@pytest.mark.device("cpu")
def test_a_damaged_cache_of_programs_ends_no_process(tmp_path, small_index):
    """Those of PoCL cut to nothing, which nothing repairs, and those of pyopencl."""
    cache = tmp_path / "cache"
    program = (
        "import sys, gassst\n"
        f"with gassst.Mapper({str(small_index)!r}, device='cpu', threads=1) as mapper:\n"
        "    print(len(list(mapper.map([('read', 'ACGTTGCATTGACCAGT' * 3, None)]))))\n"
    )
    cache.mkdir()
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    caches = {"POCL_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
    environment = {**os.environ, **caches, "PYTHONPATH": path}
    environment.pop("GASSST_OPENCL", None)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout.strip().isdecimal()) == (0, True), done.stderr
        programs = [*cache.rglob("*.so"), *cache.rglob("binary")]
        assert programs
        for program_file in programs:
            program_file.write_bytes(b"")


# --- without PoCL, without pyopencl -------------------------------------------------------------------------

NO_DRIVER = """
class Error(Exception): pass
class CompilerWarning(UserWarning): pass
def get_platforms(): raise Error("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")
"""
MISSING = {
    "a driver is missing": (
        NO_DRIVER,
        "no OpenCL device found: a driver is missing. `pip install gassst[opencl]` makes the CPU a device on ",
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
    """What a process says that maps a few reads with these drivers alone registered, then runs `then`."""
    program = (
        "import sys\n"
        f"sys.prefix = {str(drivers / 'none')!r}\n"  # where an environment of conda registers its own
        "from gassst.cli.main import main\n"
        f"assert main(['map', {str(index)!r}, {str(reads)!r}, '-q', '-t', '1']) == 0\n"
        f"{then}\n"
    )
    more = {"OCL_ICD_VENDORS": str(drivers), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment = {**os.environ, **more}
    for name in ("GASSST_OPENCL", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"):
        environment.pop(name, None)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    return done.stderr


UNUSED = """
pyopencl matplotlib shtab pysam numpy.ma numpy.random numpy.fft numpy.testing numpy.typing multiprocessing
concurrent.futures.process subprocess socket asyncio csv hashlib difflib importlib.metadata gassst.align gassst.fold
gassst.hmm gassst.semiring gassst.cluster gassst.cli.mem gassst.cli.index gassst.index.build_parts gassst.mapping.alt
gassst.records.duplicates gassst.records.gathering gassst.records.marking gassst.records.sorting
gassst.records.sorted_runs gassst.tools.multiqc gassst.tools.report gassst.tools.simulate gassst._core.thesis_filters
"""


def test_a_small_run_imports_nothing_that_it_does_not_use(tmp_path, small_index, small_fastq):
    """Short runs consist of imports: none of other tasks, none of devices where that of a GPU is not registered."""
    (tmp_path / "pocl.icd").write_text("libpocl.so.2\n")
    shown = "print(*sys.modules, sep='\\n', file=sys.stderr)"
    loaded = set(stderr_of_small_run(tmp_path, small_index, small_fastq, shown).split())
    installed = set(UNUSED.split()) - {"pyopencl", "shtab"}
    assert all(map(find_spec, installed))  # a name that changes must change here, too
    assert loaded.isdisjoint(UNUSED.split())
    of_devices = {name for name in loaded if name.startswith("gassst.gpu.")}
    assert of_devices <= {f"gassst.gpu.{name}" for name in ("drivers", "devices")}


# --- drivers that are registered ----------------------------------------------------------------------------


def registered_in(folder, monkeypatch, **files):
    """Drivers of these libraries, each named by a file of the folder; the system has no others."""
    for name, library in files.items():
        (folder / f"{name}.icd").write_text(f"{library}\n")
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(drivers, "VENDORS", str(folder))
    monkeypatch.setattr(drivers.sys, "prefix", str(folder / "none"))


@pytest.mark.parametrize(
    ("library", "may_be"),
    [("libpocl.so.2", False), ("/opt/lib/libintelocl.so", False), ("libnvidia-opencl.so.1", True)],
)
def test_drivers_of_cpus_are_no_accelerators(tmp_path, monkeypatch, library, may_be):
    registered_in(tmp_path, monkeypatch, one=library)
    assert (drivers.why_no_accelerator() == "") == may_be


# --- tests --------------------------------------------------------------------------------------------------


def test_a_test_without_the_mark_finds_no_device():
    """Neither in this process nor in those that it starts, whatever is installed: so no test can forget the mark."""
    assert platforms.devices() == []
    code = "from gassst.gpu import platforms; print([d for d in platforms.devices() if 'Portable' not in d.platform])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        shown.stdout == "[]\n"
    )  # PoCL of pip, which is no part of the extra, is found by pyopencl's own loader


SIGNALS = """
import ctypes, signal
from gassst.gpu.device import KERNELS
from gassst.gpu.platforms import opened

def handlers():
    found = {}
    for number in map(int, signal.valid_signals()):
        action = ctypes.create_string_buffer(1024)
        ctypes.CDLL(None).sigaction(number, None, action)
        found[number] = action.raw[:8]
    return found

before = handlers()
opened("cpu", 1)[0].program((KERNELS / "band.h",), ("-DWORDS=1",))
assert handlers() == before
"""


@pytest.mark.device("Intel")
def test_the_runtime_of_the_extra_leaves_signals_to_the_program():
    """The compiler inside of it takes SIGTERM, SIGINT, SIGBUS and SIGXFSZ, after which nothing is cleaned up."""
    ended = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr

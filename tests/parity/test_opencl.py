"""Devices: which one is chosen, what happens without one, and when it fails."""

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from alignments import make_pairs, make_reference, pack, planes_of
from local_pairs import aligned, scored
from opencl_devices import each_device, usable

from gassst.errors import DeviceError
from gassst.gpu import device as device_module
from gassst.gpu import opencl, platforms
from gassst.gpu.bands import CpuExtender
from gassst.gpu.choose import make_extender
from gassst.gpu.device import DeviceInfo
from gassst.gpu.opencl import OpenCLExtender
from gassst.model.params import Scoring
from gassst.model.times import Times


@pytest.fixture(params=each_device())
def device(request):
    return request.param.index


@pytest.fixture(scope="module")
def case():
    """(reference planes, packed reads, read_strand, band_start)"""
    rng = np.random.default_rng(4)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, 1500, 1, (30, 200))
    return planes_of(reference), pack(reads), read_strand, band_start


@pytest.fixture(autouse=True)
def fresh_environment(monkeypatch):
    monkeypatch.delenv("GASSST_OPENCL", raising=False)


def results(extender, case, words=1):
    _, packed, read_strand, band_start = case
    with extender.open_reads(packed) as handle:
        best, end = handle.score(read_strand, band_start, words)
        aligned = handle.align(read_strand, band_start, words, end, best)
        return [a.tobytes() for a in (best, end, handle.profile(read_strand, band_start, words), *aligned)]


@pytest.fixture(scope="module")
def expected(case):
    return results(CpuExtender(case[0], "generic"), case)


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


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


@pytest.mark.device
def test_a_cpu_is_used_only_where_it_is_named(caplog, case, expected):
    cpus = usable("cpu")
    if len(cpus) == len(usable()):
        assert make_extender(case[0]).name == "cpu" and not warnings_in(caplog)
    for info in cpus:
        extender = make_extender(case[0], info.index, threads=2)
        assert extender.name == "opencl" and info.platform in extender.describe()
        assert results(extender, case) == expected


def launched_by(monkeypatch):
    """Names of the kernels that run on a device from here on."""
    run, names = opencl.BandProcessing.note, []

    def noting(self, name, *arguments):
        names.append(name)
        return run(self, name, *arguments)

    monkeypatch.setattr(opencl.BandProcessing, "note", noting)
    return names


def all_kernels(extender, case):
    _, packed, read_strand, band_start = case
    with extender.open_reads(packed) as handle:
        local = scored(handle, read_strand, band_start, 64, Scoring())
        local += aligned(handle, read_strand, band_start, 64, Scoring())
    return results(extender, case) + [a.tobytes() for a in local]


@pytest.mark.parametrize("type_", ["cpu", "gpu"])
def test_scores_stay_on_a_gpu_and_leave_a_cpu(device, type_, case, monkeypatch):
    """Alignments are the device's everywhere. Every call is counted once, wherever it ran."""
    choose = platforms.choose
    monkeypatch.setattr(
        platforms, "choose", lambda *a: (replace(choose(device)[0], type=type_), choose(device)[1])
    )
    names = launched_by(monkeypatch)
    extender = OpenCLExtender(case[0], device, scorer=CpuExtender(case[0]))
    assert all_kernels(extender, case) == all_kernels(CpuExtender(case[0]), case)
    scores = [] if type_ == "cpu" else ["score", "profile", "local_scores"]
    assert sorted(names) == sorted(["align", "local_alignments", *scores])
    assert ("scores: CPU backend" in extender.describe()) == (type_ == "cpu")
    times = extender.counters
    assert (times.calls, times.pairs) == (5, 5 * len(case[2])) and (times.kernel > 0) == (type_ == "cpu")


def test_an_extender_alone_does_all_on_its_device(device, case, monkeypatch):
    names = launched_by(monkeypatch)
    all_kernels(OpenCLExtender(case[0], device), case)
    assert sorted(names) == ["align", "local_alignments", "local_scores", "profile", "score"]


def test_no_pyopencl(monkeypatch, caplog, case):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    assert platforms.devices() == []
    assert make_extender(case[0]).name == "cpu" and not warnings_in(caplog)
    with pytest.raises(DeviceError, match="pyopencl"):
        OpenCLExtender(case[0], "cpu")


def test_build_failure_shows_the_log(device, monkeypatch, caplog, case):
    monkeypatch.setattr(
        device_module, "source", lambda paths: "__kernel void score() { nonsense_in_line_1; }"
    )
    with pytest.raises(DeviceError, match="nonsense_in_line_1"):
        OpenCLExtender(case[0], device)


def refuse_above(monkeypatch, limit):
    """Buffers above `limit` bytes become ones that no device has room for."""
    buffer, asked = opencl.BandProcessing.buffer, []

    def refusing(self, name, size):
        asked.append(size)
        return buffer(self, name, 1 << 62 if size > limit and not name.startswith("read_") else size)

    monkeypatch.setattr(opencl.BandProcessing, "buffer", refusing)
    return asked


def test_out_of_memory_halves_the_chunk(device, monkeypatch, caplog, case, expected):
    rows = int(case[1].lengths.max())
    asked = refuse_above(monkeypatch, 400 * 16 * rows)  # traceback of 400 pairs
    assert results(make_extender(case[0], device), case) == expected
    assert max(asked) > 400 * 16 * rows and not warnings_in(caplog)


def test_a_device_that_fails_later_is_an_error(device, monkeypatch, case):
    _, packed, read_strand, band_start = case

    def fail(*arguments):
        raise DeviceError("the card fell off the bus")

    with make_extender(case[0], device).open_reads(packed) as handle:
        best, end = handle.score(read_strand, band_start, 1)
        monkeypatch.setattr(opencl.BandProcessing, "note", fail)
        with pytest.raises(DeviceError, match="fell off"):
            handle.align(read_strand, band_start, 1, end, best)


def test_chunks_do_not_show(device, monkeypatch, case):
    extender = OpenCLExtender(case[0], device)
    monkeypatch.setattr(opencl, "TRACE_BYTES", 100_000)
    monkeypatch.setattr(opencl, "MAX_CHUNK", 333)
    assert all_kernels(extender, case) == all_kernels(CpuExtender(case[0], "generic"), case)


def test_threads_share_an_extender(device, case, expected):
    for extender in (OpenCLExtender(case[0], device), CpuExtender(case[0])):
        with ThreadPoolExecutor(4) as pool:
            assert all(r == expected for r in pool.map(lambda _, e=extender: results(e, case), range(12)))


def test_times_of_the_device(device, case):
    extender = OpenCLExtender(case[0], device)
    results(extender, case)
    times = extender.counters
    assert times.calls == 3 and times.pairs == 3 * len(case[2])
    assert times.compile > 0 == times.kernel
    total = Times(calls=1)
    total += times
    assert total.calls == 4 and total.compile == times.compile

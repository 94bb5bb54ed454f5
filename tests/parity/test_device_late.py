"""A device that a thread looks for while the host maps: no run waits for it, and how it fails."""

import logging
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from engines import late_engine
from opencl_devices import usable

from gassst.api.files import file_run
from gassst.cli.main import main
from gassst.errors import DeviceError
from gassst.gpu import late as late_module
from gassst.gpu.found import Found
from gassst.gpu.late import LateSearch
from gassst.gpu.taken import IN_FLIGHT


def batch(reads, exhaustive=False):
    """As much of a BatchContext as is looked at here."""
    return SimpleNamespace(n=reads, params=SimpleNamespace(exhaustive=exhaustive))


class Ready:
    """A DeviceSearch."""

    def __init__(self, meanwhile=lambda: None):
        self.meanwhile = meanwhile

    def search(self, context, stats, with_mates):
        self.meanwhile()
        return Found(*5 * [None])


@pytest.fixture
def any_batch(monkeypatch):
    """Batches of these tests are no more than `batch` makes."""
    monkeypatch.setattr(late_module, "is_taken", lambda _: True)


@pytest.fixture(autouse=True)
def a_driver(monkeypatch):
    """As beside a GPU, in this process."""
    monkeypatch.setattr("gassst.gpu.devices.why_no_accelerator", str)
    monkeypatch.delenv("GASSST_OPENCL", raising=False)


def late_of(index, device, search=None, **params) -> LateSearch:
    """That of a run; ready, if there is a search."""
    late = late_engine(index, device=device, **params).on_device
    late._search = search
    return late


def begun(index, device) -> LateSearch:
    """Return the search of a run that has begun to look for the device."""
    late = late_of(index, device)
    assert late.for_run() is late and (late._thread is None) == (device == "auto")
    if device == "auto":
        late._start_thread()
    return late


@pytest.fixture
def clock(monkeypatch):
    """The seconds that it is, in a list."""
    now = [0.0]
    monkeypatch.setattr(late_module.time, "monotonic", lambda: now[0])
    return now


class TestDone:
    """With 16 threads a device that nobody named is looked for where 12.5 s are left, by 1.25 s at least."""

    @pytest.mark.parametrize(
        "done, starts",
        [
            ([(0, 0.01), (2, 0.16), (4, 0.31)], False),
            ([(0, 0.01), (2, 0.14)], True),
            ([(0, 0.5), (1, 0.51), (15, 0.6)], True),
            ([(0, 0.01), (1.2, 0.0101)], False),
            ([(0, 0.97), (20, 0.99)], False),
            ([(0, 0.97), (30, 0.99)], True),
            ([(0, None), (12, None)], False),
            ([(0, None), (13, None)], True),
        ],
    )
    def test_a_device_is_looked_for_where_enough_is_left(self, index, monkeypatch, clock, done, starts):
        started = []
        monkeypatch.setattr(LateSearch, "_start_thread", lambda late: started.append(late.device))
        late = late_of(index, "auto", threads=16, batch_size=1000)
        assert late.for_run() is late
        late.note_done(15_999, 0.0)  # the first batches do not count
        for i, (clock[0], share) in enumerate(done):
            late.note_done(16_000 + 1000 * i, share)
        assert bool(started) is starts
        late.end_run()
        assert "too little to do" in late.describe() and late._since is None

    @pytest.mark.usefixtures("any_batch")
    @pytest.mark.parametrize("reads, goes_on", [(1999, False), (2001, True)])
    def test_a_device_with_which_less_is_done_is_left_alone(self, index, monkeypatch, clock, reads, goes_on):
        monkeypatch.setattr(LateSearch, "_start_thread", lambda late: setattr(late, "_thread", True))
        late = late_of(index, "auto", threads=16, batch_size=1)
        for clock[0], done in (0, 16), (2, 2016):
            late.note_done(done, 0.01 + done / 1e6)
        assert late._thread
        clock[0] = 5
        late.note_done(4000, 0.02)  # it is not ready
        late._search = Ready()
        for clock[0], done in (6, 5000), (7, 5001), (8, 5000 + reads):
            assert late.search(batch(9), None)
            late.note_done(done, 0.02)
        assert bool(late.search(batch(9), None)) is goes_on

    def test_a_short_run_looks_for_none(self, small_index, small_fastq, tmp_path, monkeypatch, caplog):
        (tmp_path / "gpu.icd").write_text("libgpu.so.1\n")
        monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
        noted, note_done = [], LateSearch.note_done
        monkeypatch.setattr(LateSearch, "note_done", lambda *done: (noted.append(done[2]), note_done(*done)))
        monkeypatch.setattr(LateSearch, "_start_thread", lambda _: pytest.fail("a device is looked for"))
        argv = [
            "map",
            str(small_index),
            str(small_fastq),
            "-t",
            "1",
            "-o",
            str(tmp_path / "a.sam"),
            "-v",
            "-v",
        ]
        assert main(argv) == 0
        assert noted == sorted(noted) and noted[-1] == 1
        assert "too little to do for a device" in caplog.text


@pytest.mark.parametrize(("device", "more"), [("gpu", IN_FLIGHT), ("auto", 0)])
def test_threads_beyond_those_asked_for_wait_for_a_device_that_was_named(
    index, small_fastq, device, more, monkeypatch
):
    """A batch that begins goes on: one that waited while later ones overtake it would hold up the output."""
    monkeypatch.setattr(LateSearch, "_start", lambda *_: None)
    begun = threading.Barrier(3 + more, timeout=60)

    def parsed():
        begun.wait()
        raise InterruptedError

    with file_run(late_engine(index, device=device, threads=3), small_fastq).crew() as crew:
        assert crew.workers.threads == begun.parties
        batch = SimpleNamespace(parsed=parsed)
        for call in [crew.workers.submit(crew.work.map, batch, None, None) for _ in range(begun.parties)]:
            with pytest.raises(InterruptedError):
                call.result()


@pytest.mark.usefixtures("any_batch")
class TestStart:
    @pytest.mark.parametrize("device", ["auto", "gpu"])
    def test_nobody_waits_for_a_device_that_is_looked_for(self, index, device, monkeypatch):
        """But for all places on one that was named: the host would take longer."""
        go_on = threading.Event()

        def fail(*_):
            go_on.wait(60)
            raise DeviceError("there is none")

        monkeypatch.setattr(LateSearch, "_tried", fail)
        late = begun(index, device)
        assert late.search(batch(9), None) is None and not late._settled.is_set()
        if device == "auto":
            assert late.search(batch(9, exhaustive=True), None) is None
            late.end_run()
            assert "not ready in time" in late.describe()
            go_on.set()
        else:
            with ThreadPoolExecutor(1) as pool:
                all_places = pool.submit(late.search, batch(9, exhaustive=True), None)
                assert not all_places.done()
                go_on.set()
                with pytest.raises(DeviceError, match="there is none"):
                    all_places.result()
        late._settled.wait()

    @pytest.mark.parametrize("device", ["auto", "gpu"])
    def test_one_that_fails_is_told_of_once(self, index, device, monkeypatch, caplog):
        def fail(*_):
            raise DeviceError("OpenCL: the trial run ended by SIGSEGV\nmore")

        monkeypatch.setattr(LateSearch, "_tried", fail)
        late = begun(index, device)
        late._settled.wait()
        caplog.set_level(logging.DEBUG, "gassst")
        if device == "gpu":
            for call in (late.end_run, lambda: late.search(batch(9), None)):
                with pytest.raises(DeviceError, match=r"SIGSEGV$"):
                    call()
            return
        for _ in range(2):
            assert late.search(batch(9), None) is None
            late.end_run()
        (line,) = (record for record in caplog.records if "gone on" in record.message)
        assert line.levelno == logging.DEBUG  # it was not found: nobody needs to know

    @pytest.mark.parametrize("device", ["auto", "gpu"])
    def test_one_that_fails_later_ends_a_run_that_named_it(self, index, device, caplog):
        def lost():
            raise DeviceError("the device is lost")

        late = late_of(index, device, Ready(meanwhile=lost))
        late._found.set()
        if device == "gpu":
            for _ in range(2):
                with pytest.raises(DeviceError, match="lost"):
                    late.search(batch(9), None)
            return
        assert late.search(batch(9), None) is None
        late.end_run()
        late.end_run()
        (line,) = caplog.records
        assert line.levelno == logging.WARNING and "the host has gone on without it" in line.message

    @pytest.mark.parametrize(
        "params", [{"all_hits": True, "strata": True}, {"filters": ("fd",)}], ids=["strata", "fd"]
    )
    def test_a_run_without_use_for_it_starts_none(self, index, params, monkeypatch, caplog):
        """One that was named must be there nevertheless."""
        caplog.set_level(logging.INFO, "gassst")
        tried = []
        monkeypatch.setattr(LateSearch, "_tried", lambda late: tried.append(late.device))
        monkeypatch.setattr(LateSearch, "_start", lambda *_: None)
        for device in ("auto", "gpu", "gpu"):
            late = late_of(index, device, **params)
            assert late.for_run() is None and late.for_run() is None
        assert tried == ["gpu", "gpu"] and caplog.text.count("searched on the host") == 2


@pytest.fixture
def ready(monkeypatch):
    """Runs find a device of these tests ready; lists what each has found."""
    begun, for_run = [], LateSearch.for_run

    def when_ready(late):
        late.device = usable()[0].type
        found = for_run(late)
        late._settled.wait()
        assert late._error is None
        begun.append(late._search)
        return found

    monkeypatch.setattr(LateSearch, "for_run", when_ready)
    monkeypatch.setattr(LateSearch, "_tried", lambda *_: usable()[0].index)  # `probe` has its own tests
    return begun


@pytest.mark.device
def test_samples_of_a_sheet_share_the_device(small_index, small_fastq, tmp_path, ready, caplog):
    caplog.set_level(logging.DEBUG, "gassst")
    rows = [f"{i},L1,{small_fastq},,{tmp_path / f'{i}.sam'}" for i in range(3)]
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join(["sample,lane,R1,R2,output", *rows]) + "\n")
    options = ["-t", "3", "--batch-size", "100", "-v", "-v", "--device", "gpu"]
    assert main(["map", str(small_index), "--sheet", str(sheet), *options]) == 0
    assert len(ready) == 3 and len({id(search) for search in ready}) == 1
    searched = re.findall(r"once it was ready: ([0-9,]+) reads", caplog.text)
    alone = ["map", str(small_index), str(small_fastq), "-o", str(tmp_path / "alone.sam"), "-t", "1"]
    assert main([*alone, "--device", "none", "-q"]) == 0
    expected = records_without_group(tmp_path / "alone.sam")
    assert sum(int(reads.replace(",", "")) for reads in searched) >= 3 * len(expected)
    assert all(records_without_group(tmp_path / f"{i}.sam") == expected for i in range(3))


@pytest.mark.device
def test_all_places_are_found_there(small_index, small_fastq, tmp_path, ready):
    records = []
    for device in ("gpu", "none"):
        path = tmp_path / f"{device}.sam"
        argv = ["map", str(small_index), str(small_fastq), "-o", str(path), "-t", "2", "--all", "-p", "90"]
        assert main([*argv, "--device", device, "-q"]) == 0
        records.append(records_without_group(path))
    assert records[0] == records[1] and len(ready) == 1


def records_without_group(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("@")]
    return [re.sub(r"\tRG:Z:[^\t]*", "", line) for line in lines]


def without_drivers(folder):
    environment = {**os.environ, "OCL_ICD_VENDORS": str(folder), "OPENCL_VENDOR_PATH": str(folder)}
    environment.pop("GASSST_OPENCL", None)
    return environment


@pytest.mark.parametrize("more", [[], ["--all", "--strata"]], ids=["searched there", "mapped on the host"])
def test_a_gpu_that_is_not_there_ends_the_run_in_one_line(small_index, small_fastq, tmp_path, more):
    """It is looked for while reads are mapped already."""
    output = tmp_path / "out.sam"
    command = [sys.executable, "-m", "gassst", "map", str(small_index), str(small_fastq), "-q"]
    done = subprocess.run(
        [*command, *more, "--device", "gpu", "-o", str(output)],
        env=without_drivers(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and not output.exists()
    assert len(done.stderr.splitlines()) == 1 and "OpenCL" in done.stderr


def test_a_gpu_that_nobody_named_may_fail(small_index, small_fastq, tmp_path):
    """Its driver is registered, so it may be tried; the host maps all reads."""
    (tmp_path / "none.icd").write_text("libnone.so\n")
    output = tmp_path / "out.sam"
    command = [sys.executable, "-m", "gassst", "map", str(small_index), str(small_fastq), "-q"]
    done = subprocess.run(
        [*command, "-o", str(output)], env=without_drivers(tmp_path), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "") and output.exists()

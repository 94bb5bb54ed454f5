"""The process that drives a device: the threads that ask it, the samples that share it, and how it fails."""

import gzip
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from opencl_devices import usable

from gassst.api.mapper import LateMapper
from gassst.errors import DeviceError
from gassst.gpu import server as device_server
from gassst.gpu.process import CALL, DEVICE, HOST, DeviceProcess, Load, Turns
from gassst.gpu.requests import SEARCH, Request
from gassst.gpu.server import DeviceServer, Inbox, drive
from gassst.runs.device import RunDevice
from gassst.workers.shared_memory import SharedMemory


class TestLoad:
    def test_a_batch_goes_where_it_is_done_first(self):
        load = Load(3)
        load.note(DEVICE, 1000, 1e5)
        load.waiting[:2] = 1000
        assert not load.is_host_faster(100)  # the host has not been measured
        load.note(HOST, 1000, 4e6)
        assert not load.is_host_faster(100)
        load.waiting[2] = 2000
        assert load.is_host_faster(100)
        load.note(DEVICE, 1000, 9e4)
        assert not load.is_host_faster(100)

    def test_a_few_slow_reads_say_little_of_the_pace(self):
        load = Load(1)
        load.note(DEVICE, 1000, 1e5)
        load.note(DEVICE, 1, 1e5)
        assert load.paces[DEVICE] == pytest.approx(150)


class TestTurns:
    def test_no_more_threads_than_turns_compute_at_once(self):
        turns, lock = Turns(2), threading.Lock()
        running, most = 0, 0

        def compute(_):
            nonlocal running, most
            with turns:
                with lock:
                    running += 1
                    most = max(most, running)
                with lock:
                    running -= 1
                with turns.given_up():
                    pass

        with ThreadPoolExecutor(5) as pool:
            list(pool.map(compute, range(200)))
        assert most <= 2

    def test_a_thread_that_waits_gives_its_turn(self):
        turns, done = Turns(1), threading.Event()

        def other():
            with turns:
                done.set()

        thread = threading.Thread(target=other)
        with turns:
            thread.start()
            with turns.given_up():
                assert done.wait(60)
        thread.join()
        with turns.given_up():  # without a turn
            pass


SERVED = """
import gzip, sys, threading, time
from dataclasses import replace
import gassst
import numpy as np
from gassst.reads.in_memory import batch_of_records
from gassst.gpu.process import READY, DeviceProcess, Job
from gassst.gpu.requests import Searched
from gassst.gpu.server import DeviceServer, serve
from gassst.gpu.trial import PairTrial
from gassst.bands.cpu import CpuExtender
from gassst.search import single
from gassst.search.context import BatchContext
from gassst.search.dense import DenseSeeds
from gassst.search.host import HostBackend
from gassst.index.miss_model import MISS_ERRORS
from gassst.model.stats import Stats

index = gassst.Index.open(sys.argv[1])
process = DeviceProcess(sys.argv[3], 3, serve)
mapper = gassst.Mapper(index, device="none")
job = Job.of(index, mapper.params)
process.tell(job)
process.verify()
while process.status < READY:
    time.sleep(0.01)
server, found = DeviceServer(process), {}

def contexts(of):
    lines = gzip.open(sys.argv[2], "rt").read().split()[1::4]
    for at in range(0, 200, 50):
        reads = [(str(i), read, None) for i, read in enumerate(lines[of * 200 + at : of * 200 + at + 50])]
        packed = batch_of_records(reads).pack()
        params = mapper.params.for_single()
        searched = index, mapper.parts, mapper.plan, mapper.cascade, params
        yield BatchContext.of(*searched, packed, whole_reads=params.reports_whole_reads)

def ask(of):
    found[of] = [server.search(context, Stats()) for context in contexts(of)]

asking = [threading.Thread(target=ask, args=(of,)) for of in range(2)]
for thread in asking: thread.start()
for thread in asking: thread.join()
taken = 0
for of in range(2):
    for context, result in zip(contexts(of), found[of], strict=True):
        with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
            expected = single.search(HostBackend(context, bands, Stats()))
        if result is not None:  # else the host would have been faster
            taken += 1
            assert (result.rated == expected.rated).all() and (result.rows == expected.rows).all()
            assert (result.bands.band_start == expected.bands.band_start).all()
            assert (result.bands.read_strand == expected.bands.read_strand).all()
assert taken
(context, *_) = contexts(1)
reads = np.arange(1, context.n, 2, dtype=np.uint32)
looked = server.look_up(context, Stats(), reads, 0)
assert looked is not None
with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
    host = HostBackend(context, bands, Stats())
    expected = host.gather(host.look_up(host.initial_state(), 0, reads), reads, None)
anchors = looked.anchors(reads)
assert (anchors.diagonal == expected.diagonal).all() and (anchors.read_strand == expected.read_strand).all()
assert (anchors.start == expected.start).all() and len(anchors)
seeds = DenseSeeds(14, 3, 64)
densely = server.look_densely(context, Stats(), reads, seeds)
with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
    expected = HostBackend(context, bands, Stats()).look_densely(reads, seeds)
for name in ("clipped", "first", "last"):
    assert (getattr(densely, name) == getattr(expected, name)).all()
assert (densely.anchors.diagonal == expected.anchors.diagonal).all() and len(densely.anchors)
assert (densely.anchors.start == expected.anchors.start).all()
assert sum(process.load.counts) == 425 and not server.describe()
assert f"{process.load.counts[0]} reads" in server.settle() == server.describe() == server.describe()
assert " 0 reads" in server.settle() == server.describe()
kept = DeviceServer(process, is_kept=True)
process.begin_again()
process.admit()  # all threads that may ask have asked
trial = PairTrial.of(index, Searched(mapper.plan, mapper.cascade, mapper.params))
looked = kept.look_up(trial.context, Stats(), trial.request.reads, 0)
assert trial.is_met_by(looked)
assert process.load.counts == (len(trial.request.reads), 0)
kept.close()
assert process.serves(job) and not process.serves(replace(job, pairs=True))
server.close()
assert not process.serves(job)
"""


@pytest.mark.device
def test_a_process_of_its_own_answers_threads(small_index, small_fastq):
    command = [sys.executable, "-c", SERVED, str(small_index), str(small_fastq), usable()[0].type]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def without_memory(process, _job, _jobs, calls, answers):
    memory: Any = None
    search: Any = None
    drive(search, search, Inbox(calls, memory), process, answers)


def test_a_request_that_cannot_be_read_ends_the_process():
    """Its client would wait for ever: another thread keeps the pipes of answers open."""
    with closing(DeviceProcess("gpu", 1, without_memory)) as process:
        nothing = np.empty(0, np.uint32)
        with pytest.raises(DeviceError):
            DeviceServer(process)._answer(0, Request(*[nothing] * 5, 0, nothing))
        with pytest.raises(DeviceError, match="AttributeError"):
            process.verify()


@pytest.mark.parametrize(
    ("stage", "reads", "seconds"),
    [
        (SEARCH, 1 << 16, device_server.PATIENCE),
        (SEARCH, 1 << 17, 0),
        (0, 1 << 14, device_server.PATIENCE_WITH_PAIRS),
        (0, 1 << 16, 0),
    ],
    ids=["few to search", "many", "few to look up", "enough to look up"],
)
def test_few_reads_wait_for_more_while_others_are_searched(monkeypatch, stage, reads, seconds):
    """A search has more commands than a look at seeds, so more reads of it are gathered."""
    memory, (calls, to_it), patience = SharedMemory(1), os.pipe(), []
    nothing, lengths = np.empty(0, np.uint32), np.full(reads, 100, np.uint32)
    asked = Request(nothing, nothing, lengths, *[nothing] * 2, stage, nothing)
    inbox = Inbox(calls, memory)
    monkeypatch.setattr(
        device_server.select, "select", lambda *arguments: patience.append(arguments[-1]) or ([], [], [])
    )
    for _ in range(2):
        os.write(to_it, CALL.pack(0, memory.put(0, asked)))
        assert len(inbox.take()) == 1
    os.close(calls)
    os.close(to_it)
    assert patience == [0, seconds]


def test_a_process_that_has_ended_serves_no_other_sample(index):
    """Its file descriptors may be those of other files by then."""
    ended = DeviceProcess("gpu", 1, lambda *_: None)
    ended.close()
    run = RunDevice(LateMapper(index, device="gpu"), is_late=True, is_served=True, started=ended)
    with closing(run.server()) as server:
        assert server.process is not ended
    assert replace(run, is_served=False).server() is None  # it has been looked for


@pytest.mark.parametrize("more", [[], ["--all"]], ids=["searched there", "mapped on the host"])
def test_a_gpu_that_is_not_there_ends_the_run_in_one_line(small_index, small_fastq, tmp_path, more):
    """It is looked for while reads are mapped already."""
    output = tmp_path / "out.sam"
    command = [sys.executable, "-m", "gassst", "map", str(small_index), str(small_fastq), "-q"]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    environment.pop("GASSST_OPENCL", None)
    done = subprocess.run(
        [*command, *more, "--device", "gpu", "-o", str(output)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and not output.exists()
    assert len(done.stderr.splitlines()) == 1 and "OpenCL" in done.stderr


SHEET = """
import sys, time
from gassst.cli.main import main
from gassst.gpu import seeds as device_seeds
from gassst.gpu import start as device_start
from gassst.gpu.process import READY, DeviceProcess, Load
from gassst.gpu.server import DeviceServer

device, *argv = sys.argv[1:]
def admit(server, admit=DeviceServer.admit):
    admit(server)
    while server.process.status < READY:  # as slow as this device may be
        time.sleep(0.01)
    print("admitted", file=sys.stderr)

device_start.DeviceProcess = lambda _, *rest, **more: DeviceProcess(device, *rest, **more)
DeviceServer.admit = admit
Load.is_host_faster = lambda *_: False
device_seeds.LEAST_READS = 1
sys.exit(main(argv))
"""


def said_of_sheet(index, rows, sheet):
    """What a run says that maps the samples of these rows in two processes beside a device."""
    sheet.write_text("\n".join(["sample,lane,R1,R2,output", *rows]) + "\n")
    options = ["-t", "3", "--processes", "2", "--batch-size", "100", "-v", "-v"]
    argv = ["map", str(index), "--sheet", str(sheet), *options, "--device", "gpu"]
    command = [sys.executable, "-c", SHEET, usable()[0].type, *argv]
    environment = {name: value for name, value in os.environ.items() if name != "GASSST_OPENCL"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.device
@pytest.mark.parametrize("kind", ["single", "pairs"])
def test_samples_of_a_sheet_share_processes_and_the_device(small_index, small_fastq, tmp_path, kind):
    """Threads that have asked the device keep their numbers; those that have not get others."""
    reads = mates_of(small_fastq, tmp_path) if kind == "pairs" else [small_fastq]
    columns = f"{reads[0]},{reads[1] if kind == 'pairs' else ''}"
    rows = [f"{i},L1,{columns},{tmp_path / f'{i}.sam'}" for i in range(3)]
    said = said_of_sheet(small_index, rows, tmp_path / "sheet.csv")
    assert [said.count(word) for word in ("admitted", "worker processes of")] == [1, 1]
    searched = re.findall(r"once it was ready: ([0-9,]+) reads, and 0 on the host", said)
    assert len(searched) == 3
    alone = ["map", str(small_index), *map(str, reads), "-o", str(tmp_path / "alone.sam"), "-t", "1"]
    subprocess.run([sys.executable, "-m", "gassst", *alone, "--device", "none", "-q"], check=True)
    expected = records_without_group(tmp_path / "alone.sam")
    assert sum(int(reads.replace(",", "")) for reads in searched) >= 3 * len(expected)
    assert all(records_without_group(tmp_path / f"{i}.sam") == expected for i in range(3))


@pytest.mark.device
def test_a_sample_in_threads_ends_processes_that_wait(small_index, small_fastq, tmp_path):
    """CRAM is made in one process, to which the device deals its numbers anew: nobody else may hold one."""
    rows = [
        f"{i},L1,{small_fastq},,{tmp_path / f'{i}.{kind}'}" for i, kind in enumerate(("sam", "cram", "sam"))
    ]
    said = said_of_sheet(small_index, rows, tmp_path / "sheet.csv")
    assert said.count("admitted") == 3
    assert records_without_group(tmp_path / "0.sam") == records_without_group(tmp_path / "2.sam")


def mates_of(path, folder):
    """Two files: of each read its first 60 bases, and its last 60 on the other strand."""
    lines, paths = gzip.decompress(path.read_bytes()).decode().split(), [folder / "1.fq", folder / "2.fq"]
    other = str.maketrans("ACGT", "TGCA")
    for i, path in enumerate(paths):
        parts = (
            (name, bases[:60] if i == 0 else bases[-60:][::-1].translate(other))
            for name, bases in zip(lines[::4], lines[1::4], strict=True)
        )
        path.write_text("".join(f"{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in parts))
    return paths


def records_without_group(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("@")]
    return [re.sub(r"\tRG:Z:[^\t]*", "", line) for line in lines]


def test_beside_a_device_more_threads_share_the_processes(small_index, small_fastq, tmp_path):
    """Half as many threads again, as some wait for it."""
    command = [
        sys.executable, "-m", "gassst", "map", str(small_index), "-", "-v", "-v", "-t", "5",
    ]  # fmt: skip
    command += ["-o", str(tmp_path / "out.sam"), "--device"]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    environment.pop("GASSST_OPENCL", None)
    for name, layout in (
        ("none", "3 worker processes of 5 threads"),
        ("gpu", "3 worker processes of 8 threads"),
    ):
        # From a pipe, as so short a file would be mapped by one process.
        reads = small_fastq.read_bytes()
        done = subprocess.run([*command, name], env=environment, capture_output=True, input=reads)
        assert layout in done.stderr.decode()


def test_a_gpu_that_nobody_named_may_fail(small_index, small_fastq, tmp_path):
    """Its driver is registered, so it is tried; the host maps all reads."""
    (tmp_path / "none.icd").write_text("libnone.so\n")
    output = tmp_path / "out.sam"
    command = [sys.executable, "-m", "gassst", "map", str(small_index), str(small_fastq), "-q"]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    environment.pop("GASSST_OPENCL", None)
    done = subprocess.run([*command, "-o", str(output)], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and output.exists()

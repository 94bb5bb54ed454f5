"""A trial of an OpenCL device in a process of its own.

A driver or a compiler that fails may take its process with it: on a full disk, with a damaged cache, with little
address space. So another process finds the device first, builds the programs that a run needs, and searches or aligns a
few reads. Where that crashes, it is tried once more with empty caches. `python -m gassst.gpu.probe` is that process.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gassst.errors import DeviceError
from gassst.files.scratch import Scratch
from gassst.model.params import MapParams, Scoring
from gassst.reads.in_memory import batch_of_records
from gassst.workers.children import end_with_stdin

if TYPE_CHECKING:
    import pyopencl as cl
    from numpy.typing import NDArray

    from gassst.gpu.bands import CpuExtender
    from gassst.gpu.device import DeviceInfo
    from gassst.gpu.opencl import OpenCLExtender
    from gassst.model.array_types import U64
    from gassst.model.read_batch import PackedReads

READ = 100  # bases
TIMEOUT = 300.0  # s; a program that takes longer to build will not be missed


class Verdict(NamedTuple):
    """What a trial found.

    Attributes
    ----------
    device : str or None
        Of the device that passed, as `DeviceInfo.index`; None where there is none.
    reason : str
        Why there is none, for people.
    environment : dict
        To be set before the device is used: caches that are known to be good.
    ended : bool
        The process ended without an answer.
    """

    device: str | None
    reason: str = ""
    environment: dict[str, str] = {}
    ended: bool = False


BANDS, SEARCH, ALL_PLACES = "bands", "search", "all"
"""What is tried: bands of every width, or a whole search, of the best places or of all."""


def _verdict(device: str, threads: int, kind: str, step: int, environment: dict[str, str]) -> Verdict:
    """Asks a process with this environment. A trial that does not end is given up."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, "-m", "gassst.gpu.probe", device, str(threads), kind, str(step)]
    with tempfile.TemporaryFile() as output:
        try:
            with subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # its other end closes with this process
                stdout=output,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, **environment},
            ) as process:
                try:
                    code = process.wait(TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    return Verdict(None, f"OpenCL: the trial run did not end in {TIMEOUT:.0f} s")
        except (OSError, ValueError) as error:
            return Verdict(None, f"no process for a trial of OpenCL: {error}")
        output.seek(0)
        with suppress(ValueError):
            answer = json.loads(output.read())
            if isinstance(answer, dict) and code == 0:
                return Verdict(**answer, environment=environment)
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return Verdict(None, f"OpenCL: the trial run ended {how}", ended=True)


@lru_cache(maxsize=16)
def _tried(device: str, threads: int, kind: str, step: int) -> Verdict:
    verdict = _verdict(device, threads, kind, step, {})
    if not verdict.ended:
        return verdict
    caches = Scratch(tempfile.gettempdir(), "opencl")  # in use until this process ends
    atexit.register(caches.remove)
    os.mkdir(caches.file("pocl"))
    return _verdict(
        device, threads, kind, step, {"POCL_CACHE_DIR": caches.file("pocl"), "PYOPENCL_NO_CACHE": "1"}
    )


def tried(device: str, threads: int, kind: str = BANDS, step: int = 1) -> Verdict:
    """The verdict on a device, once a process; its environment is set. Raises DeviceError where it did not pass.

    `step`: of the index of a search.
    """
    verdict = _tried(device, threads, kind, step)
    if verdict.device is None:
        raise DeviceError(verdict.reason)
    os.environ.update(verdict.environment)
    return verdict


# --- in the process of the trial ----------------------------------------------------------------------------


def run_trial(device: str, threads: int, kind: str = BANDS, step: int = 1) -> dict[str, str | None]:
    """Try a device; the fields of a `Verdict` but the environment."""
    from gassst.gpu import platforms
    from gassst.gpu.bands import CpuExtender
    from gassst.gpu.opencl import OpenCLExtender

    try:
        info, found = platforms.choose(device, threads)
    except DeviceError as error:
        return {"device": None, "reason": str(error)}
    try:
        if kind != BANDS:
            _search(info, found, kind == ALL_PLACES, step)
            return {"device": info.index, "reason": ""}
        planes, batch = _pairs()
        results = _results(OpenCLExtender(planes, info.index, threads), batch)
    except DeviceError as error:
        return {"device": None, "reason": str(error).splitlines()[0]}
    if results != _results(CpuExtender(planes), batch):
        return {"device": None, "reason": f"OpenCL device {info.name}: wrong results"}
    return {"device": info.index, "reason": ""}


def _search(info: DeviceInfo, device: cl.Device, all_places: bool, step: int) -> None:
    """Raises DeviceError where a search in a random reference finds something else than the host."""
    from gassst.gpu.device import Engine
    from gassst.gpu.index import SOURCES, SOURCES_OF_ALL
    from gassst.gpu.search import DeviceSearch
    from gassst.gpu.trial import Trial
    from gassst.index.seed_index import SeedIndex
    from gassst.search.filters import Cascade
    from gassst.search.plan import SearchPlan

    with tempfile.TemporaryDirectory() as folder:
        fasta = os.path.join(folder, "reference.fa")
        with open(fasta, "wb") as file:
            file.write(b">reference\n%s\n" % _random(1 << 14))
        index = SeedIndex.build(fasta, step=step)
    params = MapParams(all_hits=all_places, threads=1).for_single()
    plan = SearchPlan(params, index.plan_k, index.reference.unmasked, index.spectrum, index.letters)
    trial = Trial.of(index, plan, Cascade.of_run(params, plan), params)
    sources = SOURCES_OF_ALL if all_places else SOURCES
    trial.put_to(DeviceSearch(index, Engine(info, device, index.reference.planes), sources=sources))


def _random(n: int) -> bytes:
    return np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), n).tobytes()


def _pairs() -> tuple[U64, PackedReads]:
    """Planes of a random reference, and reads of it: read i begins at coordinate 100 + 10 * i."""
    text = _random(960)
    reference = batch_of_records([("reference", text, None)]).pack()
    reads = batch_of_records([("read", text[at : at + READ], None) for at in range(100, 740, 10)])
    return np.ascontiguousarray(reference.planes[: len(text) // 64]), reads.pack()


def _results(extender: CpuExtender | OpenCLExtender, packed: PackedReads) -> list[bytes]:
    """Of every kernel at every width."""
    from gassst._core.bands import pack_cigars
    from gassst.local.align import WIDTHS, doubled
    from gassst.search.plan import WORDS

    n = len(packed)
    read_strand = np.arange(n, dtype=np.uint32) * 2
    start = 100 + 10 * np.arange(n)
    costs, slot_end = doubled(Scoring()), np.cumsum(2 * packed.lengths + 3, dtype=np.uint32)
    found: list[NDArray[np.generic]] = []
    with extender.open_reads(packed) as handle:
        for words in WORDS:
            band = start - 8
            best, end = handle.score(read_strand, band, words)
            found += [best, end, handle.profile(read_strand, band, words)]
            found += handle.align(read_strand, band, words, end, best)
        for width in WIDTHS:
            pairs = read_strand, start - 8, width, costs
            ends, position, edits, n_runs, runs = handle._align_local(*pairs, slot_end, READ)
            found += [handle._local(*pairs), ends, position, edits, n_runs]
            found += pack_cigars(runs, slot_end, n_runs)
    return [array.tobytes() for array in found]


def main(arguments: list[str]) -> int:
    """Print the verdict on the device named first as JSON."""
    device, threads, kind, step = arguments
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # drivers may print
    with answer:
        json.dump(run_trial(device, int(threads), kind, int(step)), answer)
    return 0


if __name__ == "__main__":
    end_with_stdin()
    code = main(sys.argv[1:])
    os._exit(code)  # what a driver does at exit is of no interest

"""A trial of an OpenCL device in a process of its own.

A driver or a compiler that fails may take its process with it: on a full disk, with a damaged cache, with little
address space. So another process finds the device first, builds the programs that a run needs, and searches a
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
from gassst.model.params import MapParams
from gassst.workers.children import end_with_stdin

if TYPE_CHECKING:
    import pyopencl as cl

    from gassst.gpu.device import DeviceInfo

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


SEARCH, ALL_PLACES = "search", "all"
"""What is tried: a search of the best places, or of all."""


def kind_of(params: MapParams) -> str:
    """What a run needs."""
    return ALL_PLACES if params.exhaustive else SEARCH


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


def tried(device: str, threads: int, kind: str = SEARCH, step: int = 1) -> Verdict:
    """The verdict on a device, once a process; its environment is set. Raises DeviceError where it did not pass.

    `step`: of the index of a search.
    """
    verdict = _tried(device, threads, kind, step)
    if verdict.device is None:
        raise DeviceError(verdict.reason)
    os.environ.update(verdict.environment)
    return verdict


# --- in the process of the trial ----------------------------------------------------------------------------


def run_trial(device: str, threads: int, kind: str = SEARCH, step: int = 1) -> dict[str, str | None]:
    """Try a device; the fields of a `Verdict` but the environment."""
    from gassst.gpu import platforms

    try:
        info, found = platforms.choose(device, threads)
    except DeviceError as error:
        return {"device": None, "reason": str(error)}
    try:
        _search(info, found, kind == ALL_PLACES, step)
    except DeviceError as error:
        return {"device": None, "reason": str(error).splitlines()[0]}
    return {"device": info.index, "reason": ""}


def _search(info: DeviceInfo, device: cl.Device, all_places: bool, step: int) -> None:
    """Raises DeviceError where a search in a random reference finds something else than the host."""
    from gassst.gpu.device import Engine
    from gassst.gpu.search import DeviceSearch, sources_of
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
    engine = Engine(info, device, index.reference.planes)
    trial.put_to(DeviceSearch(index, engine, sources=sources_of(params)))


def _random(n: int) -> bytes:
    return np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), n).tobytes()


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

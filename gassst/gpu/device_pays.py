"""Whether a GPU is worth its start in a run over files, from what is asked for and the sizes of files and index alone.

All figures are wall seconds beside 16 threads and one H100 (lab/gpu.md). Each is on the side of the host:
a run that is taken for too short loses little, one that is taken for too long is slower than with `--device none`.
"""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from gassst.errors import InputError
from gassst.index.choice import index_path
from gassst.index.file import FORMAT_VERSION, STEP_VERSION, header_of, is_index
from gassst.model.params import MapParams

BASES_PER_BYTE = 0.4
"""Of FASTQ: reads of 100 bases with names of 40 letters."""
SMALL = 1e7
"""Bases of a genome that the caches of the host help with. From here on figures grow with each ten times as many."""
HOST_NS, HOST_NS_MORE = 70, 20
"""Of a thread for each base: 80 were measured at 13 Mb and 300 at 3.1 Gb for single reads, 60 and 133 for mates."""
START, START_PER_GB = 2.7, 1.0
"""s until the device answers, where the driver has kept its kernels; another process tries them first."""
COST = 0.8
"""s that a run is longer where the device never answers: finding it takes cores from the host."""


class Task(NamedTuple):
    """What is asked for of reads.

    Attributes
    ----------
    work : float
        How many times as long a thread of the host takes for a base as it does for the best positions.
    gain, gain_more : float
        How many times as fast the device is once it answers: at `SMALL`, and more with each ten times as many bases.
    """

    work: float
    gain: float
    gain_more: float


SINGLE = Task(1, 0.7, 0.8)
"""Best positions of single reads: no faster at 64 Mb, 3.4 times at 3.1 Gb."""
ALL = Task(10, 1.5, 0.0)
"""All positions: a base took 0.75 to 13 us at `-p 90`, and the device was 1.5 to 8 times as fast."""


def task_of(params: MapParams, paired: bool) -> Task | None:
    """What a run asks for; None where the host does it even beside a device."""
    if paired or params.strata:
        return None
    return ALL if params.exhaustive else SINGLE


def device_pays(input_bytes: int | None, index_bases: int | None, task: Task | None, threads: int) -> bool:
    """Whether a run with a device ends earlier than one without.

    Parameters
    ----------
    input_bytes : int or None
        Of the reads as uncompressed FASTQ (`input_size.fastq_bytes`). None: not known, and no reason to start a device.
    index_bases : int or None
        Of the reference. None: no device searches in this index.
    task : Task or None
        As `task_of` returns it.
    threads : int
        That map.
    """
    if input_bytes is None or index_bases is None or task is None:
        return False
    tens = max(0.0, math.log10(max(index_bases, 1) / SMALL))
    host = input_bytes * BASES_PER_BYTE * task.work * (HOST_NS + HOST_NS_MORE * tens) * 1e-9 / threads
    saved = 1 - 1 / (task.gain + task.gain_more * tens)  # of the time after the start
    return max(host - START - START_PER_GB * index_bases * 1e-9, 0.0) * saved > COST


def index_bases(path: str) -> int | None:
    """About how many bases the index at `path` has, or the FASTA that has none yet.

    None where no device searches in it: that needs an index in one piece, and not converted.
    """
    try:
        if not is_index(path):
            beside = index_path(path)
            if not is_index(beside):
                return os.stat(path).st_size
            path = beside
        version, bases = header_of(path)
    except (OSError, InputError):  # the run says what is wrong with it
        return None
    return bases if version in (FORMAT_VERSION, STEP_VERSION) else None

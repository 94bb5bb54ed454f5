"""The pair HMM on an OpenCL device (`gassst/align/kernels/pair_hmm.cl`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.errors import DeviceError, UsageError
from gassst.gpu.device import Commands
from gassst.gpu.platforms import opened

KERNEL = Path(__file__).parent / "kernels" / "pair_hmm.cl"
SCALES = {
    "single": (np.float32, "-DREAL=float -DSMALL=0x1p30f -DSCALE=0x1p64f -DSCALE_BITS=64"),
    "double": (np.float64, "-DDOUBLE -DREAL=double -DSMALL=0x1p400 -DSCALE=0x1p512 -DSCALE_BITS=512"),
}
ROWS_BYTES = 512 << 20  # of the rows of the pairs of a call
MOST_PAIRS = 1 << 16  # of a call


class PairHmm(Commands):
    """The kernel, a pair a work-item."""

    paths = (KERNEL,)


def device_logs(
    arrays: tuple[NDArray[Any], ...],
    pairs: NDArray[np.int32],
    largest: bool,
    form: str,
    device: str,
    threads: int,
    out: NDArray[np.float64],
) -> None:
    """As `gassst._core.pair_hmm.PairHmmBatch.logs`; `arrays` are those of the batch. Raises DeviceError, UsageError."""
    if form not in SCALES:
        raise UsageError(f"form {form!r}: a device has {' and '.join(SCALES)}")
    processing = PairHmm(opened(device, threads)[0])
    chosen, name = processing.device.device, processing.device.info.name
    if form == "double" and "cl_khr_fp64" not in chosen.extensions:
        raise DeviceError(f"OpenCL device {name} does not support double precision; use form 'single'")
    real, options = SCALES[form]
    with processing.device.errors():
        bases, offsets, steps, haplotypes, haplotype_offsets = arrays
        widest = int(np.diff(haplotype_offsets)[pairs[:, 1]].max()) + 1
        item = 3 * widest * np.dtype(real).itemsize
        room = min(ROWS_BYTES, chosen.max_mem_alloc_size // 2)
        if item > room:
            raise DeviceError(f"OpenCL device {name} lacks memory for a haplotype of {widest - 1:,} bases")
        items = max(1, min(len(pairs), MOST_PAIRS, room // item))
        rows, sums = processing.buffer("rows", items * item), processing.buffer("sums", 8 * len(pairs))
        exponents = processing.buffer("exponents", 4 * len(pairs))
        given = (bases, offsets, steps.astype(real), haplotypes, haplotype_offsets, pairs)
        constant = [processing.device.given(array) for array in given]
        built = (*options.split(), *["-DLARGEST"] * largest)
        for first in range(0, len(pairs), items):
            count = np.int32(min(items, len(pairs) - first))
            which = *constant, np.int64(first), count
            processing.note("pair_hmm", built, (items,), None, *which, rows, sums, exponents)
        processing.download("sums", sums, len(pairs), real)
        processing.download("exponents", exponents, len(pairs), np.int32)
        found = processing.finish()
    with np.errstate(divide="ignore"):
        out[:] = np.log(found["sums"].astype(np.float64)) - found["exponents"] * np.log(2)

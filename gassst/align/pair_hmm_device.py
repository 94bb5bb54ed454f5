"""The pair HMM on an OpenCL device (`gassst/align/kernels/pair_hmm.cl`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.align.device import machines
from gassst.errors import DeviceError, UsageError

KERNEL = Path(__file__).parent / "kernels" / "pair_hmm.cl"
SCALES = {
    "single": (np.float32, "-DREAL=float -DSMALL=0x1p30f -DSCALE=0x1p64f -DSCALE_BITS=64"),
    "double": (np.float64, "-DDOUBLE -DREAL=double -DSMALL=0x1p400 -DSCALE=0x1p512 -DSCALE_BITS=512"),
}
ROWS_BYTES = 512 << 20  # of the rows of the pairs of a call
MOST_PAIRS = 1 << 16  # of a call


def device_logs(
    arrays: tuple[NDArray[Any], ...],
    pairs: NDArray[np.int32],
    largest: bool,
    form: str,
    device: str,
    threads: int,
    out: NDArray[np.float64],
) -> None:
    """As `gassst._core.pair_hmm.Batch.logs`; `arrays` are those of the batch. Raises DeviceError, UsageError."""
    if form not in SCALES:
        raise UsageError(f"form {form!r}: a device has {' and '.join(SCALES)}")
    machine = machines(device, threads)[0]
    cl, queue, chosen = machine.cl, machine.queue, machine.device
    if form == "double" and "cl_khr_fp64" not in chosen.extensions:
        raise DeviceError(
            f"OpenCL device {machine.name} does not support double precision; use form 'single'"
        )
    real, options = SCALES[form]
    with machine.errors():
        built = ["-cl-std=CL1.2", *options.split(), *["-DLARGEST"] * largest]
        kernel = cl.Kernel(machine.program(KERNEL.read_text(), built), "pair_hmm")
        # Numbers whose types are known take 2 to 8 us a launch, others 100.
        kernel.set_scalar_arg_dtypes([*[None] * 6, np.int64, np.int32, None, None, None])
        bases, offsets, steps, haplotypes, haplotype_offsets = arrays
        widest = int(np.diff(haplotype_offsets)[pairs[:, 1]].max()) + 1
        item = 3 * widest * np.dtype(real).itemsize
        room = min(ROWS_BYTES, chosen.max_mem_alloc_size // 2)
        if item > room:
            raise DeviceError(
                f"OpenCL device {machine.name} lacks memory for a haplotype of {widest - 1:,} bases"
            )
        items = max(1, min(len(pairs), MOST_PAIRS, room // item))
        rows = machine.room(items * item)
        sums, exponents = machine.room(len(pairs) * np.dtype(real).itemsize), machine.room(4 * len(pairs))
        given = (bases, offsets, steps.astype(real), haplotypes, haplotype_offsets, pairs)
        constant = [machine.buffer(array) for array in given]
        for first in range(0, len(pairs), items):
            count = min(items, len(pairs) - first)
            kernel(queue, (items,), None, *constant, np.int64(first), np.int32(count), rows, sums, exponents)
        found, powers = np.empty(len(pairs), real), np.empty(len(pairs), np.int32)
        cl.enqueue_copy(queue, found, sums)
        cl.enqueue_copy(queue, powers, exponents)
    with np.errstate(divide="ignore"):
        out[:] = np.log(found.astype(np.float64)) - powers * np.log(2)

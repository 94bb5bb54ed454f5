"""Products and closures over (min, +) on an OpenCL device (`kernels/matrices.cl`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.errors import DeviceError
from gassst.gpu.device import Commands
from gassst.gpu.platforms import opened

TILES = {4: ("-DREAL=float", 64), 8: ("-DREAL=double", 32)}  # by the bytes of a number: 32 kB of local memory
Reals = NDArray[Any]


class Matrices(Commands):
    """The kernels, for numbers of one type."""

    paths = (Path(__file__).parent / "kernels" / "matrices.cl",)

    def __init__(self, device: str, dtype: np.dtype[Any], threads: int):
        super().__init__(opened(device, threads)[0])
        real, self.tile = TILES[dtype.itemsize]
        self.options = real, f"-DTILE={self.tile}"
        if dtype.itemsize == 8 and "cl_khr_fp64" not in self.device.device.extensions:
            raise DeviceError(f"OpenCL device {self.device.info.name} does not support double precision")

    def call(self, kernel: str, columns: int, rows: int, *arguments: Any) -> None:
        """Note so many groups."""
        self.note(kernel, self.options, (16 * columns, 16 * rows), (16, 16), *arguments)


def product(a: Reals, b: Reals, c: Reals, device: str, threads: int) -> Reals:
    """The product of matrices whose sides are multiples of 64, added to `c`. Raises DeviceError."""
    matrices = Matrices(device, a.dtype, threads)
    with matrices.device.errors():
        held = [matrices.upload(name, one.reshape(-1)) for name, one in zip("abc", (a, b, c), strict=True)]
        groups = c.shape[1] // matrices.tile, len(c) // matrices.tile
        matrices.call("product", *groups, *held, np.int32(a.shape[1]), np.int32(c.shape[1]))
        matrices.download("found", held[2], c.shape, c.dtype)
        return matrices.finish()["found"]


def closure(d: Reals, device: str, threads: int) -> Reals:
    """Shortest paths, where no node is farther than 0 from itself. Raises DeviceError."""
    matrices = Matrices(device, d.dtype, threads)
    n, side = np.int32(len(d)), len(d) // matrices.tile
    with matrices.device.errors():
        held = matrices.upload("d", d.reshape(-1))
        for k in range(0, len(d), matrices.tile):
            matrices.call("pivot", 1, 1, held, n, np.int32(k))
            for part, rows in enumerate((1, 1, side)):
                matrices.call("others", side, rows, held, n, np.int32(k), np.int32(part))
        matrices.download("found", held, d.shape, d.dtype)
        return matrices.finish()["found"]

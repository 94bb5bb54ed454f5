"""`product` and `closure`. Compiled code knows (min, +); (max, +) is the same with all signs changed."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.problems import Job
from gassst.errors import InputError, UsageError
from gassst.workers.allocator import aligned
from gassst.workers.tasks import is_device, run_shown, thread_count

Semiring = Literal["max-plus", "min-plus", "sum-product"]
Reals = NDArray[Any]
SEMIRINGS: tuple[str, ...] = get_args(Semiring)
BLOCK = 64  # that of semiring_kernels.c


def product(
    a: ArrayLike, b: ArrayLike, semiring: Semiring, *, threads: int | None = None, device: str | None = None
) -> Reals:
    """The matrix product: each entry is the sum over k of `a[i, k] * b[k, j]`, with the semiring's sum and product.

    Parameters
    ----------
    a, b : float[m, l] and float[l, n]
        Of single precision if both are float32, else of double.
    semiring : str
        "max-plus": the largest a + b; "min-plus": the smallest; "sum-product": the usual product.
    threads : int, optional
        All cores by default.
    device : str, optional
        Compute on this OpenCL device, as `gassst map --device` names it; not with "sum-product".

    Returns
    -------
    float[m, n]

    Raises
    ------
    UsageError
        For a semiring that is none of these, and shapes that do not fit.
    DeviceError
        Where there is no such device, or it lacks memory or double precision.
    InputError
        For NaN, and infinity that is not the semiring's zero: -inf of "max-plus", inf of "min-plus".
    """
    first, second = _checked(a, semiring, "a"), _checked(b, semiring, "b")
    if first.dtype != second.dtype:
        first, second = first.astype(np.float64), second.astype(np.float64)
    if first.shape[1] != second.shape[0]:
        raise UsageError(f"product: shapes {first.shape} and {second.shape} do not fit")
    if semiring == "sum-product":
        return first @ second
    sign = -1 if semiring == "max-plus" else 1
    m, n, count = len(first), second.shape[1], thread_count(threads)
    left, right, found = (
        _blocks(sign * first),
        _blocks(sign * second),
        _blocks(np.full((m, n), np.inf, first.dtype)),
    )
    if device is not None and is_device(device):
        from gassst.semiring import device as on_device

        found = on_device.product(left, right, found, device, count)
    else:
        depth = left.shape[1]
        _each_block("product", depth, found, count, left, right, found, depth, found.shape[1])
    return sign * found[:m, :n]


def closure(
    a: ArrayLike, semiring: Semiring = "min-plus", *, threads: int | None = None, device: str | None = None
) -> Reals:
    """The sum over all paths: of each pair of nodes the shortest path, the longest one, or the sum of products.

    The empty path counts: a node has the distance 0 to itself, and in "sum-product" 1 more than its round trips.

    Parameters
    ----------
    a : float[n, n]
        Weights of edges. Where there is none, inf of "min-plus", -inf of "max-plus", 0 of "sum-product".
    semiring : str
        As that of `product`.
    threads, device
        As those of `product`.

    Returns
    -------
    float[n, n], of single precision if `a` is float32, else of double.

    Raises
    ------
    UsageError, InputError, DeviceError
        As `product`. InputError, too, where a round trip makes the sum endless.
    """
    weights = _checked(a, semiring, "a")
    n, count = len(weights), thread_count(threads)
    if weights.shape != (n, n):
        raise UsageError(f"closure: a square matrix is wanted, not {weights.shape}")
    if semiring == "sum-product":
        if n and np.abs(np.linalg.eigvals(weights)).max() >= 1:
            raise InputError("closure: the sum over all paths is endless")
        return np.linalg.inv(np.eye(n, dtype=weights.dtype) - weights)
    sign = -1 if semiring == "max-plus" else 1
    d = _blocks(sign * weights)
    np.fill_diagonal(d, np.minimum(d.diagonal(), 0))
    if device is not None and is_device(device):
        from gassst.semiring import device as on_device

        d = on_device.closure(d, device, count)
    else:
        for k in range(0, len(d), BLOCK):
            Job(f"pivot {d.dtype.str[1:]}", d, len(d), k).run(0, 1)
            _each_block("others", BLOCK, d, count, d, len(d), k)
    if (d.diagonal() < 0).any():
        raise InputError("closure: a round trip gains at every turn, so that no path is the best")
    return sign * d[:n, :n]


def _each_block(kernel: str, depth: int, found: Reals, threads: int, *members: Any) -> None:
    """All blocks of rows of `found`. One thread is this one, whose cache has the matrix."""
    job, blocks = Job(f"{kernel} {found.dtype.str[1:]}", *members), len(found) // BLOCK
    if threads == 1:
        for i in range(blocks):
            job.run(i, i + 1)
        return
    work = np.full(blocks, BLOCK * depth * found.shape[1] / 8)  # an eighth of a cell of an alignment
    run_shown(work, job.run, threads, job.stop, None)


def _checked(a: ArrayLike, semiring: str, name: str) -> Reals:
    if semiring not in SEMIRINGS:
        raise UsageError(f"semiring {semiring!r}: must be {', '.join(SEMIRINGS)}")
    try:
        array = np.asarray(a)
        array = array.astype(np.float32 if array.dtype == np.float32 else np.float64, copy=False)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: a matrix of numbers is wanted") from None
    if array.ndim != 2:
        raise UsageError(f"{name}: a matrix is wanted, not an array of {array.ndim} dimensions")
    most = np.inf if semiring == "min-plus" else np.finfo(array.dtype).max
    least = -np.inf if semiring == "max-plus" else -np.finfo(array.dtype).max
    if not ((array >= least) & (array <= most)).all():
        raise InputError(f"{name}: an entry is not a number of {semiring}")
    return array


def _blocks(a: Reals) -> Reals:
    """A copy in whole blocks, filled up with inf."""
    whole = aligned(tuple(-(-max(side, 1) // BLOCK) * BLOCK for side in a.shape), a.dtype)
    whole[:] = np.inf
    whole[: len(a), : a.shape[1]] = a
    return whole

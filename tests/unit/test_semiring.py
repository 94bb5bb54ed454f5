"""Products and closures over semirings, against plain NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from gassst.errors import GassstError
from gassst.semiring import closure, product


def plain_closure(d):
    d = d.copy()
    np.fill_diagonal(d, np.minimum(d.diagonal(), 0))
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


def graph(n, seed, dtype=np.float64):
    """Whole numbers, so that the order of sums does not matter."""
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 50, (n, n)).astype(dtype)
    d[rng.random((n, n)) < 0.8] = np.inf
    return d


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 70, 129), (130, 600, 5)])
def test_products_are_those_of_numpy(shape, dtype, instruction_set):
    rng = np.random.default_rng(sum(shape))
    m, depth, n = shape
    a, b = rng.integers(-9, 9, (m, depth)).astype(dtype), rng.integers(-9, 9, (depth, n)).astype(dtype)
    a[rng.random(a.shape) < 0.3] = np.inf
    sums = a[:, :, None] + b
    found = product(a, b, "min-plus", threads=2)
    assert found.dtype == dtype and np.array_equal(found, sums.min(1))
    assert np.array_equal(product(-a, b, "max-plus"), (-a[:, :, None] + b).max(1))
    assert np.array_equal(product(b.T, b, "sum-product"), b.T @ b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_closures_are_those_of_floyd_and_warshall(dtype, instruction_set):
    for n in (1, 63, 64, 200):
        d = graph(n, n, dtype)
        assert np.array_equal(closure(d, threads=2), plain_closure(d))
        assert np.array_equal(closure(-d, "max-plus"), -plain_closure(d))


@pytest.mark.device("cpu")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_device_finds_the_same(dtype):
    for n in (5, 64, 200):
        a, b = graph(n, n, dtype), graph(n, n + 1, dtype)[:, : n // 2 + 1]
        assert np.array_equal(product(a, b, "min-plus", device="cpu"), product(a, b, "min-plus"))
        assert np.array_equal(product(-a, -b, "max-plus", device="cpu"), product(-a, -b, "max-plus"))
        found = closure(a, device="cpu")
        assert found.dtype == dtype and np.array_equal(found, closure(a))


def test_shortest_paths_are_those_of_scipy():
    csgraph = pytest.importorskip("scipy.sparse.csgraph", reason="no SciPy")
    d = graph(150, 5)
    assert np.array_equal(closure(d), csgraph.floyd_warshall(d))


def test_a_sum_over_all_paths():
    a = np.array([[0.0, 0.5], [0.25, 0.0]])
    assert np.allclose(closure(a, "sum-product"), sum(np.linalg.matrix_power(a, k) for k in range(60)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: product([[1.0]], [[1.0]], "min-times"), "semiring 'min-times': must be max-plus"),
        (lambda: product([[1.0, 2.0]], [[1.0]], "min-plus"), "do not fit"),
        (lambda: product([[np.nan]], [[1.0]], "min-plus"), "not a number of min-plus"),
        (lambda: product([[np.inf]], [[1.0]], "max-plus"), "not a number of max-plus"),
        (lambda: product([["x"]], [[1.0]], "max-plus"), "a matrix of numbers"),
        (lambda: closure([[1.0, 2.0]]), "square"),
        (lambda: closure([[0.0, 1.0], [-2.0, 0.0]]), "gains at every turn"),
        (lambda: closure([[1.0]], "sum-product"), "endless"),
        (lambda: product([[1.0]], [[1.0]], "min-plus", device="no such device"), "OpenCL device"),
    ],
)
def test_bad_input_is_one_line(call, words):
    with pytest.raises(GassstError, match=f"^[^\\n]*{words}[^\\n]*$"):
        call()

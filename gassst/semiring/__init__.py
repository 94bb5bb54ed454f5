"""Products and closures of matrices over semirings: shortest and longest paths, sums over all paths.

>>> from gassst.semiring import closure
>>> closure([[float("inf"), 1.0], [2.0, float("inf")]]).tolist()
[[0.0, 1.0], [2.0, 0.0]]
"""

from gassst.semiring.matrices import SEMIRINGS, closure, product

__all__ = ["SEMIRINGS", "closure", "product"]

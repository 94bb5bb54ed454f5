"""Many slices of one array at once."""

import numpy as np

from gassst.model.array_types import I64


def slices(begin: np.ndarray, length: np.ndarray) -> tuple[I64, I64]:
    """What slices of an array have, one behind the other: `begin` and `length`, integers[k].

    Returns int64[m], the index of each item, and int64[k + 1], where each slice begins among these, and the last ends.
    """
    offsets = np.concatenate([[0], np.cumsum(length, dtype=np.int64)])
    return np.repeat(np.asarray(begin, np.int64) - offsets[:-1], length) + np.arange(offsets[-1]), offsets

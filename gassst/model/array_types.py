"""Names of the types of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray as NDArray
else:  # numpy.typing takes a tenth of the start of a run
    NDArray = np.ndarray

U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
COORDINATE = np.int64
"""Of coordinates of the concatenated reference, as `ext/common/coordinates.h` has them."""
COORDINATE_BITS = 36
F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
Structs = NDArray[Any]

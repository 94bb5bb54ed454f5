from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.local.places import Aligned
from gassst.search.context import BatchContext

_U32 = NDArray[np.uint32]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

def hits_from_alignments(
    aligned: Aligned, context: BatchContext, first_run: int, best_parts: bool = ...
) -> tuple[NDArray[Any], _U32, _I64, _I64, _I32, _I64, _I64]: ...

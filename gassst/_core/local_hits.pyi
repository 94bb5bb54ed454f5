from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.local.places import Aligned
from gassst.search.context import BatchContext

def hits_from_alignments(
    aligned: Aligned, context: BatchContext, best_parts: bool = ...
) -> tuple[NDArray[Any], NDArray[np.uint32]]: ...

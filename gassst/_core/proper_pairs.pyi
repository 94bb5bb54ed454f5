from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.pairing.insert_size import InsertModel

def flag_proper(
    hits: NDArray[Any],
    cigars: NDArray[np.uint32],
    mate: NDArray[np.uint8],
    starts: NDArray[np.int64],
    insert: InsertModel,
) -> int: ...
def pair_templates(
    hits: NDArray[Any],
    cigars: NDArray[np.uint32],
    first: NDArray[np.int64],
    starts: NDArray[np.int64],
    orientation: int,
) -> NDArray[np.int64]: ...
def name_mates(
    hits: NDArray[Any],
    cigars: NDArray[np.uint32],
    mate: NDArray[np.uint8],
    starts: NDArray[np.int64],
    insert: InsertModel,
) -> None: ...

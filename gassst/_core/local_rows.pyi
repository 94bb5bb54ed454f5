from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.local.places import Lines
from gassst.local.rivals import Rivals
from gassst.model.array_types import F64, I64, U32
from gassst.model.params import Scoring

def parts_of_strands(lines: Lines, lengths: U32, scoring: Scoring) -> tuple[I64, I64, F64]: ...
def summarise(n: int, lines: Lines, rivals: Rivals) -> NDArray[np.void]: ...
def in_order(parts: Sequence[NDArray[Any]], n: int) -> tuple[NDArray[Any], I64]: ...

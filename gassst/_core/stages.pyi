from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.search.context import BatchContext
from gassst.search.state import SearchState

class Stages:
    @property
    def funnel(self) -> Any: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int, int, int]: ...
    def __init__(
        self,
        index: Any,
        lookup: Any,
        plan: Any,
        cascade: Any,
        margin: int,
        given_up: float,
        further: int,
        instruction_set: str,
        left_out: NDArray[np.bool_] | None = None,
    ) -> None: ...
    def search(self, context: BatchContext, state: SearchState, block: int) -> tuple[Any, ...]: ...

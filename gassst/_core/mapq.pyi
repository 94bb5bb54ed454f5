from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.index.miss_model import SeedsLooked
from gassst.model.array_types import F64, I64, U8, U32, Structs
from gassst.search.arrays import Seen

CAPPED_BY: tuple[str, ...]

def chance_hits(m: int, d: int, n_bases: float, letters: float = 4.0) -> float: ...
def qualities(others: F64) -> U8: ...

class Odds:
    def __init__(
        self, rate: float, bases: float, unknown_rate: float, unknown_bases: float, unlike: float
    ) -> None: ...
    def of(self, errors: I64, lengths: I64) -> F64: ...

class Rater:
    def __init__(
        self,
        plan: Any,
        odds: Odds,
        lengths: Sequence[int],
        further: int,
        looked_densely: Callable[[int, int, int, float], SeedsLooked],
        beside: bool = True,
    ) -> None: ...
    @property
    def kept(self) -> list[dict[str, Any]]: ...
    def wholes(
        self,
        context: Any,
        summary: Structs,
        seen: Seen,
        wrong: F64 | None = None,
        pairs: Any = None,
        decided: U8 | None = None,
    ) -> Structs: ...
    def lines(
        self,
        context: Any,
        lines: Any,
        rivals: Any,
        coverage: Any,
        seeds: tuple[int, int, int],
        beside: tuple[I64, I64] | None = None,
    ) -> Structs: ...
    def mates(
        self,
        context: Any,
        rated: Structs,
        paired: Any,
        whole: U8,
        summary: NDArray[np.void],
        rivals: Any,
        coverage: Any,
        seeds: tuple[int, int, int],
        window_bases: float,
    ) -> None: ...
    def beside_copies(
        self,
        rated: Structs,
        rows: I64,
        read_strand: U32,
        diagonal: I64,
        begin: I64,
        end: I64,
        loss: F64,
        context: Any,
    ) -> None: ...

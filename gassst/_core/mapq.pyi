from collections.abc import Callable, Sequence
from typing import Any

from gassst.index.miss_model import SeedsLooked
from gassst.model.array_types import F64, I64, U8, Structs
from gassst.search.arrays import Seen

DIFFERENCES: int

def chance_hits(m: int, d: int, n_bases: float, letters: float = 4.0) -> float: ...
def qualities(others: F64) -> U8: ...

class Odds:
    def __init__(
        self, rate: float, bases: float, unknown_rate: float, unknown_bases: float, unlike: float
    ) -> None: ...
    def of(self, errors: I64, lengths: I64) -> F64: ...

class Cases:
    def __init__(
        self,
        plan: Any,
        odds: Odds,
        lengths: Sequence[int],
        looked_densely: Callable[[int, int, int, float], SeedsLooked],
    ) -> None: ...
    @property
    def kept(self) -> list[dict[str, Any]]: ...

class Rater:
    cases: Cases
    def __init__(self, plan: Any, cases: Cases, further: int, beside: bool = True) -> None: ...
    def wholes(
        self,
        context: Any,
        summary: Structs,
        seen: Seen,
        wrong: F64 | None = None,
        pairs: Any = None,
        decided: U8 | None = None,
    ) -> Structs: ...

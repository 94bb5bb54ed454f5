from typing import Any

from gassst.model.array_types import I64, U16, U32, U64
from gassst.search.context import PairContext

BAND_REACH: int

def instruction_sets() -> list[str]: ...

class Band:
    def __init__(
        self,
        reference: U64,
        reads: U64,
        read_row: U32,
        read_length: U32,
        instruction_set: str,
    ) -> None: ...
    def score(
        self,
        read_strand: U32,
        band_start: I64,
        words: int,
        limit: U16 | None = None,
    ) -> tuple[U16, U16]: ...

class Filter: ...

def filter_of(name: str, gaps: int) -> Filter: ...

class Stages:
    @property
    def funnel(self) -> Any: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int, int, int]: ...
    def __init__(
        self,
        index: Any,
        lookup: Any,
        cascade: Any,
        plan: Any,
        margin: int,
        instruction_set: str,
    ) -> None: ...

class PairStages(Stages):
    @property
    def rescued(self) -> int: ...
    @property
    def pairs_ns(self) -> int: ...
    def open_pairs(self, pairs: PairContext, most_places: int) -> None: ...

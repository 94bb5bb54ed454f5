from typing import Any

from gassst.search.context import PairContext

BAND_REACH: int

def instruction_sets() -> list[str]: ...

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

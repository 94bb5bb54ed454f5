from typing import Any

from gassst._core.stages import Stages
from gassst.search.context import PairContext

class PairStages(Stages):
    @property
    def rescued(self) -> int: ...
    @property
    def pairs_ns(self) -> int: ...
    def open_pairs(self, pairs: PairContext, most_places: int, device: Any) -> None: ...

from typing import Any

from gassst.search.context import BatchContext

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
    def search(
        self, context: BatchContext, block: int, given_up: float, further: int
    ) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]: ...

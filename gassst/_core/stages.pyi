from typing import Any

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

from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import Buffer

_T = TypeVar("_T")

def hits_of(
    n: int, hits: Any, cigars: Any, reference: Any, make: Callable[[tuple[Any, ...]], _T]
) -> list[list[_T]]: ...

class OneRead:
    def __init__(
        self,
        index: Any,
        plan: Any,
        cascade: Any,
        params: Any,
        instruction_set: str,
        margin: int,
        given_up: float,
        library: Any,
        adapters: Any,
        ends: Any,
    ) -> None: ...
    def hits(self, bases: Buffer, make: Callable[[tuple[Any, ...]], _T]) -> list[_T] | None: ...

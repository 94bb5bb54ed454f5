"""What a run asks of its workers, and what they ask of the work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")
Value = TypeVar("Value", covariant=True)


class Shared(Protocol[Value]):
    """A value that many calls are given: it travels once to each process, not with each call."""

    @property
    def value(self) -> Value: ...


class Workers(Protocol):
    """Makes calls in the order in which they are submitted, several at once. Any thread may submit."""

    @property
    def threads(self) -> int:
        """How many calls are made at once."""
        ...

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """Call `function(work, *args)`, which a module must have by name, and which must not return its arguments."""
        ...

    def share(self, value: Result) -> Shared[Result]:
        """Something to be an argument of many calls; it must stay, as it is, until the last of them is done."""
        ...

    def close(self) -> None:
        """End the workers without waiting for calls under way."""
        ...

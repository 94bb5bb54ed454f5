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


class Work(Protocol):
    """What all calls have in common; each process of workers has a copy of its own."""

    def enter(self) -> None:
        """Called in a process of workers before the first call, and after each account: it has counted nothing yet."""

    def account(self) -> Any:
        """What calls have counted in this process, for `Workers.accounts`."""


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
        """Something to be an argument of many calls; it must stay as it is until the last of them is made."""
        ...

    def accounts(self) -> list[Any]:
        """End the workers, all calls being done, and return `Work.account()` of every process but this one.

        Workers that stay rest, until `begin_again`.
        """
        ...

    def begin_again(self) -> bool:
        """Have workers that rest make calls again. False where they have ended."""
        ...

    def close(self) -> None:
        """End the workers without waiting for calls under way."""
        ...

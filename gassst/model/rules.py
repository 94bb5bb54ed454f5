"""The optional rules of the mapper: each has a name, a purpose in one sentence, and a switch for measurements.

`GASSST_WITHOUT=name,name` in the environment switches rules off while modules are imported, at no cost to a run. A
device knows nothing of it: measure with `--device none`, as `scripts/bench/ablation.py` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from gassst.errors import UsageError

VARIABLE = "GASSST_WITHOUT"
PURPOSES: dict[str, str] = {}
"""What every rule is for, by its name; complete once `gassst.api.mapper` is imported."""

Function = TypeVar("Function", bound=Callable[..., Any])


def switched_off() -> frozenset[str]:
    """Names of rules that the environment switches off."""
    return frozenset(filter(None, os.environ.get(VARIABLE, "").split(",")))


def rule(name: str, purpose: str) -> bool:
    """Register a rule; whether it is on."""
    if PURPOSES.setdefault(name, purpose) != purpose:
        raise ValueError(f"two rules are called {name!r}")
    return name not in switched_off()


def optional(name: str, purpose: str, instead: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register a function that is a rule: `instead` takes its place where it is switched off."""
    is_on = rule(name, purpose)
    return lambda function: function if is_on else instead  # type: ignore[return-value]


def check_switches() -> None:
    """Raise UsageError for a name in the environment that no rule has."""
    if unknown := sorted(switched_off() - PURPOSES.keys()):
        known = ", ".join(sorted(PURPOSES))
        raise UsageError(f"{VARIABLE}: unknown rule {unknown[0]!r}; known are {known}")

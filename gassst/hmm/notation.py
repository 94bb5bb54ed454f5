"""Models as text, in the notation of HMMingbird (Cartey 2011, chapter 5): data, not programs."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from gassst.errors import InputError
from gassst.files.batches import text_of
from gassst.hmm.model import Model

STATEMENTS = {
    "alphabet": re.compile(r"(alphabet) ?\[([^\]]*)\]"),
    "place": re.compile(r"(startstate|endstate) (\w+)"),
    "state": re.compile(r"state (\w+)(?: emits (\w+))?"),
    "emission": re.compile(r"emission (\w+) ?= ?\[([^\]]*)\]"),
    "transition": re.compile(r"(\w+ ?-> ?\w+) ([-+.\w]+(?: ?/ ?[-+.\w]+)?)(?: emits (\w+))?"),
}


def read_model(source: str | os.PathLike[str]) -> Model:
    """A model of a file, or of text that contains `{`.

    hmm coin { alphabet [h, t]; startstate begin; state fair emits even; endstate end; emission even = [1/2, 1/2];
    begin -> fair 1; fair -> fair 0.9; fair -> end 0.1; }

    A state without `emits` is silent. A transition may emit, too: it becomes a state of its own, `a->b`. Without an
    `endstate` a sequence may end anywhere. Comments begin with `//` or `#`.

    Raises InputError for a file that is missing, text that is cut short or is not understood, names that are not
    declared or declared twice, and what `Model` refuses.
    """
    text, name = str(source), "model"
    if "{" not in text:
        name, text = os.fspath(source), text_of(source)
    whole = re.fullmatch(r"\s*hmm\s+(\w+)\s*\{(.*)\}\s*", re.sub(r"(//|#).*", "", text), re.DOTALL)
    try:
        if whole is None:
            raise InputError("`hmm name { ... }` is wanted, one model from its first brace to its last")
        return _model(_declared(whole[2]))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _declared(body: str) -> dict[str, dict[str, Any]]:
    """What statements of each kind say, by names; transitions by both states with `->` between them."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in STATEMENTS}

    def put(kind: str, name: str, value: Any) -> None:
        if name in found[kind]:
            raise InputError(f"{kind} {name} is declared twice")
        found[kind][name] = value

    *statements, rest = (" ".join(part.split()) for part in body.split(";"))
    if rest:
        raise InputError(f"no `;` ends `{rest[:40]}`")
    for statement in filter(None, statements):
        matches = ((kind, pattern.fullmatch(statement)) for kind, pattern in STATEMENTS.items())
        kind, match = next(((kind, match) for kind, match in matches if match), ("", None))
        if match is None:
            raise InputError(f"not understood: `{statement[:60]}`")
        name, value, *more = (*match.groups(), None)
        if kind == "emission":
            put(kind, name, _numbers(value))
        elif kind == "transition":
            first, second = (state.strip() for state in name.split("->"))
            if more[0]:
                put("state", between := f"{first}->{second}", more[0])
                put(kind, f"{between} -> {second}", 1.0)
                second = between
            put(kind, f"{first} -> {second}", _numbers(value)[0])
        else:
            put(kind, name, value)
    return found


def _numbers(text: str) -> list[float]:
    found = []
    for part in text.split(","):
        try:
            above, *below = map(float, part.split("/"))
            found.append(above / below[0] if below else above)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"`{part.strip()}` is not a number") from None
    return found


def _model(declared: dict[str, dict[str, Any]]) -> Model:
    alphabet = [letter.strip() for letter in declared["alphabet"].get("alphabet", "").split(",")]
    if any(len(letter) != 1 for letter in alphabet) or len(set(alphabet)) < len(alphabet):
        raise InputError("an alphabet of single letters is wanted, each once")
    first, last = declared["place"].get("startstate"), declared["place"].get("endstate")
    if first is None:
        raise InputError("a startstate is wanted")
    at = {state: i for i, state in enumerate(declared["state"])}
    for state in {first, last} & at.keys():
        raise InputError(f"state {state} is declared twice")
    n = len(at)
    whole = np.zeros((n + 1, n + 1))  # the last row from the start, the last column to the end
    emission = np.zeros((n, len(alphabet)))
    for name, p in declared["transition"].items():
        a, b = name.split(" -> ")
        if (a not in at and a != first) or (b not in at and b != last):
            raise InputError(f"transition {name}: a state is not declared, or cannot be left or entered")
        whole[at.get(a, n), at.get(b, n)] = p
    if whole[n, n]:
        raise InputError("a transition from the startstate to the endstate would emit nothing")
    for state, name in declared["state"].items():
        if name is not None:
            if len(declared["emission"].get(name, ())) != len(alphabet):
                raise InputError(f"state {state}: no emission {name} of {len(alphabet)} probabilities")
            emission[at[state]] = declared["emission"][name]
    end = whole[:n, n] if last else None
    return Model(whole[n, :n], whole[:n, :n], emission, end, alphabet="".join(alphabet), states=list(at))

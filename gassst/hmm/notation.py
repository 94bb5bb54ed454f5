"""Models as text, in the notation of HMMingbird (Cartey 2011, chapter 5): data, not programs."""

from __future__ import annotations

import os
import re
from typing import NoReturn

import numpy as np

from gassst.errors import InputError
from gassst.files.batches import text_of
from gassst.hmm.model import Model

NUMBER = r"[-+.\w]+(?:\s*/\s*[-+.\w]+)?"
LIST = r"\[([^\]]*)\]"
STATEMENTS = {
    "alphabet": re.compile(rf"alphabet\s*{LIST}"),
    "ends": re.compile(r"(startstate|endstate)\s+(\w+)"),
    "state": re.compile(r"state\s+(\w+)(?:\s+emits\s+(\w+))?"),
    "emission": re.compile(rf"emission\s+(\w+)\s*=\s*{LIST}"),
    "transition": re.compile(rf"(\w+)\s*->\s*(\w+)\s+({NUMBER})(?:\s+emits\s+(\w+))?"),
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
    text = re.sub(r"(//|#).*", "", text)
    whole = re.fullmatch(r"\s*hmm\s+(\w+)\s*\{(.*)\}\s*", text, re.DOTALL)
    if whole is None:
        raise InputError(
            f"{name}: `hmm name {{ ... }}` is wanted, one model from its first brace to its last"
        )
    return _Reader(name, whole[2]).model()


class _Reader:
    """Declarations of a model."""

    def __init__(self, name: str, body: str):
        self.name, self.alphabet = name, list[str]()
        self.ends: dict[str, str] = {}
        self.states: dict[str, str | None] = {}
        self.emissions: dict[str, list[float]] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        *statements, rest = body.split(";")
        for statement in (" ".join(part.split()) for part in [*statements, rest]):
            if statement:
                self._take(statement)
        if rest.strip():
            self._fail(f"no `;` ends `{' '.join(rest.split())[:40]}`")

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.name}: {what}")

    def _take(self, statement: str) -> None:
        for kind, pattern in STATEMENTS.items():
            if found := pattern.fullmatch(statement):
                getattr(self, f"_{kind}")(*found.groups())
                return
        self._fail(f"not understood: `{statement[:60]}`")

    def _alphabet(self, letters: str) -> None:
        self.alphabet = [letter.strip() for letter in letters.split(",")]
        if any(len(letter) != 1 for letter in self.alphabet) or len(set(self.alphabet)) < len(self.alphabet):
            self._fail("alphabet: single letters are wanted, each once")

    def _ends(self, kind: str, state: str) -> None:
        if kind in self.ends:
            self._fail(f"two {kind}s")
        self.ends[kind] = state

    def _state(self, state: str, emission: str | None) -> None:
        if state in self.states:
            self._fail(f"state {state} is declared twice")
        self.states[state] = emission

    def _emission(self, emission: str, numbers: str) -> None:
        if emission in self.emissions:
            self._fail(f"emission {emission} is declared twice")
        self.emissions[emission] = [self._number(number) for number in numbers.split(",")]

    def _transition(self, first: str, second: str, number: str, emission: str | None) -> None:
        if emission is not None:
            between = f"{first}->{second}"
            self._state(between, emission)
            self._transition(between, second, "1", None)
            second = between
        if (first, second) in self.transitions:
            self._fail(f"transition {first} -> {second} is declared twice")
        self.transitions[first, second] = self._number(number)

    def _number(self, text: str) -> float:
        try:
            above, *below = (float(part) for part in text.split("/"))
            return above / below[0] if below else above
        except (ValueError, ZeroDivisionError):
            self._fail(f"`{text.strip()}` is not a number")

    def model(self) -> Model:
        """The model of the declarations."""
        if not self.alphabet or "startstate" not in self.ends:
            self._fail("an alphabet and a startstate are wanted")
        first, last = self.ends["startstate"], self.ends.get("endstate")
        at = {state: i for i, state in enumerate(self.states)}
        for state in {first, last} & at.keys():
            self._fail(f"state {state} is declared twice")
        n = len(at)
        start, end, transition = np.zeros(n), np.zeros(n), np.zeros((n, n))
        for (a, b), p in self.transitions.items():
            if (a not in at and a != first) or (b not in at and b != last):
                self._fail(f"transition {a} -> {b}: a state is not declared, or is no place to go to or from")
            if a == first and b == last:
                self._fail("a transition from the startstate to the endstate would emit nothing")
            if a == first:
                start[at[b]] = p
            elif b == last:
                end[at[a]] = p
            else:
                transition[at[a], at[b]] = p
        emission = np.zeros((n, len(self.alphabet)))
        for state, name in self.states.items():
            if name is not None and len(self.emissions.get(name, ())) != len(self.alphabet):
                self._fail(f"state {state}: no emission {name} of {len(self.alphabet)} probabilities")
            if name is not None:
                emission[at[state]] = self.emissions[name]
        names = list(at)
        letters = "".join(self.alphabet)
        try:
            return Model(start, transition, emission, end if last else None, alphabet=letters, states=names)
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None

"""Letters and their codes: DNA and protein, or those of a matrix of your own."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gassst.errors import UsageError

MAX_LETTERS = 31
"""Codes fit five bits, as the vector kernels look scores up; the last one pads."""
NO_LETTER = 255


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The letters of sequences; the code of a letter is its index among them.

    Parameters
    ----------
    name : str
        For messages.
    letters : str
        Upper-case ASCII, each once, 1 to 31 of them.
    synonyms : dict, optional
        Letters that are read as another one.

    Raises
    ------
    UsageError
        For letters that are not as above.
    """

    name: str
    letters: str
    synonyms: dict[str, str] = field(default_factory=dict)
    codes: NDArray[np.uint8] = field(init=False, repr=False)
    """uint8[256], the code of each byte; lower case as upper case, 255 for what is no letter."""

    def __post_init__(self) -> None:
        letters = self.letters
        if not (isinstance(letters, str) and letters.isascii() and letters == letters.upper()):
            raise UsageError(f"an alphabet has upper-case ASCII letters, not {letters!r}")
        if not 1 <= len(letters) <= MAX_LETTERS or len(set(letters)) < len(letters):
            raise UsageError(f"an alphabet has 1 to {MAX_LETTERS} different letters, not {letters!r}")
        for letter, read_as in self.synonyms.items():
            if len(letter) != 1 or not letter.isascii() or read_as not in letters:
                raise UsageError(f"alphabet {self.name}: {letter!r} cannot be read as {read_as!r}")
        codes = np.full(256, NO_LETTER, np.uint8)
        for letter in [*letters, *self.synonyms]:
            code = letters.index(self.synonyms.get(letter, letter))
            codes[[ord(letter), ord(letter.lower())]] = code
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)

    def __len__(self) -> int:
        return len(self.letters)

    @cached_property
    def codes_of_two(self) -> NDArray[np.uint16]:
        """uint16[65536], the codes of two bytes in memory order, for `gassst._core.pairwise.encode`."""
        two = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)
        return self.codes[two].view(np.uint16)

    def decode(self, codes: NDArray[np.uint8]) -> str:
        """The letters of codes, uint8[n]."""
        return np.frombuffer(self.letters.encode(), np.uint8)[codes].tobytes().decode()


DNA = Alphabet("DNA", "ACGTNRYSWKMBDHV", {"U": "T"})
"""A, C, G, T are 0 to 3, N is 4; then the other letters of IUPAC. U is read as T."""

PROTEIN = Alphabet("protein", "ARNDCQEGHILKMFPSTWYVBZX*", {"U": "X", "O": "X", "J": "X"})
"""In the order of NCBI's matrices, which have no U, O and J: these are read as X."""

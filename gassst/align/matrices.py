"""What a pair of letters scores: published matrices, files in NCBI's format, arrays, profiles.

The tables in `gassst/align/data` are those of NCBI (ftp.ncbi.nlm.nih.gov/blast/matrices). BLOSUM62: Henikoff and
Henikoff 1992. PAM250: Dayhoff, Schwartz and Orcutt 1978. NUC4.4: Todd Lowe 1992.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst.align.alphabets import DNA, NO_LETTER, PROTEIN, Alphabet
from gassst.errors import InputError, ParameterError, UsageError, unreadable

NAMED = ("BLOSUM62", "PAM250", "NUC4.4")
"""Names of the matrices that the package has; case, dots and blanks in a name do not matter."""
MAX_SCORE = 1 << 14
"""Scores of two letters lie within this, either way."""

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Matrix:
    """Scores of letters against letters.

    Parameters
    ----------
    scores : int16[k, k]
        `scores[a, b]` is that of letter `a` of a query and letter `b` of a target. They need not be symmetric.
    alphabet : Alphabet
        Of k letters or more.
    name : str
        For messages.

    Raises
    ------
    UsageError
        For scores that are not integers of at most 16384, more letters than the alphabet contains, or an alphabet that
        is no `Alphabet`.
    """

    scores: NDArray[np.int16]
    alphabet: Alphabet
    name: str = "matrix"
    known: NDArray[np.bool_] = field(init=False, repr=False)
    """bool[letters of the alphabet], which of them have scores."""

    def __repr__(self) -> str:
        return f"<Matrix: {self.name}, {self.alphabet.name}>"

    def __post_init__(self) -> None:
        scores = _verified(self.scores, self.name, self.alphabet)
        k = len(scores)
        if scores.shape != (k, k) or k > len(self.alphabet):
            shape = " x ".join(map(str, scores.shape))
            raise UsageError(
                f"{self.name}: {shape} scores do not fit the {len(self.alphabet)} letters of the "
                f"{self.alphabet.name} alphabet"
            )
        object.__setattr__(self, "scores", scores)
        if "known" not in self.__dict__:
            object.__setattr__(self, "known", np.arange(len(self.alphabet)) < k)


@dataclass(frozen=True, eq=False)
class PSSM:
    """A position-specific matrix, which is used as a query.

    Parameters
    ----------
    scores : int16[m, k]
        `scores[i, b]` is that of place `i` of the profile and letter `b` of a target.
    alphabet : Alphabet
        Of k letters or more.
    name : str
        Of the query.

    Raises
    ------
    UsageError
        As `Matrix`; also for a profile without places.
    """

    scores: NDArray[np.int16]
    alphabet: Alphabet = PROTEIN
    name: str = "profile"

    def __repr__(self) -> str:
        return f"<PSSM: {self.name}, {len(self):,} places, {self.alphabet.name}>"

    def __post_init__(self) -> None:
        scores = _verified(self.scores, self.name, self.alphabet)
        if not len(scores) or not 1 <= scores.shape[1] <= len(self.alphabet):
            shape = " x ".join(map(str, scores.shape))
            raise UsageError(
                f"{self.name}: a profile has a row per position and at most {len(self.alphabet)} letters, not {shape}"
            )
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return len(self.scores)


MatrixLike = str | os.PathLike[str] | Matrix | NDArray[np.integer] | Sequence[Sequence[int]]


def substitution_matrix(source: MatrixLike, alphabet: Alphabet | None = None) -> Matrix:
    """A matrix by its name, from a file in NCBI's format, or from an array.

    Parameters
    ----------
    source : str, path, Matrix or int[k, k]
        One of `NAMED`, else the path of a file. The letters of an array are the first k of the alphabet.
    alphabet : Alphabet, optional
        Of an array: by default DNA for up to 15 letters, else protein. A file names its letters: they are read as DNA
        or protein if possible, else as an alphabet of their own.

    Raises
    ------
    UsageError
        For a name or an array that is not a matrix.
    InputError
        For a file that does not contain a matrix.
    """
    if isinstance(source, Matrix):
        return source
    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        by_name = {_plain(name): name for name in NAMED}
        if _plain(text) in by_name:
            return _published(by_name[_plain(text)])
        if not os.path.exists(text):
            raise UsageError(
                f"matrix {text!r} must be one of {', '.join(NAMED)}, and there is no such file of scores"
            )
        return read_matrix(text, alphabet)
    array = table_of(source, "matrix: scores must be a table of integers")
    if alphabet is None:
        alphabet = DNA if array.ndim == 2 and len(array) <= len(DNA) else PROTEIN
    return Matrix(array, alphabet)


def match_matrix(match: int, mismatch: int) -> Matrix:
    """Scores for DNA: `match` for equal bases of ACGT, `mismatch` (a negative number) for all others, N against N too.

    Raises UsageError as `Matrix`.
    """
    k = len(DNA)
    scores = np.where(np.eye(k, dtype=bool) & (np.arange(k) < 4), match, mismatch)
    return Matrix(scores, DNA, f"{match}/{mismatch}")


def read_matrix(path: str | os.PathLike[str], alphabet: Alphabet | None = None) -> Matrix:
    """A square matrix in NCBI's format: comments with #, a line of letters, then a line of each letter and its scores.

    Raises InputError, naming file and line.
    """
    name = os.fspath(path)
    try:
        lines = Path(path).read_text("ascii").splitlines()
    except OSError as error:
        raise unreadable(name, error) from None
    except UnicodeDecodeError:
        raise InputError(f"{name}: not a text of ASCII") from None
    numbered = [(i, line.split()) for i, line in enumerate(lines, 1)]
    rows = [(i, words) for i, words in numbered if words and not words[0].startswith("#")]
    if not rows:
        raise InputError(f"{name}: no scores: not in NCBI's format")
    letters = "".join(rows[0][1]).upper()
    if len(letters) != len(rows[0][1]) or len(set(letters)) < len(letters):
        raise InputError(f"{name}: line {rows[0][0]}: the first line must name each letter once")
    table: dict[str, list[int]] = {}
    for i, words in rows[1:]:
        letter = words[0].upper()
        try:
            table[letter] = list(map(int, words[1:]))
        except ValueError:
            raise InputError(f"{name}: line {i}: scores must be integers") from None
        if letter not in letters or len(table[letter]) != len(letters):
            raise InputError(f"{name}: line {i}: not a letter of the first line and {len(letters)} scores")
    if len(rows) - 1 != len(letters) or len(table) != len(letters):
        raise InputError(f"{name}: {len(rows) - 1} lines of scores for {len(letters)} letters")
    if alphabet is None:
        fitting = [known for known in (DNA, PROTEIN) if set(letters) <= set(known.letters)]
        alphabet = fitting[0] if fitting else Alphabet(f"{name}", letters)
    if not set(letters) <= set(alphabet.letters):
        raise InputError(f"{name}: its letters are not those of the {alphabet.name} alphabet")
    scores = np.zeros((len(alphabet), len(alphabet)), np.int16)
    codes = np.array([alphabet.letters.index(letter) for letter in letters])
    rows_of_scores = [table[letter] for letter in letters]
    if max(abs(score) for row in rows_of_scores for score in row) > MAX_SCORE:
        raise InputError(f"{name}: scores must be between -{MAX_SCORE} and {MAX_SCORE}")
    scores[np.ix_(codes, codes)] = rows_of_scores
    matrix = Matrix(scores, alphabet, name)
    matrix.known[:] = np.isin(np.arange(len(alphabet)), codes)
    return matrix


@cache
def _published(name: str) -> Matrix:
    alphabet = DNA if name.startswith("NUC") else PROTEIN
    read = read_matrix(_DATA / f"{name}.txt", alphabet)
    return Matrix(read.scores, alphabet, name)


def _plain(name: str) -> str:
    return "".join(name.upper().split()).replace(".", "").replace("EDNAFULL", "NUC44")


def table_of(values: ArrayLike, message: str) -> NDArray[Any]:
    """An array. Raises UsageError with a message for rows of different lengths."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError):
        raise UsageError(message) from None


def _verified(scores: ArrayLike, name: str, alphabet: Alphabet) -> NDArray[np.int16]:
    if not isinstance(alphabet, Alphabet):
        raise ParameterError("alphabet", f"of {name} must be a gassst.align.Alphabet, not {alphabet!r}")
    array = table_of(scores, f"{name}: scores must be a table of integers")
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise UsageError(f"{name}: scores must be a table of integers")
    if array.size and (int(array.min()) < -MAX_SCORE or int(array.max()) > MAX_SCORE):
        raise UsageError(f"{name}: scores must be between -{MAX_SCORE} and {MAX_SCORE}")
    found = np.array(array, np.int16, order="C")  # a copy: that of the caller stays writable
    found.setflags(write=False)
    return found


def unknown_letters(matrix: Matrix) -> NDArray[np.bool_]:
    """bool[256], of each code of a sequence whether the matrix has no scores for it."""
    unknown = np.ones(NO_LETTER + 1, np.bool_)
    unknown[: len(matrix.known)] = ~matrix.known
    return unknown

"""Energies of the nearest neighbour model: RNAfold parameter files 2.0."""

from __future__ import annotations

import math
import os
import re
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from gassst.errors import InputError
from gassst.files.batches import text_of

HEAD = "## RNAfold parameter file v2.0"
DEFAULT = -50  # what DEF stands for
LOOPS = 30  # the longest loop of a table; longer hairpins are extrapolated
NONE, INFINITE = np.iinfo(np.int16).min, 16000  # those of fold_model.h
FEW = 3 * (LOOPS + 2) + 4  # numbers that do not depend on bases come first
# Sections and their shapes: 7 types of pairs, of which the last does not occur, or 6; 5 bases, of which the first is
# unknown, or 4. Here type 0 is no pair, so that tables have 8 types and 4 bases.
MISMATCHES = "hairpin", "interior", "interior_1n", "interior_23", "multi", "exterior"
TABLES = {f"mismatch_{loop}": (7, 5, 5) for loop in MISMATCHES} | {
    "dangle5": (7, 5),
    "dangle3": (7, 5),
    "stack": (7, 7),
    "int11": (7, 7, 5, 5),
    "int21": (7, 7, 5, 5, 5),
    "int22": (6, 6, 4, 4, 4, 4),
}
USED = {7: slice(0, 6), 6: slice(0, 6), 5: slice(1, 5), 4: slice(0, 4)}
# A base beside a stem costs nothing at most.
NEVER_BAD = "mismatch_multi", "mismatch_exterior", "dangle5", "dangle3"
KT = 1.98717e-1 * 310.15  # at 37 degrees, in .01 kcal/mol
# Gains below 1 are bent: 0 below LOW, and the gain itself above HIGH, in units of .1 kcal/mol (RNAfold's smoothing).
SMOOTH, SMOOTH_LOW, SMOOTH_HIGH = 10.0, -1.2283697, 0.8660254
SMOOTH_HEIGHT, SMOOTH_SHIFT = 0.38490018, 0.34242663
LENGTHS = ("hairpin", "bulge", "interior")
SPECIAL = {"Triloops": 5, "Tetraloops": 6, "Hexaloops": 8}


class Parameters:
    """The energies of a file, at 37 degrees, in .01 kcal/mol.

    Raises InputError for a file that is missing, of another format or cut short, and for what is not a number in it.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        text = text_of(path)
        if not text.startswith(HEAD):
            self._fail(f"does not begin with {HEAD!r}")
        if not re.search(r"^# *END\b", text, re.MULTILINE):
            self._fail("is cut short: it has no line '# END'")
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        parts = re.split(r"^#[ \t]+(\w+)[^\n]*$", text, flags=re.MULTILINE)[1:]
        self._words = {
            name.replace("internal", "interior"): body.split()
            for name, body in zip(parts[::2], parts[1::2], strict=True)
        }
        self.table = self._table()

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.path}: {what}")

    def _numbers(self, section: str, count: int | None = None) -> NDArray[np.float64]:
        words = self._words.get(section)
        if words is None:
            self._fail(f"has no section {section}")
        try:
            named = {"INF": INFINITE, "DEF": DEFAULT}
            found = np.array([named[word] if word in named else float(word) for word in words])
        except ValueError:
            self._fail(f"section {section} has what is not a number")
        if count is not None and len(found) != count:
            self._fail(f"section {section} has {len(found):,} numbers; {count:,} are wanted")
        return found

    def _energies(self, section: str) -> NDArray[np.float64]:
        """A section of TABLES, for pairs that occur and known bases."""
        shape = TABLES[section]
        known = self._numbers(section, math.prod(shape)).reshape(shape)[tuple(USED[size] for size in shape)]
        whole = np.zeros([8 if size > 5 else 4 for size in shape])
        whole[tuple(slice(1, 7) if size > 5 else slice(4) for size in shape)] = known
        return whole.reshape(-1)

    def _table(self) -> NDArray[np.int16]:
        """int16[numbers], in the order of `fold_parameters`."""
        multi, ninio, misc = self._numbers("ML_params", 6), self._numbers("NINIO", 3), self._numbers("Misc")
        if len(misc) < 4:
            self._fail("section Misc has no TerminalAU")
        parts = [np.append(self._numbers(section, LOOPS + 1), 0) for section in LENGTHS[1:]]
        parts.append(np.minimum(np.arange(LOOPS + 2) * ninio[0], ninio[2]))
        parts.append(np.array([misc[2], multi[2], multi[4], multi[0]]))
        for section in TABLES:
            parts.append(np.minimum(self._energies(section), 0 if section in NEVER_BAD else INFINITE))
        parts += [self._special(section, length) for section, length in SPECIAL.items()]
        return np.clip(np.concatenate([*parts, np.zeros(32)]), NONE, INFINITE).astype(np.int16)

    def _special(self, section: str, length: int) -> NDArray[np.float64]:
        """Energies of whole hairpins, by the codes of their bases."""
        found = np.full(4**length, float(NONE))
        words = self._words.get(section, [])
        for loop, energy in zip(words[::3], words[1::3], strict=False):
            if len(loop) != length or set(loop) - set("ACGU"):
                self._fail(f"section {section}: {loop!r} is not a hairpin of {length} bases")
            try:
                found[int("".join(str("ACGU".index(base)) for base in loop), 4)] = float(energy)
            except ValueError:
                self._fail(f"section {section} has what is not a number")
        return found

    @cached_property
    def _hairpins(self) -> tuple[NDArray[np.float64], float]:
        misc = self._numbers("Misc")
        return self._numbers("hairpin", LOOPS + 1), float(misc[4]) if len(misc) > 4 else 107.856

    def weights(self, longest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Boltzmann weights: of `table`, float64[numbers]; of hairpins, by unpaired bases, float64[longest + 1].

        Where a base beside a stem gains little, RNAfold lets the weight go over into 1 smoothly, and so does this.
        Energies of hairpins are not rounded.
        """
        found = np.where(self.table < INFINITE, np.exp(-self.table / KT), 0)
        found[self.table == NONE] = NONE
        gain = -np.concatenate([self._energies(section) for section in NEVER_BAD]) / SMOOTH
        bent = SMOOTH_HEIGHT * (np.sin(gain - SMOOTH_SHIFT) + 1) ** 2
        smooth = np.where(gain < SMOOTH_LOW, 0, np.where(gain > SMOOTH_HIGH, gain, bent)) * SMOOTH
        first = FEW + 128 * MISMATCHES.index("multi")
        found[first : first + len(smooth)] = np.exp(smooth / KT)
        table, slope = self._hairpins
        more = table[LOOPS] + slope * np.log(np.arange(LOOPS + 1, longest + 1) / LOOPS)
        energies = np.append(table, more)
        return found, np.where(energies < INFINITE, np.exp(-energies / KT), 0)

    def hairpins(self, longest: int) -> NDArray[np.int32]:
        """int32[longest + 1], energies of hairpins by their unpaired bases."""
        table, slope = self._hairpins
        more = [table[LOOPS] + int(slope * math.log(size / LOOPS)) for size in range(LOOPS + 1, longest + 1)]
        return np.append(table, more).astype(np.int32)

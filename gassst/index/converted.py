"""Seeds of a reference as bisulfite leaves it: C and T are one letter on one strand, A and G on the other.

The reference stays as it is, and has two sets of seeds of its forward strand. One has every C read as T. The other has
every A read as G, as they are after a conversion of the reverse strand. A seed of a read is
looked up in the set of its own conversion.
"""

from __future__ import annotations

from collections.abc import Iterator

from gassst.frozen import field, frozen
from gassst.index.file import SEED_ARRAYS, check_arrays, drop_from_memory
from gassst.model.array_types import U32, Structs
from gassst.model.params import CONVERSIONS
from gassst.model.reference import Reference

LETTERS = 8 / 3
"""As many equally frequent letters are repeated by chance as often as two of a quarter each and one of a half."""


@frozen(eq=False)
class ConvertedSeeds:
    """Arrays as those of `SeedIndex`, of the reference after a conversion."""

    reference: Reference
    k: int
    conversion: int
    """1: C and T are one letter; 2: A and G are."""
    table: U32 = field(repr=False)
    positions: U32 = field(repr=False)
    following: Structs = field(repr=False)
    step = 1
    shortest_seed = 1

    @property
    def name(self) -> str:
        """The key that the conversion has in `CONVERSIONS`."""
        return next(name for name, conversion in CONVERSIONS.items() if conversion == self.conversion)

    @property
    def kmers(self) -> tuple[int, int]:
        """First k-mer, and the one behind the last."""
        return 0, 4**self.k

    def sections(self) -> Iterator[tuple[str, Structs]]:
        """The arrays by the names that they have in the file."""
        for array in SEED_ARRAYS:
            yield f"{self.name}_{array}", getattr(self, array)

    def drop_from_memory(self) -> None:
        """As `SeedIndex.drop_from_memory`."""
        drop_from_memory(self.positions)

    def check(self, path: str | None) -> None:
        """Raises IndexFormatError where the arrays are not those of seeds of the reference."""
        check_arrays(self.table, self.positions, self.reference, 1, path)

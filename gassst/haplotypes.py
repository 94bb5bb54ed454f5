"""Genomes for the simulator: FASTA into one array of codes, planted variants, and the way back to the reference.

Shares no code with the mapper, so that an error in one cannot hide in the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xopen import xopen

from gassst.errors import InputError

MASKED = 4
BASES = np.frombuffer(b"ACGTNNNN", dtype=np.uint8)
_CODE_OF = bytearray([MASKED]) * 256
for _code, _letters in enumerate((b"Aa", b"Cc", b"Gg", b"Tt")):
    for _letter in _letters:
        _CODE_OF[_letter] = _code
_CODE_OF = bytes(_CODE_OF)


@dataclass(frozen=True)
class Genome:
    """Contigs laid end to end. `codes` uint8: A 0, C 1, G 2, T 3, all else 4; contig c is `codes[starts[c]:starts[c+1]]`."""

    names: list[str]
    starts: np.ndarray
    codes: np.ndarray

    def contig_of(self, positions: np.ndarray) -> np.ndarray:
        """Contig number of each concatenated position."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def runs(self, shortest: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the stretches of at least `shortest` bases A, C, G, T; none crosses a contig end."""
        masked = self.codes == MASKED
        edges = np.flatnonzero(masked[1:] != masked[:-1]) + 1
        edges = np.union1d(edges, self.starts)
        starts, ends = edges[:-1], edges[1:]
        keep = (ends - starts >= shortest) & ~masked[np.minimum(starts, len(masked) - 1)]
        return starts[keep], ends[keep]


def read_fasta(path: str) -> Genome:
    """Reads FASTA, plain or compressed. Raises InputError where there is no sequence or a name cannot carry truth."""
    try:
        with xopen(path, "rb") as file:
            data = file.read()
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}") from None
    if not data.startswith(b">"):
        raise InputError(f"{path}: not FASTA, the first character is not '>'")
    names, parts = [], []
    for record in data[1:].replace(b"\r", b"").split(b"\n>"):
        header, _, sequence = record.partition(b"\n")
        names.append(_contig_name(path, header))
        parts.append(np.frombuffer(sequence.translate(_CODE_OF, b"\n \t"), dtype=np.uint8))
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
    return Genome(names, starts, np.concatenate(parts))


def _contig_name(path: str, header: bytes) -> str:
    name = header.split(None, 1)[0].decode("ascii", "replace") if header.strip() else ""
    if not name:
        raise InputError(f"{path}: a record without a name")
    if "," in name or "@" in name or not name.isascii() or len(name) > 150:
        raise InputError(f"{path}: contig {name!r} cannot be put into a read name (',', '@', or too long)")
    return name

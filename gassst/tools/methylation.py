"""Methylation of a genome, and what bisulfite makes of reads drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst.files.destination import CompressedFile
from gassst.tools.haplotypes import Genome

SPREAD = 2.0
"""Of the levels of single cytosines around the mean of their context: most are nearly 0 or nearly 1, as in tissue."""


@dataclass(frozen=True)
class Methylation:
    """Levels of every cytosine of both strands, and the share of unmethylated ones that is converted.

    `levels` float32[bases]: of the C at this position, or of the C that faces the G there; 0 elsewhere.
    """

    genome: Genome
    levels: np.ndarray
    rate: float

    @classmethod
    def draw(cls, rng: np.random.Generator, genome: Genome, means: list[float], rate: float) -> Methylation:
        """`means`: mean levels of CpG, CHG and CHH. Both strands of a CpG have one level."""
        codes = genome.codes
        levels = np.zeros(len(codes), np.float32)
        for own, other, towards in ((1, 2, 1), (2, 1, -1)):
            beside, beyond = (np.roll(codes, -towards * n) for n in (1, 2))
            is_own = codes == own
            contexts = (beside == other, (beside != other) & (beyond == other))
            for context, mean in zip((*contexts, ~(contexts[0] | contexts[1])), means, strict=True):
                at = np.flatnonzero(is_own & context)
                if 0 < mean < 1:
                    levels[at] = rng.beta(SPREAD * mean, SPREAD * (1 - mean), at.size)
                else:
                    levels[at] = mean
        first = _cpg(codes)
        levels[first + 1] = levels[first]
        return cls(genome, levels, rate)

    def convert(self, rng: np.random.Generator, codes: np.ndarray, at: np.ndarray, mate: int) -> None:
        """What is left of reads: `codes` uint8[n, length] in their direction, copied from positions `at`.

        Mate 0 is the strand that was converted, so its C become T; mate 1 is the reverse complement of such a strand.
        """
        before, after = ((1, 3), (2, 0))[mate]
        rows, columns = np.nonzero(codes == before)
        levels = self.levels.take(at[rows, columns], mode="clip")
        lost = (rng.random(rows.size) >= levels) & (rng.random(rows.size) < self.rate)
        codes[rows[lost], columns[lost]] = after

    def write(self, file: CompressedFile) -> None:
        """The levels of CpG in percent, of both strands, as bedGraph."""
        first = _cpg(self.genome.codes)
        at = np.stack([first, first + 1], axis=1).reshape(-1)
        contig = self.genome.contig_of(at)
        file.write(b'track type="bedGraph" description="simulated CpG methylation levels"\n')
        for name, position, level in zip(
            contig.tolist(), (at - self.genome.starts[contig]).tolist(), self.levels[at].tolist(), strict=True
        ):
            text = f"{self.genome.names[name]}\t{position}\t{position + 1}\t{100 * level:.2f}\n"
            file.write(text.encode())


def _cpg(codes: np.ndarray) -> np.ndarray:
    """int64[c]: where each C lies that G follows."""
    return np.flatnonzero((codes[:-1] == 1) & (codes[1:] == 2))

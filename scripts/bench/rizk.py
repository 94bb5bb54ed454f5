"""What chapter 4 and appendix A.2 of Rizk's thesis publish of GASSST 1.x and the mappers of its time.

All times are of one core of a Xeon at 2.8 GHz, on the whole human genome. None: not run.
"""

from __future__ import annotations

from typing import NamedTuple

LENGTHS = (50, 100, 200, 500)
ERRORS = (0.02, 0.05, 0.10)
METRICS = ("Align sec", "Sensitivity%", "Accuracy%")

_ = None
# Table 4.2: one million simulated reads of each kind; seconds without those for the index, sensitivity and accuracy
# in % at MAPQ >= 20 (PASS: unique best alignments).
PUBLISHED = {
    "GASSST fast": (
        (584, 781, 1720, 794, 981, 1160, 2030, 2314, 3051, 6573, 8453, 11859),
        (45.8, 42.8, 36.1, 54.2, 53.3, 44.9, 58.6, 56.3, 53.8, 61.0, 59.8, 58.8),
        (99.2, 98.5, 93.8, 90.5, 89.4, 86.9, 91.9, 91.5, 89.7, 93.0, 92.8, 91.7),
    ),
    "GASSST accurate": (
        (1709, 2741, 4706, 1290, 1887, 3262, 3452, 6173, 8744, 12864, 18737, 34222),
        (46.7, 44.6, 37.5, 51.0, 50.3, 43.5, 53.4, 52.8, 51.7, 57.5, 55.7, 55.5),
        (99.8, 99.3, 93.5, 99.7, 99.4, 97.5, 99.9, 99.8, 99.3, 99.9, 99.9, 99.7),
    ),
    "BFAST": (
        (2279, 2044, 1756, 15263, 15787, 11452, _, _, _, _, _, _),
        (46.5, 43.0, 32.1, 52.7, 51.0, 48.5, _, _, _, _, _, _),
        (98.8, 96.1, 85.2, 99.0, 98.7, 95.8, _, _, _, _, _, _),
    ),
    "BWA": (
        (792, 1392, 1572, 1862, 4941, 3364, 4660, 2145, 185, _, _, _),
        (48.2, 38.6, 16.8, 54.8, 41.0, 7.3, 53.3, 11.9, 0.1, _, _, _),
        (99.2, 97.4, 93.5, 99.7, 99.0, 97.9, 99.8, 99.6, 96.7, _, _, _),
    ),
    "BWA-SW": (
        (_, _, _, _, _, _, 4699, 3546, 2365, 13027, 9646, 7835),
        (_, _, _, _, _, _, 54.9, 50.3, 25.2, 57.3, 56.1, 45.4),
        (_, _, _, _, _, _, 99.4, 96.9, 85.7, 99.2, 96.8, 85.2),
    ),
    "SSAHA2": (
        (_, _, _, 27740, 41978, 45295, 22285, 27504, 65420, 179095, 415252, 275622),
        (_, _, _, 45.3, 43.5, 38.6, 53.2, 51.4, 48.4, 59.5, 58.8, 55.8),
        (_, _, _, 99.8, 99.1, 95.3, 99.8, 99.1, 96.0, 99.8, 99.2, 95.3),
    ),
    "PASS": (
        (2012, 2281, 5085, 14387, 26033, 30022, 103338, 139436, 180943, _, _, _),
        (50.0, 43.8, 31.3, 51.6, 37.5, 16.4, 49.3, 16.6, 2.8, _, _, _),
        (96.6, 93.2, 82.4, 98.5, 94.0, 86.8, 97.2, 93.6, 92.4, _, _, _),
    ),
}


class Settings(NamedTuple):
    """Options of GASSST for one simulated set (appendix A.2): `-w`, `-p`, `-g` and `-s`."""

    seed_length: int
    min_identity: int
    gaps: int
    sensitivity: int


def _settings(w: tuple[int, ...], p: tuple[int, ...], g: tuple[int, ...], s: int) -> dict:
    kinds = [(length, error) for length in LENGTHS for error in ERRORS]
    rows = zip(w, p, g, strict=True)
    return {kind: Settings(*row, s) for kind, row in zip(kinds, rows, strict=True)}


APPENDIX_A_2 = {
    "fast": _settings(
        (14, 14, 14, 18, 18, 18, 18, 18, 18, 20, 20, 20),
        (94, 90, 82, 96, 91, 85, 96, 92, 86, 97, 93, 87),
        (2, 3, 5, 3, 5, 7, 4, 7, 12, 7, 14, 23),
        0,
    ),
    "accurate": _settings(
        (13, 13, 13, 18, 18, 18, 18, 18, 18, 20, 20, 20),
        (92, 86, 78, 94, 89, 81, 95, 90, 83, 96, 92, 86),
        (3, 4, 6, 4, 6, 9, 5, 9, 13, 9, 16, 26),
        3,
    ),
}

REAL_LENGTHS = (36, 50, 76)
# Table 4.1, by read length: seconds for the index and for 11.9, 6.8 and 8.5 million reads, % of reads with
# MAPQ >= 20 (PASS: with a unique best alignment), and % of these that are questionable.
TABLE_4_1 = {
    "GASSST": ((1712, 3211, 34.5, 0.14), (1719, 4090, 73.7, 0.04), (1701, 8483, 81.3, 0.04)),
    "BFAST": ((520800, 17520, 41.8, 0.12), (520800, 22799, 80.4, 0.10), (520800, 161220, 85.4, 0.28)),
    "BWA": ((5158, 3739, 35.4, 0.17), (5158, 3043, 74.5, 0.17), (5158, 3101, 86.4, 0.53)),
    "PASS": ((2312, 5072, 41.4, _), (2144, 5384, 79.3, _), (1951, 118541, 87.7, _)),
}
REAL_READS = (11.9e6, 6.8e6, 8.5e6)

FILTERS = "tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full"
"""Those of the thesis, in its order, by our names."""
# Table 4.3: share of the candidates that each filter, and at last NW, discards of those that reach it.
TABLE_4_3 = {
    "36 bp": (54.9, 61.6, 57.9, 84.9, 32.9, 81.2),
    "50 bp": (12.1, 57.3, 49.7, 84.9, 67.7, 86.9),
    "76 bp": (0.0, 4.2, 75.1, 26.6, 81.1, 82.2),
}
# Table 4.4: ns for one hit.
TABLE_4_4 = {"50 bp": (5.8, 22.4, None, 78.5, 356.7, 4486.5), "500 bp": (None, 24, None, 300, 3000, 135000)}

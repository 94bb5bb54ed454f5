"""Alignment of sequences with sequences, without a reference or an index.

>>> from gassst import align
>>> matrix = align.match_matrix(2, -3)
"""

from gassst.align.alphabets import DNA, PROTEIN, Alphabet
from gassst.align.best import LocalAlignment, best
from gassst.align.edits import edit_distance
from gassst.align.find import Place, Places, find
from gassst.align.gaps import Gaps, gap_costs
from gassst.align.matrices import PSSM, Matrix, MatrixLike, match_matrix, read_matrix, substitution_matrix
from gassst.align.pair_hmm import GapQualities, HmmPath, forward, posterior, viterbi, viterbi_paths
from gassst.align.products import scores
from gassst.align.sequences import Sequences, read_sequences, reverse_complement
from gassst.align.traced import Alignments, pairs
from gassst.workers.tasks import Progress

__all__ = [
    "DNA",
    "PROTEIN",
    "Alignments",
    "Alphabet",
    "GapQualities",
    "Gaps",
    "HmmPath",
    "LocalAlignment",
    "Matrix",
    "MatrixLike",
    "Place",
    "Places",
    "PSSM",
    "Progress",
    "Sequences",
    "best",
    "edit_distance",
    "find",
    "forward",
    "gap_costs",
    "match_matrix",
    "pairs",
    "posterior",
    "read_matrix",
    "read_sequences",
    "reverse_complement",
    "scores",
    "substitution_matrix",
    "viterbi",
    "viterbi_paths",
]

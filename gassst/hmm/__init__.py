"""Hidden Markov models: the best path, probabilities, training, and a reader of models as text.

>>> from gassst.hmm import Model
>>> coins = Model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.1, 0.9]], alphabet="ht")
>>> path, score = coins.viterbi("hhhtttttt")

The pair hidden Markov model of reads and haplotypes is another one: `gassst.align.forward` and `gassst.align.viterbi`.
"""

from gassst.hmm.model import Model
from gassst.hmm.notation import read_model
from gassst.hmm.profile import Alignment, Hits, Profile

__all__ = ["Alignment", "Hits", "Model", "Profile", "read_model"]

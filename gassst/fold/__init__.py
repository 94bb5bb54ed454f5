"""RNA secondary structures of least free energy, and all near it, of many short sequences at a time.

Energies come from an RNAfold parameter file 2.0, which ViennaRNA writes:
`python -c "import RNA; RNA.params_save('turner2004.par')"`.
"""

from gassst.fold.folding import Ensemble, Fold, fold, probabilities, zuker
from gassst.fold.parameters import Parameters

__all__ = ["Ensemble", "Fold", "Parameters", "fold", "probabilities", "zuker"]

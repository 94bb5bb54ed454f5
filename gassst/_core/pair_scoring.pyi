from gassst.search.context import PairContext

class PairChooser:
    def __init__(self, pairs: PairContext, unpaired_phred: float, phred: float) -> None: ...

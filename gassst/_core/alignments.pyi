from gassst.index.seed_index import SeedIndex

class Traces:
    scored: int
    traced: int
    calls: int
    pairs: int
    kernel: int

    def __init__(self, index: SeedIndex) -> None: ...

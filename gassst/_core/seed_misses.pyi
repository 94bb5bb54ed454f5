import numpy as np
from numpy.typing import NDArray

def missed_shares(m: int, length: int, number: int, every: int, count: int) -> NDArray[np.float64]: ...

"""Bases as text: random ones, and the other strand."""

import numpy as np

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def random_bases(rng: np.random.Generator, n: int) -> str:
    return "".join(rng.choice(list("ACGT"), n))


def reverse_complement(bases: str) -> str:
    return bases.translate(COMPLEMENT)[::-1]

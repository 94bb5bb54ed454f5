"""CPU seconds of the rooms of dynamic programmes beside the best library for each, and their ratio.

    python scripts/bench/rooms.py [fold] [hmm] [profile] [semiring]

Needs SciPy, hmmlearn, pyhmmer and ViennaRNA. Both sides run in this process, on one thread.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported

import numpy as np  # noqa: E402


def best(call: Callable[[], object], runs: int = 3) -> float:
    """The least CPU seconds of some runs."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def row(what: str, own: float, other: float, name: str) -> None:
    """One line of the table."""
    print(f"{what:44} {own:9.5f} s   {name:12} {other:9.4f} s   {other / own:6.1f} times", flush=True)


def semiring() -> None:
    """Products beside NumPy, closures beside SciPy."""
    from scipy.sparse.csgraph import floyd_warshall

    from gassst.semiring import closure, product

    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        a, b = (rng.standard_normal((1024, 1024)).astype(dtype) for _ in range(2))
        own = best(lambda a=a, b=b: product(a, b, "max-plus", threads=1))
        other = best(lambda a=a, b=b: [(line[:, None] + b).max(0) for line in a], 2)
        row(f"max-plus product 1,024^3, {a.dtype}", own, other, "NumPy")
    for n in (512, 1024, 2048):
        d = rng.random((n, n))
        d[d > 0.3] = np.inf
        other = best(lambda d=d: floyd_warshall(d), 1)
        for dtype in (np.float32, np.float64):
            own = best(lambda d=d, dtype=dtype: closure(d.astype(dtype), threads=1))
            row(f"closure n = {n:,}, {np.dtype(dtype)}", own, other, "SciPy")


def hmm() -> None:
    """Viterbi with path and forward of 32,768 symbols beside hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM

    from gassst.hmm import Model

    rng, symbols = np.random.default_rng(1), 8
    observed = rng.integers(0, symbols, 32768)
    for n in (16, 64, 256):
        transition, emission = rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(symbols), n)
        model = Model(np.full(n, 1 / n), transition, emission)
        other = CategoricalHMM(n, n_features=symbols)
        other.startprob_, other.transmat_, other.emissionprob_ = model.start, transition, emission
        theirs = best(lambda other=other: other.decode(observed[:, None]), 2)
        for form in ("single", "double"):
            own = best(lambda model=model, form=form: model.viterbi(observed, form=form, threads=1))
            row(f"Viterbi, {n} states, {form}", own, theirs, "hmmlearn")
        theirs = best(lambda other=other: other.score(observed[:, None]), 1)
        row(
            f"forward, {n} states",
            best(lambda model=model: model.forward(observed, threads=1)),
            theirs,
            "hmmlearn",
        )


def fold() -> None:
    """Windows of random bases beside ViennaRNA, for each instruction set."""
    import tempfile

    import RNA

    from gassst.fold import Parameters, folding

    rng = np.random.default_rng(1)
    with tempfile.NamedTemporaryFile(suffix=".par") as file:
        RNA.params_save(file.name)
        parameters = Parameters(file.name)
    for n in (60, 120, 200):
        several = ["".join(rng.choice(list("ACGU"), n)) for _ in range(320)]
        theirs = best(lambda several=several: [RNA.fold_compound(one).mfe() for one in several[:64]], 1) / 64
        codes, offsets = folding.encoded(several)
        for isa in folding.instruction_sets():
            for structures in (True, False):
                options = (parameters, structures, 1, None, isa)
                own = best(lambda a=codes, b=offsets, c=options: folding.fold_codes(a, b, *c)) / len(several)
                row(f"{n} bases, {isa}{', structures' * structures}", own, theirs, "ViennaRNA")


def profile() -> None:
    """A family of 200 amino acids in sequences of 360 beside pyhmmer, with and without its filters."""
    import tempfile

    import pyhmmer

    from gassst.hmm import Profile

    abc, rng = pyhmmer.easel.Alphabet.amino(), np.random.default_rng(2)
    letters = list(abc.symbols[:20])
    consensus = rng.choice(letters, 200)
    family = ["".join(c if rng.random() > 0.3 else rng.choice(letters) for c in consensus) for _ in range(20)]

    def made(texts: list[str]) -> list[pyhmmer.easel.TextSequence]:
        return [pyhmmer.easel.TextSequence(name=str(i).encode(), sequence=t) for i, t in enumerate(texts)]

    msa = pyhmmer.easel.TextMSA(name=b"fam", sequences=made(family)).digitize(abc)
    hmm, _, _ = pyhmmer.plan7.Builder(abc).build_msa(msa, pyhmmer.plan7.Background(abc))
    several = ["".join(rng.choice(letters, 360)) for _ in range(2000)]
    block = pyhmmer.easel.DigitalSequenceBlock(abc, [one.digitize(abc) for one in made(several)])
    with tempfile.NamedTemporaryFile(suffix=".hmm") as file:
        hmm.write(file)
        file.flush()
        own = Profile(file.name)
    unfiltered = {"bias_filter": False, "F1": 1.0, "F2": 1.0, "F3": 1.0, "E": 1e9}
    for call, name in ((own.search, "search"), (own.viterbi, "Viterbi"), (own.forward, "Forward")):
        mine = best(lambda call=call: call(several, threads=1)) / len(several)
        for options, what in (({}, "pyhmmer"), (unfiltered, "no filters")):
            theirs = best(lambda o=options: list(pyhmmer.hmmsearch(hmm, block, cpus=1, **o)), 1) / len(
                several
            )
            row(f"profile, {name}, 200 x 360", mine, theirs, what)


ROOMS = {"fold": fold, "semiring": semiring, "hmm": hmm, "profile": profile}

if __name__ == "__main__":
    for room in sys.argv[1:] or ROOMS:
        ROOMS[room]()

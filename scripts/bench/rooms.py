"""Speed of what Python calls, beside the best libraries for each: alignment, folding, models of chains.

    python scripts/bench/rooms.py                                         # all experiments
    python scripts/bench/rooms.py gcups pairs --runs 6 --json rooms.json
    python scripts/bench/rooms.py semiring hmm fold families further devices --device gpu --json lab/data/rooms.json
    python scripts/bench/rooms.py gcups --threads 16 --device gpu --large --alone
    python scripts/bench/rooms.py best --shapes 1000x10000000 1000000x1000000 --device gpu

An experiment is a function of EXPERIMENTS. It yields a column of its table at a time: what each program takes or does,
by CPU time of one thread, the least of --runs runs that take turns. Rows that name threads or a device are by wall
clock, all transfers included. Libraries that are missing are left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before NumPy is imported

import numpy as np  # noqa: E402
from harness import benchmark_parser, describe_machine, markdown, run, write_json  # noqa: E402

from gassst import align  # noqa: E402
from gassst._core.best import Tiles, instruction_sets  # noqa: E402
from gassst.align.best_device import device_pass  # noqa: E402
from gassst.align.blocks import BlockMatrix, Geometry, compiled_pass  # noqa: E402
from gassst.align.gaps import Gaps  # noqa: E402
from gassst.align.modes import mode_flags  # noqa: E402
from gassst.align.products import Product  # noqa: E402
from gassst.align.scoring import prepare  # noqa: E402
from gassst.align.waterman_eggert import WatermanEggert  # noqa: E402
from gassst.workers.thread_count import usable_threads  # noqa: E402

Column = tuple[str, dict[str, float]]  # its head, and a figure for each program
Calls = dict[str, Callable[[], object]]
Strings = list[str]
AMINO = "ARNDCQEGHILKMFPSTWYV"
MODES = {"local": "sw", "global": "nw", "semiglobal": "sg"}
COSTS = (10, 1)
OPTIONS = {"gap_open": COSTS[0], "gap_extend": COSTS[1]}
THEIR_QUERIES, THEIR_TARGETS = 6, 400  # fewer: a pair of theirs takes longer
DEVICE_QUERIES = 10  # times as many: a GPU does the rest in milliseconds
OTHERS = "edlib", "hmmlearn", "parasail", "pyhmmer", "scipy", "ssw-py", "viennarna"
COPY = 400  # letters of a planted alignment


def least(calls: Calls, runs: int, clock: Callable[[], float] = time.process_time) -> dict[str, float]:
    """Seconds of each call, the least of some runs that take turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(runs):
        for name, call in calls.items():
            start = clock()
            call()
            found[name] = min(found[name], clock() - start)
    return found


def random_texts(rng: np.random.Generator, letters: str, lengths: np.ndarray) -> Strings:
    text = np.frombuffer(letters.encode(), np.uint8)[rng.integers(0, len(letters), int(lengths.sum()))]
    ends = np.cumsum(lengths)
    whole = text.tobytes().decode()
    return [whole[end - length : end] for length, end in zip(lengths.tolist(), ends.tolist(), strict=True)]


def cells(queries: Strings, targets: Strings) -> float:
    """In 1e9: letters of the queries x letters of the targets."""
    return float(sum(map(len, queries))) * sum(map(len, targets)) / 1e9


# -- pairwise alignment -------------------------------------------------------------------------------------------


def matrix_of(name: str) -> Any:
    import parasail

    return {"BLOSUM62": parasail.blosum62, "NUC4.4": parasail.nuc44}[name]


def striped(bits: str, mode: str, matrix: str, queries: Strings, targets: Strings) -> Callable[[], object]:
    """What computes all scores by parasail, with a profile of each query that is made before."""
    import parasail

    function = getattr(parasail, f"{MODES[mode]}_striped_profile_{bits}")
    profiles = [getattr(parasail, f"profile_create_{bits}")(query, matrix_of(matrix)) for query in queries]

    def compute() -> None:
        for profile in profiles:
            for target in targets:
                function(profile, target, sum(COSTS), COSTS[1])

    return compute


def by_ssw(queries: Strings, targets: Strings) -> None:
    """All scores of local alignments of DNA by ssw-py, its path turned off by a cutoff that no score reaches."""
    import ssw

    manager = ssw.AlignmentMgr(match_score=5, mismatch_penalty=4)
    options = {"gap_open": sum(COSTS), "gap_extension": COSTS[1], "score_cutoff": 65_000}
    for query in queries:
        manager.set_read(query)
        for target in targets:
            manager.set_reference(target)
            manager.align(**options, bitwise_flag=ssw.BitwiseAlignmentFlag.score_filter)


def gcups(args: argparse.Namespace) -> Iterator[Column]:
    """1e9 cells a second of all scores of queries with targets; proteins have lengths as in Swiss-Prot."""
    rng, factor = np.random.default_rng(1), 20 if args.large else 1
    swissprot = np.clip(rng.gamma(2.2, 360 / 2.2, 1000 * factor), 30, 3000).astype(int)
    for title, matrix, letters, m, n in (
        ("protein", "BLOSUM62", AMINO, swissprot[:40], swissprot),
        ("DNA 150 x 150", "NUC4.4", "ACGT", np.full(100, 150), np.full(2000 * factor, 150)),
        ("DNA 25 x 1000", "NUC4.4", "ACGT", np.full(200, 25), np.full(500 * factor, 1000)),
    ):
        queries, targets = random_texts(rng, letters, m), random_texts(rng, letters, n)
        few = queries[:THEIR_QUERIES], targets[:THEIR_TARGETS]
        out = np.empty((len(queries), len(targets)), np.int32)
        for mode in MODES:
            both = prepare(
                queries, targets, align.substitution_matrix(matrix), Gaps(*COSTS), mode_flags(mode)
            )
            ours: Calls = {
                f"gassst {isa}": partial(Product(*both, 1, isa).run, out) for isa in pairwise_sets()
            }
            theirs: Calls = {
                f"parasail striped {bits}": striped(bits, mode, matrix, *few) for bits in ("8", "16", "sat")
            }
            if mode == "local" and matrix == "NUC4.4":
                with suppress(ImportError):
                    __import__("ssw")
                    theirs["SSW"] = partial(by_ssw, *few)
            if args.alone:
                ours, theirs = {}, {}
            seconds = least(ours | theirs, args.runs)
            found = {
                name: cells(*(few if name in theirs else (queries, targets))) / seconds[name]
                for name in seconds
            }
            options = {"mode": mode, "matrix": matrix, **OPTIONS}
            walls: Calls = {
                f"gassst, {args.threads} threads": partial(
                    align.scores, queries, targets, threads=args.threads, **options
                )
            }
            if args.device:
                walls[f"gassst, {args.device}"] = partial(
                    align.scores, queries * DEVICE_QUERIES, targets, device=args.device, **options
                )
            for name, taken in least(walls, args.runs, time.perf_counter).items():
                times = DEVICE_QUERIES if name.endswith(f" {args.device}") else 1
                found[name] = times * cells(queries, targets) / taken
            yield f"{title}, {mode}", found


def pairwise_sets() -> list[str]:
    from gassst._core import pairwise

    return list(pairwise.instruction_sets())


def by_parasail(
    kind: str, mode: str, matrix: str, queries: Strings, targets: Strings, threads: int = 1, path: bool = True
) -> None:
    """All given pairs by a function of parasail, which holds no lock of Python."""
    import parasail

    function = getattr(parasail, f"{MODES[mode]}_{'trace_' * path}{kind}")
    scores = matrix_of(matrix)

    def some(start: int) -> None:
        for i in range(start, len(queries), threads):
            found = function(queries[i], targets[i], sum(COSTS), COSTS[1], scores)
            found.cigar.seq if path else found.score  # noqa: B018

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(some, range(threads)))


def by_edlib(queries: Strings, targets: Strings) -> None:
    """Differences of all of both sequences, with the path; edlib has no other scores."""
    import edlib

    for query, target in zip(queries, targets, strict=True):
        edlib.align(query, target, task="path")


def pairs(args: argparse.Namespace) -> Iterator[Column]:
    """Microseconds for a given pair, with its path or its score alone; 5 % of the letters are changed."""
    for title, matrix, letters, length, count in (
        ("DNA, 25 letters", "NUC4.4", "ACGT", 25, 4000),
        ("DNA, 150", "NUC4.4", "ACGT", 150, 1500),
        ("DNA, 1,000", "NUC4.4", "ACGT", 1000, 50),
        ("protein, 300", "BLOSUM62", AMINO, 300, 400),
    ):
        rng, size = np.random.default_rng(1), (count, length)
        codes = rng.integers(0, len(letters), size)
        changed = np.where(rng.random(size) < 0.05, rng.integers(0, len(letters), size), codes)
        alphabet = np.frombuffer(letters.encode(), np.uint8)
        both = tuple([row.tobytes().decode() for row in alphabet[each]] for each in (codes, changed))
        each = np.stack([np.arange(count)] * 2, axis=1)
        calls: Calls = {"edlib, differences": partial(by_edlib, *both)}
        walls: Calls = {}
        for mode in MODES:
            given = mode, matrix, *both
            traced = partial(align.pairs, *both, mode, matrix=matrix, **OPTIONS)
            calls[f"gassst, {mode}"] = partial(traced, threads=1)
            for kind in ("striped_16", "scan_16"):
                calls[f"parasail {kind}, {mode}"] = partial(by_parasail, kind, *given)
            scores = partial(align.scores, *both, mode, matrix=matrix, pairs=each, threads=1, **OPTIONS)
            calls[f"score alone, gassst, {mode}"] = scores
            calls[f"score alone, parasail striped_16, {mode}"] = partial(
                by_parasail, "striped_16", *given, path=False
            )
            many = f"{mode}, {args.threads} threads"
            walls[f"gassst, {many}"] = partial(traced, threads=args.threads)
            walls[f"parasail scan_16, {many}"] = partial(by_parasail, "scan_16", *given, args.threads)
        seconds = least(calls, args.runs) | least(walls, args.runs, time.perf_counter)
        yield title, {name: 1e6 * taken / count for name, taken in seconds.items()}


def planted(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """uint8[rows], uint8[columns]; ten places of the target are copies of parts of the query, with 5 % errors."""
    rng = np.random.default_rng(seed)
    query, target = rng.integers(0, 4, rows).astype(np.uint8), rng.integers(0, 4, columns).astype(np.uint8)
    length = min(COPY, rows, columns)
    for begin in np.linspace(0, columns - length, 10).astype(int):
        source = int(rng.integers(0, rows - length + 1))
        wrong = rng.random(length) < 0.05
        target[begin : begin + length] = (query[source : source + length] + wrong) % 4
    return query, target


def best(args: argparse.Namespace) -> Iterator[Column]:
    """1e9 cells a second of the pass over a whole matrix, by wall clock and by CPU, and of ten alignments with it."""
    scoring, gaps = align.match_matrix(2, -3), Gaps(5, 2)
    for number, shape in enumerate(args.shapes):
        rows, columns = map(int, shape.split("x"))
        query, target = planted(rows, columns, 1)
        found: dict[str, float] = {}
        names = instruction_sets()[: None if number == 0 else 1]  # the others on the first shape alone
        for how in [*names, *([args.device] if args.device else [])]:
            isa = names[0] if how == args.device else how
            tiles = Tiles(np.ascontiguousarray(scoring.scores, np.int32), gaps.first, gaps.extend, isa)
            wall, cpu = time.perf_counter(), time.process_time()
            if how == args.device:
                filled = device_pass(query, target, gaps, scoring.scores, tiles, how, args.threads)
            else:
                filled = BlockMatrix(
                    query, target, gaps, tiles, Geometry.of(rows, columns, gaps, 2, args.threads)
                )
                compiled_pass(filled, args.threads, lambda _: None)
            taken = {"pass": time.perf_counter() - wall, "pass, CPU": time.process_time() - cpu}
            with WatermanEggert(filled, args.threads) as alignments:
                for _ in range(10):
                    alignments.next_path(1)
            taken["ten alignments"] = time.perf_counter() - wall
            found |= {f"{how}, {what}": rows * columns / 1e9 / seconds for what, seconds in taken.items()}
        yield f"{rows:,} x {columns:,}", found


# -- dynamic programmes: CPU seconds of one call ------------------------------------------------------------------


def semiring(args: argparse.Namespace) -> Iterator[Column]:
    """Seconds: products beside NumPy, closures beside SciPy."""
    from scipy.sparse.csgraph import floyd_warshall

    from gassst.semiring import closure, product

    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        a, b = (rng.standard_normal((1024, 1024)).astype(dtype) for _ in range(2))
        calls: Calls = {"gassst": lambda a=a, b=b: product(a, b, "max-plus", threads=1)}
        calls["NumPy"] = lambda a=a, b=b: [(line[:, None] + b).max(0) for line in a]
        yield f"max-plus product 1,024^3, {a.dtype}", least(calls, args.runs)
    for n in (512, 1024, 2048):
        d = rng.random((n, n))
        d[d > 0.3] = np.inf
        calls = {"SciPy": partial(floyd_warshall, d)}
        for dtype in (np.float32, np.float64):
            calls[f"gassst, {np.dtype(dtype)}"] = partial(closure, d.astype(dtype), threads=1)
        yield f"closure n = {n:,}", least(calls, args.runs)


def hmm(args: argparse.Namespace) -> Iterator[Column]:
    """Seconds: Viterbi with path, and forward, of 32,768 symbols beside hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM

    from gassst.hmm import Model

    rng, symbols = np.random.default_rng(1), 8
    observed = rng.integers(0, symbols, 32768)
    for n in (16, 64, 256):
        transition, emission = rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(symbols), n)
        model = Model(np.full(n, 1 / n), transition, emission)
        other = CategoricalHMM(n, n_features=symbols)
        other.startprob_, other.transmat_, other.emissionprob_ = model.start, transition, emission
        calls: Calls = {"hmmlearn": partial(other.decode, observed[:, None])}
        calls["gassst"] = partial(model.viterbi, observed, threads=1)
        yield f"Viterbi, {n} states", least(calls, args.runs)
        calls = {"hmmlearn": partial(other.score, observed[:, None])}
        calls["gassst"] = partial(model.forward, observed, threads=1)
        yield f"forward, {n} states", least(calls, args.runs)


def with_set(isa: str, call: Callable[..., object], *arguments: Any) -> None:
    """A call that takes an instruction set."""
    from gassst._core import problems

    sets, problems.SETS = problems.SETS, [isa]
    call(*arguments)
    problems.SETS = sets


def fold(args: argparse.Namespace) -> Iterator[Column]:
    """Seconds for structures of 320 windows of random bases beside ViennaRNA, for each instruction set."""
    import RNA

    from gassst._core import problems
    from gassst.fold import Parameters, folding, probabilities, zuker

    def weighed(compound: Any) -> None:
        compound.exp_params_rescale(compound.mfe()[1])
        compound.pf()

    rng = np.random.default_rng(1)
    with tempfile.NamedTemporaryFile(suffix=".par") as file:
        RNA.params_save(file.name)
        parameters = Parameters(file.name)
    for n in (60, 120, 200):
        several = ["".join(rng.choice(list("ACGU"), n)) for _ in range(320)]
        codes, offsets = folding.encoded(several)
        calls: Calls = {
            "ViennaRNA": lambda several=several: [RNA.fold_compound(one).mfe() for one in several]
        }
        for isa in problems.SETS:
            calls[f"gassst {isa}"] = partial(
                with_set, isa, folding.fold_codes, codes, offsets, parameters, True, 1, None
            )
        yield f"{n} bases", least(calls, args.runs)
    several = ["".join(rng.choice(list("ACGU"), 120)) for _ in range(100)]
    calls = {"gassst": partial(probabilities, several, parameters, threads=1)}
    calls["ViennaRNA"] = lambda: [weighed(RNA.fold_compound(one)) for one in several]
    yield "probabilities, 100 of 120 bases", least(calls, args.runs)
    one = "".join(rng.choice(list("ACGU"), 400))
    calls = {"gassst": partial(zuker, one, parameters, 1000.0), "ViennaRNA": partial(RNA.zukersubopt, one)}
    yield "Zuker's structures, 400 bases", least(calls, args.runs)


def family(alphabet: str, nodes: int, letters: int) -> tuple[Any, ...]:
    """Made families: what draws so many random sequences, a member with a share of letters changed, both models."""
    import pyhmmer

    from gassst.hmm import Profile

    abc, rng = getattr(pyhmmer.easel.Alphabet, alphabet)(), np.random.default_rng(2)
    background = pyhmmer.plan7.Background(abc)
    symbols, usual = list(abc.symbols[: abc.K]), np.array(background.residue_frequencies)[: abc.K]
    consensus = rng.choice(symbols, nodes)

    def member(changed: float) -> str:
        return "".join(np.where(rng.random(nodes) < changed, rng.choice(symbols, nodes), consensus))

    def drawn(count: int, shares: Any = None) -> Strings:
        p = usual / usual.sum() if shares is None else shares
        return ["".join(row) for row in rng.choice(symbols, (count, letters), p=p)]

    def block(texts: Strings) -> list[Any]:
        return [pyhmmer.easel.TextSequence(name=str(i).encode(), sequence=t) for i, t in enumerate(texts)]

    msa = pyhmmer.easel.TextMSA(name=b"family", sequences=block([member(0.3) for _ in range(20)]))
    model, _, _ = pyhmmer.plan7.Builder(abc).build_msa(msa.digitize(abc), background)
    with tempfile.NamedTemporaryFile(suffix=".hmm") as file:
        model.write(file)
        file.flush()
        own = Profile(file.name)

    def searched(texts: Strings, runs: int) -> dict[str, float]:
        digital = pyhmmer.easel.DigitalSequenceBlock(abc, [one.digitize(abc) for one in block(texts)])
        calls: Calls = {"gassst": lambda: own.search(texts, 1e-3, threads=1)}
        calls["pyhmmer"] = lambda: list(pyhmmer.hmmsearch(model, digital, cpus=1, E=1e-3))
        (hits,) = pyhmmer.hmmsearch(model, digital, cpus=1, E=1e-3)
        theirs = {int(hit.name) for hit in hits if hit.evalue <= 1e-3}
        missed = len(theirs.difference(own.search(texts, 1e-3, threads=1).numbers.tolist()))
        return {**least(calls, runs), "found by pyhmmer": len(theirs), "not found by gassst": missed}

    return drawn, member, searched


def families(args: argparse.Namespace) -> Iterator[Column]:
    """Seconds of a search for a family of 200 amino acids among 360, or of 1,500 bases among reads, beside pyhmmer."""
    drawn, member, searched = family("amino", 200, 360)
    yield "75,000, none", searched(drawn(75_000), args.runs)
    yield "75,000, none, all letters alike", searched(drawn(75_000, np.full(20, 0.05)), args.runs)
    for count, every, changed in ((75_000, 1000, 0.4), (10_000, 20, 0.4), (2_500, 5, 0.7)):
        texts = drawn(count)
        for k in range(0, count, every):
            texts[k] = texts[k][:100] + member(changed) + texts[k][260:320]
        yield f"{count:,}, {100 / every:g}% members, {changed:.0%} changed", searched(texts, args.runs)
    drawn, member, searched = family("dna", 1500, 150)
    yield "10,000 reads of 150, none", searched(drawn(10_000), args.runs)
    starts = np.random.default_rng(3).integers(0, 1250, 100)
    reads = [member(0.05)[start : start + 250] for start in starts.tolist()]
    yield "100 reads of 250, all members", searched(reads, 1)


def further(args: argparse.Namespace) -> Iterator[Column]:
    """Seconds of the best and of the 100 best alignments of one pair."""
    rng, copies = np.random.default_rng(1), 100
    query, letters = rng.integers(0, 4, 1000), np.frombuffer(b"ACGT", np.uint8)
    for columns in (1_000_000, 2_000_000, 10_000_000):
        target = rng.integers(0, 4, columns)
        several = {"random": target.copy()}
        for at in np.linspace(0, columns - 1000, copies).astype(int) if columns == 1_000_000 else ():
            target[at : at + 1000] = (query + (rng.random(1000) < 0.04) * rng.integers(1, 4, 1000)) % 4
            several[f"{copies} copies 4 % apart"] = target
        for what, codes in several.items():
            both = letters[query].tobytes().decode(), letters[codes].tobytes().decode()
            calls: Calls = {f"K = {k}": partial(align.best, *both, k, threads=1) for k in (1, 100)}
            yield f"1,000 x {columns:,}, {what}", least(calls, args.runs)


def devices(args: argparse.Namespace) -> Iterator[Column]:
    """Windows of 120 bases a second, and wall seconds of matrices of single precision, on --device."""
    from gassst.fold import Parameters, folding
    from gassst.semiring import closure, product

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    from fold_parameters import random_parameters

    rng, count = np.random.default_rng(1), args.windows
    with tempfile.NamedTemporaryFile(suffix=".par") as file:
        random_parameters(Path(file.name), 1)
        parameters = Parameters(file.name)
    codes, offsets = rng.integers(0, 4, 120 * count).astype(np.uint8), 120 * np.arange(count + 1)
    call = partial(folding.fold_codes, codes, offsets, parameters, False, None, None)
    names = [args.device] if args.device else []
    seconds = least({name: partial(call, name) for name in names}, args.runs, time.perf_counter)
    yield "windows a second", {name: count / taken for name, taken in seconds.items()}
    for n in (2048, 8192):
        a = rng.random((n, n)).astype(np.float32)
        for what, made in (("product", partial(product, a, a, "min-plus")), ("closure", partial(closure, a))):
            calls: Calls = {name: partial(made, device=name) for name in names}
            yield f"{what}, n = {n:,}", least(calls, args.runs, time.perf_counter)


EXPERIMENTS: dict[str, Callable[[argparse.Namespace], Iterator[Column]]] = {
    "gcups": gcups, "pairs": pairs, "best": best, "semiring": semiring, "hmm": hmm, "fold": fold,
    "families": families, "further": further, "devices": devices,
}  # fmt: skip


def table(experiments: dict[str, dict[str, dict[str, float]]]) -> str:
    """A table for each experiment: a row for each program, a column for each of its columns."""
    tables = []
    for name, found in experiments.items():
        programs = dict.fromkeys(program for column in found.values() for program in column)
        rows = [[program, *(column.get(program) for column in found.values())] for program in programs]
        tables.append(markdown([name, *found], rows))
    return "\n\n".join(tables)


def others(result: dict[str, Any]) -> str:
    """The other programs and their versions."""
    return ", ".join(f"{name} {number}" for name, number in result["versions"].items())


def beside(result: dict[str, Any], experiment: str) -> str:
    """Seconds of gassst and of the other program of each column, for a page."""
    rows = []
    for column, found in result["experiments"][experiment].items():
        other = next(name for name in found if not name.startswith("gassst"))
        for name in (name for name in found if name.startswith("gassst")):
            what = f"{column}{name.removeprefix('gassst').replace(',', '', 1).replace(' ', ', ', 1)}"
            rows.append([what, other, found[other], found[name], found[other] / found[name]])
    return markdown(["", "the other", "its seconds", "gassst", "times"], rows)


def main(argv: list[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    add = parser.add_argument
    add("experiments", nargs="*", metavar="EXPERIMENT", help=f"some of {', '.join(EXPERIMENTS)} [all]")
    add("--runs", type=int, default=3, help="of each call, in turn [3]")
    add("--threads", type=int, default=usable_threads(), help="of the runs by wall clock [all]")
    add("--device", help="also an OpenCL device: gcups, best, devices")
    add("--windows", type=int, default=200_000, help="of devices [200,000]")
    add("--large", action="store_true", help="twenty times the targets, as a device needs them: gcups")
    add("--alone", action="store_true", help="threads and device only: gcups")
    add(
        "--shapes",
        nargs="+",
        default=["1000x10000000", "100000x100000"],
        metavar="ROWSxCOLUMNS",
        help="of best",
    )
    args = parser.parse_args(argv)
    if unknown := [one for one in args.experiments if one not in EXPERIMENTS]:
        parser.error(f"there is no experiment {unknown[0]}")
    print(describe_machine())
    results = {}
    for name in args.experiments or EXPERIMENTS:
        try:
            found = results[name] = dict(EXPERIMENTS[name](args))
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        print(f"{EXPERIMENTS[name].__doc__}\n{table({name: found})}\n")
    installed = {package.name.lower(): package.version for package in distributions()}
    versions = {name: installed[name] for name in OTHERS if name in installed}
    write_json(args.json, {"versions": versions, "experiments": results})


if __name__ == "__main__":
    run(main)

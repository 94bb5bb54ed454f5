"""`gassst.hmm.Profile`: families of sequences, in files of HMMER 3."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gassst._core.problems import Job
from gassst.errors import InputError, UsageError
from gassst.files.batches import joined, odd_letter, text_of
from gassst.workers.allocator import available_memory
from gassst.workers.tasks import Shown, run_shown, thread_count

Floats = NDArray[np.float64]

AMINO = "ACDEFGHIKLMNPQRSTVWY"
AMINO_FREQUENCIES = np.array([
    .0787945, .0151600, .0535222, .0668298, .0397062, .0695071, .0229198, .0590092, .0594422, .0963728,
    .0237718, .0414386, .0482904, .0395639, .0540978, .0683364, .0540687, .0673417, .0114135, .0304133,
])  # fmt: skip
"""Of Swiss-Prot 50.8, the background of HMMER 3."""
ALPHABETS = {"amino": AMINO, "DNA": "ACGT", "RNA": "ACGU"}
ANY = {AMINO: "XBJZOU", "ACGT": "NRYSWKMBDHV", "ACGU": "NRYSWKMBDHV"}  # score as any letter on average
MODES = ("local", "global")
LEAST = -1024.0  # of natural logarithms in whole numbers: what is impossible
# Those of profile.h: the least steps and odds in lanes of 16 bits, parts of a natural logarithm, the code of no letter.
LEAST_STEPS, LEAST_ODDS, UNITS, WRONG = [-7000] * 3 + [-14000] + [-7000] * 4, -5000, 4096, 32
STEPS = 7  # M->M M->I M->D I->M I->I D->M D->D of a node
MOST_BASES = 1 << 24
PASSING = {"MSV": 0.02, "VITERBI": 0.001}  # of random sequences that pass, as in HMMER
COSTS = {"path": 2.0, "sum": 2.0, "narrow": 1.0, "composition": 0.01, "filter": 0.02, "trace": 2.0}
"""Of a cell of each kernel, beside an alignment's."""
USUAL_RUN, MODEL_RUNS = (
    400,
    8,
)  # letters of the usual composition, share of the nodes of the model's, as in HMMER
Sequences = Iterable[str | bytes]


class Texts(NamedTuple):
    """Letters of sequences, in whatever order."""

    text: NDArray[np.uint8]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequences) -> Texts:
        """Take letters from text. Raises what `joined` raises."""
        text, offsets = joined(sequences, MOST_BASES)
        return cls(text, offsets[:-1], np.diff(offsets))

    def take(self, numbers: NDArray[np.int64]) -> Texts:
        """Some of them."""
        return Texts(self.text, self.begins[numbers], self.lengths[numbers])


class Hits(NamedTuple):
    """Sequences that belong to a family, the best first."""

    numbers: NDArray[np.int64]
    """int64[m], their numbers, from 0."""
    bits: Floats
    """float64[m], as of `Profile.forward`."""
    e_values: Floats
    """float64[m], as of `Profile.e_values`."""


class Alignment(NamedTuple):
    """The most probable alignment of one stretch of a sequence with a profile."""

    bits: float
    """As of `Profile.viterbi`, if the sequence had this hit alone; -inf where there is none."""
    begin: int
    """First letter of the sequence that is aligned, from 0."""
    end: int
    """Behind the last letter."""
    model_begin: int
    """First node that is aligned, from 0."""
    model_end: int
    """Behind the last node."""
    cigar: str
    """As in SAM, with soft clips: M for letters of nodes, I for letters between them, D for nodes that are left out."""


class Profile:
    """A profile hidden Markov model, read from a file of HMMER 3 (the first model in it).

    Scores are those of HMMER without filters and without corrections for biased composition: local to the sequence,
    several hits in one. `mode` "local" is local to the model, too, "global" takes hits from its first node to its last.
    There is neither hmmbuild here nor a list of domains: pyhmmer has both.

    Raises
    ------
    InputError
        For a file that is missing, of another format, or cut short, or whose numbers make no sense.
    """

    name: str
    alphabet: str
    """The letters, one of 4 or 20."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        lines = text_of(path).splitlines()
        if not lines or not lines[0].startswith("HMMER3/"):
            self._fail("does not begin with HMMER3/")
        head, self._statistics = dict[str, str](), dict[str, list[float]]()
        body = iter(lines[1:])
        for line in body:
            words = line.split()
            if words[:1] == ["HMM"]:
                break
            if words[:2] == ["STATS", "LOCAL"] and len(words) == 5:
                self._statistics[words[2]] = self._floats(words[3:], 2)
            elif len(words) > 1:
                head[words[0]] = words[1]
        if head.get("ALPH") not in ALPHABETS or not head.get("LENG", "").isdigit() or int(head["LENG"]) < 1:
            self._fail("has no alphabet (ALPH) of DNA, RNA or amino, or no length (LENG)")
        self.name, self.alphabet = head.get("NAME", self.path), ALPHABETS[head["ALPH"]]
        nodes, letters = int(head["LENG"]), len(self.alphabet)
        next(body, "")
        rows = [line.split() for line in body]
        self._composition = None
        if rows and rows[0][:1] == ["COMPO"]:
            self._composition = np.exp(-np.array(self._floats(rows.pop(0)[1:], letters)))
        if len(rows) < 3 * nodes + 3 or rows[3 * nodes + 2] != ["//"]:
            self._fail(f"is cut short: {nodes} nodes are wanted")
        emission = np.array([self._floats(rows[2 + 3 * k][1:], letters) for k in range(nodes)])
        steps = np.array([self._floats(rows[1 + 3 * k], STEPS) for k in range(nodes + 1)])
        self._match, self._steps = np.exp(-emission), np.exp(-steps)
        for sums in (self._match.sum(1), self._steps[:, :3].sum(1), self._steps[:, 3:5].sum(1)):
            if (np.abs(sums - 1) > 1e-3).any():
                self._fail(f"node {int(np.abs(sums - 1).argmax())}: probabilities do not add to 1")

    def __len__(self) -> int:
        """Nodes."""
        return len(self._match)

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.path}: {what}")

    def _floats(self, words: list[str], count: int) -> list[float]:
        try:
            found = [np.inf if word == "*" else float(word) for word in words[:count]]
        except ValueError:
            found = []
        if len(found) != count or any(np.isnan(number) for number in found):
            self._fail(f"{count} numbers are wanted, not `{' '.join(words)[:40]}`")
        return found

    def odds(self, mode: str = "local") -> tuple[Floats, Floats]:
        """Steps float64[nodes + 1, 8], as `profile.h` has them, and odds of letters float64[nodes + 1, 32].

        Row 0 is of the composition.
        """
        n, t = len(self), self._steps
        occupied = np.empty(n + 1)
        occupied[1] = t[0, 0] + t[0, 1]
        for k in range(2, n + 1):
            occupied[k] = occupied[k - 1] * (t[k - 1, 0] + t[k - 1, 1]) + (1 - occupied[k - 1]) * t[k - 1, 5]
        steps = np.zeros((n + 1, 8))
        usual, model = USUAL_RUN + 1, n / MODEL_RUNS + 1
        steps[0, :6] = 1 - 1 / usual, 1 / usual, 1 / model, 1 - 1 / model, 0.999, 0.001
        steps[2:, 0], steps[2:, 1], steps[2:, 2] = t[1:n, 0], t[1:n, 3], t[1:n, 5]
        if mode == "local":
            steps[1:, 3] = occupied[1:] / (occupied[1:] * np.arange(n, 0, -1)).sum()
        else:
            steps[1, 3] = t[0, 0]
            steps[2:, 3] = t[0, 2] * np.cumprod(np.append(1, t[1 : n - 1, 6])) * t[1:n, 5]
        steps[1:n, 4], steps[1:n, 5] = t[1:n, 1], t[1:n, 4]
        steps[2:, 6], steps[2:, 7] = t[1:n, 2], t[1:n, 6]
        frequencies = AMINO_FREQUENCIES if self.alphabet == AMINO else np.full(4, 0.25)
        frequencies = frequencies / frequencies.sum()
        emission = np.zeros((n + 1, 32))
        letters = len(self.alphabet)
        emission[0] = 1
        if self._composition is not None:
            emission[0, :letters] = self._composition / frequencies
        emission[1:, :letters] = self._match / frequencies
        with np.errstate(divide="ignore"):  # X, N: the expected score
            emission[1:, letters] = np.exp(np.log(emission[1:, :letters]) @ frequencies)
        return steps, emission

    def forward(
        self, sequences: Sequences, mode: str = "local", *, threads: int | None = None, progress: Shown = None
    ) -> Floats:
        """float64[n], bit scores of sequences: the sum over all alignments, against the background.

        Sequences are text, in capitals or not. X of proteins and N of DNA stand for any letter, and so do the other
        letters of IUPAC that stand for several. A sequence of no letters has -inf. Raises InputError for one that has
        other letters, UsageError for a mode that there is not, or threads that make no sense.
        """
        return self._bits("sum", Texts.of(sequences), threads, progress, mode)

    def viterbi(
        self, sequences: Sequences, mode: str = "local", *, threads: int | None = None, progress: Shown = None
    ) -> Floats:
        """As `forward`, of the most probable alignment alone."""
        return self._bits("path", Texts.of(sequences), threads, progress, mode)

    def align(
        self, sequences: Sequences, mode: str = "local", *, threads: int | None = None, progress: Shown = None
    ) -> list[Alignment]:
        """The most probable alignment of each sequence with one stretch of the model, or with all of it.

        Bits are within 0.05 of those of single hits. Raises what `forward` raises, and UsageError where sequences times
        nodes take too much memory.
        """
        texts = Texts.of(sequences)
        lengths, size = texts.lengths.tolist(), len(self) + 1
        needed = max(lengths, default=0) * size * thread_count(threads)
        if needed > available_memory():
            raise UsageError(f"alignments of these sequences take {needed / 2**30:.1f} GiB of memory")
        places = np.zeros((len(lengths), 5), np.int64)
        operations = np.empty(sum(lengths) + len(lengths) * size, np.uint8)
        found = self._bits("trace", texts, threads, progress, mode, places=places, operations=operations)
        bits, aligned = found.tolist(), list[Alignment]()
        for k, (begin, end, first, last, count) in enumerate(places.tolist()):
            at = int(texts.begins[k]) + k * size
            # Nodes before the first letter are one step.
            lead = first - 1 if mode == "global" and count else 0
            parts = groupby(operations[at : at + count].tobytes()[::-1])
            runs = [(len(list(run)), chr(what)) for what, run in parts]
            runs = [(begin, "S"), (lead, "D"), *runs, (lengths[k] - end, "S")] if count else []
            cigar = "".join(f"{number}{what}" for number, what in runs if number)
            model_begin = first - 1 - lead if count else 0
            aligned.append(Alignment(bits[k] if count else -np.inf, begin, end, model_begin, last, cigar))
        return aligned

    def e_values(self, bits: NDArray[np.float64], database: int | None = None) -> Floats:
        """float64[n]: how many of `database` random sequences would have such a `forward` score.

        By default as many as there are scores. Raises InputError for a file without STATS LOCAL FORWARD.
        """
        if "FORWARD" not in self._statistics:
            self._fail("has no STATS LOCAL FORWARD: hmmbuild or hmmpress of HMMER 3 writes it")
        tau, slope = self._statistics["FORWARD"]
        found = np.exp(-slope * np.maximum(np.asarray(bits, float) - tau, 0))
        return found * (found.size if database is None else database)

    def search(
        self,
        sequences: Sequences,
        e_value: float = 10.0,
        *,
        threads: int | None = None,
        progress: Shown = None,
    ) -> Hits:
        """Sequences with an E-value of at most `e_value`, by their `forward` score.

        As in HMMER, two filters come first. One lets sequences pass whose best stretches without gaps score as those of
        2 % of random ones, the other those whose best alignment scores as that of one in 1,000. Both take off what the
        composition of the sequence explains. So a sequence may be missing that scores by many weak alignments, or by
        its composition alone. Sequences and errors are those of `forward`. Raises UsageError for an E-value of 0 or
        less, and InputError for a file without STATS LOCAL MSV, VITERBI or FORWARD.
        """
        if not e_value > 0:
            raise UsageError(f"e_value: {e_value} is not above 0")
        several = sequences if isinstance(sequences, (str, bytes)) else list(sequences)
        kept, bits = self.passing(several, threads=threads, progress=progress)
        values = self.e_values(bits, len(several))
        best = np.flatnonzero(values <= e_value)
        best = best[np.argsort(-bits[best], kind="stable")]
        return Hits(kept[best], bits[best], values[best])

    def passing(
        self, sequences: Sequences, *, threads: int | None = None, progress: Shown = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """The sequences that `search` scores, as int64[m], and their `forward` scores; errors are those of `search`."""
        least = []
        for name, share in PASSING.items():
            if name not in self._statistics:
                self._fail(f"has no STATS LOCAL {name}: hmmbuild of HMMER 3 writes it")
            mu, slope = self._statistics[name]
            least.append(mu - np.log(-np.log1p(-share)) / slope)
        texts = Texts.of(sequences)
        kept, biases = np.arange(len(texts.lengths)), np.zeros(len(texts.lengths))
        for is_first in (True, False) if self._composition is not None else (True,):
            some = texts.take(kept)
            if not is_first:
                biases = self._logs("composition", some, threads)
            enough = self._enough(some.lengths, least[0], biases)
            passes = self._logs("filter", some, threads, progress if is_first else None, enough=enough) > 0
            kept, biases = kept[passes], biases[passes]
        kept = kept[self._bits("narrow", texts.take(kept), threads) - biases / np.log(2) >= least[1]]
        return kept, self._bits("sum", texts.take(kept), threads)

    def _enough(self, lengths: NDArray[np.int64], least: float, biases: Floats) -> NDArray[np.float32]:
        """The logarithm of the odds that a stretch without gaps needs: for `least` bits, or to gain by a second one."""
        n, move = len(self), np.log(3 / (lengths + 3))
        around = move + np.log(1 / (n * (n + 1)))
        null = lengths * np.log(np.maximum(lengths, 1) / (lengths + 1)) - np.log(lengths + 1)
        wanted = least * np.log(2) + null + biases + 3 - move  # loops take e^-3
        return np.maximum(np.floor(8 * (np.minimum(wanted, 0) - around)) / 8, 1).astype(np.float32)

    def _bits(self, kernel: str, texts: Texts, *given: Any, **more: Any) -> Floats:
        """Return the same as bits, against random letters of a length of that mean."""
        n = texts.lengths
        null = n * np.log(np.maximum(n, 1) / (n + 1)) - np.log(n + 1)
        return np.asarray((self._logs(kernel, texts, *given, **more) - null) / np.log(2))

    def _logs(
        self,
        kernel: str,
        texts: Texts,
        threads: int | None,
        progress: Shown = None,
        mode: str = "local",
        enough: NDArray[np.float32] | None = None,
        places: NDArray[np.int64] | None = None,
        operations: NDArray[np.uint8] | None = None,
    ) -> Floats:
        """What a kernel writes for each sequence. They go in the order of their lengths, or of what is `enough`."""
        if mode not in MODES:
            raise UsageError(f"mode {mode!r}: must be local or global")
        order = np.arange(len(texts.lengths))
        if kernel != "trace":
            order = np.argsort(texts.lengths if enough is None else enough, kind="stable")
        text, begins, lengths = texts.take(order)
        logs, seen = np.empty(len(order)), np.zeros(len(order), np.uint8)
        odds, steps, *whole = self._tables[mode]
        job = Job(
            f"profile {kernel}",
            *(odds if kernel in ("sum", "composition") else steps),
            *(*whole, self._table, len(self), 1 if mode == "local" else len(self), text, begins, lengths),
            *(None if enough is None else enough[order], logs, seen, places, operations),
        )
        cost = lengths.astype(float) * len(self) * COSTS[kernel]
        run_shown(cost, job.run, thread_count(threads), job.stop, progress, job.lanes)
        if (seen & WRONG).any():
            letters = self.alphabet + ("X" if self.alphabet == AMINO else "N")
            raise odd_letter(texts.text, texts.begins, self._table[texts.text] == WRONG, letters)
        found = np.empty_like(logs)
        found[order] = np.where(lengths > 0, logs, -np.inf)
        return found

    @cached_property
    def _tables(self) -> dict[str, tuple[Any, ...]]:
        """By modes: steps and odds as they are, logarithms, 500ths of a bit, `UNITS` of logarithms."""
        made = {}
        for mode in MODES:
            odds = self.odds(mode)
            with np.errstate(divide="ignore"):
                logs = [np.log(table) for table in odds]
            both = [np.maximum(table, LEAST) for table in logs]
            steps, emission = (table * (500 / np.log(2)) for table in both)
            small = np.repeat(np.maximum(steps, LEAST_STEPS), 2, axis=1), np.maximum(emission, LEAST_ODDS)
            made[mode] = (
                [table.astype(np.float32) for table in odds],
                [table.astype(np.float32) for table in logs],
                np.rint(np.concatenate([table.ravel() for table in small])).astype(np.int16),
                np.rint(np.concatenate([table.T.ravel() for table in both]) * UNITS).astype(np.int32),
            )
        return made

    @cached_property
    def _table(self) -> NDArray[np.uint8]:
        """The code of each byte, WRONG of those that are no letter."""
        table = np.full(256, WRONG, np.uint8)
        for code, letters in enumerate([*self.alphabet, ANY[self.alphabet]]):
            table[[ord(letter) for letter in letters + letters.lower()]] = code
        if self.alphabet != AMINO:
            table[[ord(letter) for letter in "TtUu"]] = 3
        return table

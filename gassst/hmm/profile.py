"""`gassst.hmm.Profile`: families of sequences, in files of HMMER 3."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gassst._core.profile import FILTER, PATH, SUM, Scorer, instruction_sets
from gassst.errors import InputError, MissingFileError, UsageError
from gassst.workers.tasks import Progress, ProgressBar, run_problems, thread_count

Floats = NDArray[np.float64]

AMINO = "ACDEFGHIKLMNPQRSTVWY"
AMINO_FREQUENCIES = (
    *(
        0.0787945,
        0.0151600,
        0.0535222,
        0.0668298,
        0.0397062,
        0.0695071,
        0.0229198,
        0.0590092,
        0.0594422,
        0.0963728,
    ),
    *(
        0.0237718,
        0.0414386,
        0.0482904,
        0.0395639,
        0.0540978,
        0.0683364,
        0.0540687,
        0.0673417,
        0.0114135,
        0.0304133,
    ),
)
"""Of Swiss-Prot 50.8, the background of HMMER 3."""
ALPHABETS = {"amino": AMINO, "DNA": "ACGT", "RNA": "ACGU"}
STEPS = 7  # M->M M->I M->D I->M I->I D->M D->D of a node
PAST = 31  # the code behind the end of a sequence
MOST_BASES = 1 << 24
PASSING = 0.02  # of random sequences that pass the filter, as in HMMER


class Hits(NamedTuple):
    """Sequences that belong to a family, the best first."""

    numbers: NDArray[np.int64]
    """int64[m], their numbers, from 0."""
    bits: Floats
    """float64[m], as of `Profile.forward`."""
    e_values: Floats
    """float64[m], as of `Profile.e_values`."""


class Profile:
    """A profile hidden Markov model, read from a file of HMMER 3 (the first model in it).

    Scores are those of HMMER without filters and without corrections for biased composition: local to the model and the
    sequence, several hits in one. There is neither hmmbuild here nor a list of domains: pyhmmer has both.

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
        try:
            lines = Path(path).read_text("utf-8").splitlines()
        except FileNotFoundError:
            raise MissingFileError(f"{self.path}: no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: {getattr(error, 'strerror', None) or 'is not text'}") from None
        if not lines or not lines[0].startswith("HMMER3/"):
            self._fail("does not begin with HMMER3/")
        head = {}
        statistics = {}
        body = iter(lines[1:])
        for line in body:
            words = line.split()
            if words[:1] == ["HMM"]:
                break
            if words[:2] == ["STATS", "LOCAL"] and len(words) == 5:
                statistics[words[2]] = self._floats(words[3:], 2)
            elif len(words) > 1:
                head[words[0]] = words[1]
        if head.get("ALPH") not in ALPHABETS or not head.get("LENG", "").isdigit() or int(head["LENG"]) < 1:
            self._fail("has no alphabet (ALPH) of DNA, RNA or amino, or no length (LENG)")
        self.name, self.alphabet = head.get("NAME", self.path), ALPHABETS[head["ALPH"]]
        self._statistics = statistics
        nodes, letters = int(head["LENG"]), len(self.alphabet)
        next(body, "")
        rows = [line.split() for line in body]
        if rows and rows[0][:1] == ["COMPO"]:
            rows = rows[1:]
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

    def odds(self) -> tuple[Floats, Floats]:
        """Steps float64[nodes + 1, 8], as `profile.h` has them, and odds of letters float64[nodes + 1, 32]."""
        n, t = len(self), self._steps
        occupied = np.empty(n + 1)
        occupied[1] = t[0, 0] + t[0, 1]
        for k in range(2, n + 1):
            occupied[k] = occupied[k - 1] * (t[k - 1, 0] + t[k - 1, 1]) + (1 - occupied[k - 1]) * t[k - 1, 5]
        steps = np.zeros((n + 1, 8))
        steps[2:, 0], steps[2:, 1], steps[2:, 2] = t[1:n, 0], t[1:n, 3], t[1:n, 5]
        steps[1:, 3] = occupied[1:] / (occupied[1:] * np.arange(n, 0, -1)).sum()
        steps[1:n, 4], steps[1:n, 5] = t[1:n, 1], t[1:n, 4]
        steps[2:, 6], steps[2:, 7] = t[1:n, 2], t[1:n, 6]
        frequencies = np.array(AMINO_FREQUENCIES) if self.alphabet == AMINO else np.full(4, 0.25)
        frequencies = frequencies / frequencies.sum()
        emission = np.zeros((n + 1, 32))
        letters = len(self.alphabet)
        emission[1:, :letters] = self._match / frequencies
        with np.errstate(divide="ignore"):
            emission[1:, letters] = np.exp(
                np.log(emission[1:, :letters]) @ frequencies
            )  # X, N: the expected score
        return steps, emission

    def forward(
        self,
        sequences: Iterable[str | bytes],
        *,
        threads: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Floats:
        """float64[n], bit scores of sequences: the sum over all alignments, against the background.

        Sequences are text, in capitals or not; X of proteins and N of DNA stand for any letter. Raises InputError for a
        sequence that is empty or has other letters, UsageError for threads that make no sense.
        """
        texts = self._texts(sequences)
        return self._bits(texts, SUM, threads, progress)

    def viterbi(
        self,
        sequences: Iterable[str | bytes],
        *,
        threads: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Floats:
        """As `forward`, of the most probable alignment alone."""
        texts = self._texts(sequences)
        return self._bits(texts, PATH, threads, progress)

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
        sequences: Iterable[str | bytes],
        e_value: float = 10.0,
        *,
        threads: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Hits:
        """Sequences with an E-value of at most `e_value`, by their `forward` score.

        Only sequences whose best stretches without gaps score as those of 2 % of random ones are scored further, as in
        HMMER. So a sequence may be missing that `forward` would find: one that scores by many gaps alone.
        Sequences and errors are those of `forward`. Raises UsageError for an E-value of 0 or less, and InputError for a
        file without STATS LOCAL MSV or FORWARD.
        """
        if not e_value > 0:
            raise UsageError(f"e_value: {e_value} is not above 0")
        if "MSV" not in self._statistics:
            self._fail("has no STATS LOCAL MSV: hmmbuild of HMMER 3 writes it")
        texts = self._texts(sequences)
        mu, slope = self._statistics["MSV"]
        passing = mu - np.log(-np.log1p(-PASSING)) / slope
        kept = np.flatnonzero(self._bits(texts, FILTER, threads, progress) >= passing)
        bits = self._bits([texts[k] for k in kept.tolist()], SUM, threads, None)
        values = self.e_values(bits, len(texts))
        best = np.flatnonzero(values <= e_value)
        best = best[np.argsort(-bits[best], kind="stable")]
        return Hits(kept[best], bits[best], values[best])

    def _bits(
        self, texts: list[bytes], kind: int, threads: int | None, progress: Progress | bool | None
    ) -> Floats:
        count = thread_count(threads)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        order = np.argsort(lengths, kind="stable")
        codes = np.frombuffer(b"".join([texts[k] for k in order.tolist()]).translate(self._table), np.uint8)
        bar = ProgressBar(progress, float(lengths.sum()) * len(self) * 2)
        if not texts:
            bar.finish()
            return np.empty(0)
        if codes.max() == PAST:
            self._refuse(texts)
        steps, emission = self.odds()
        with np.errstate(divide="ignore"):
            logs_of_steps, logs_of_letters = np.log(steps), np.log(emission)
        thirds = np.clip(np.rint(np.maximum(logs_of_letters, -99) * (3 / np.log(2))), -128, 127).astype(
            np.int8
        )
        tables = (steps, emission) if kind == SUM else (logs_of_steps, logs_of_letters)
        scorer = Scorer(
            tables[0].astype(np.float32),
            tables[1].astype(np.float32),
            thirds,
            codes,
            np.append(0, np.cumsum(lengths[order])),
            kind,
            len(self.alphabet) < 15,
            instruction_sets()[0],
        )
        logs, cost = (
            np.empty(len(texts)),
            lengths[order].astype(float) * len(self) * (0.05 if kind == FILTER else 2),
        )

        def run(first: int, last: int) -> None:
            scorer.run(first, last, logs)

        run_problems(cost, run, count, scorer.stop, bar, scorer.lanes)
        bar.finish()
        found = np.empty_like(logs)
        found[order] = logs
        n = lengths.astype(float)
        return (found - n * np.log(n / (n + 1)) + np.log(n + 1)) / np.log(2)

    @cached_property
    def _table(self) -> bytes:
        """The code of each byte, PAST of those that are no letter."""
        table = np.full(256, PAST, np.uint8)
        for code, letter in enumerate(self._letters):
            table[[ord(letter), ord(letter.lower())]] = code
        if self.alphabet != AMINO:
            table[[ord(letter) for letter in "TtUu"]] = 3
        return table.tobytes()

    @property
    def _letters(self) -> str:
        return self.alphabet + ("X" if self.alphabet == AMINO else "N")

    def _texts(self, sequences: Iterable[str | bytes]) -> list[bytes]:
        if isinstance(sequences, (str, bytes)):
            raise UsageError("sequences: a list of sequences is wanted, not one")
        found = []
        for number, sequence in enumerate(sequences, 1):
            if not isinstance(sequence, (str, bytes)):
                raise UsageError(f"sequence {number}: must be str or bytes, not {type(sequence).__name__}")
            text = sequence.encode("latin-1", "replace") if isinstance(sequence, str) else sequence
            if not 1 <= len(text) <= MOST_BASES:
                raise InputError(f"sequence {number}: has {len(text):,} letters, not 1 to {MOST_BASES:,}")
            found.append(text)
        return found

    def _refuse(self, texts: list[bytes]) -> NoReturn:
        """Names the first letter that is none."""
        for number, text in enumerate(texts, 1):
            at = text.translate(self._table).find(PAST)
            if at >= 0:
                raise InputError(
                    f"sequence {number}: {chr(text[at])!r} at letter {at + 1} is not one of {self._letters}"
                )
        raise AssertionError

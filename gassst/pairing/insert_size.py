"""What a run knows of its library: template lengths, given by the user or learned, and the rate of errors, learned."""

from __future__ import annotations

import json
import math
import os
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from gassst.errors import InputError, UsageError, unreadable
from gassst.files.whole_file import write_text
from gassst.frozen import asdict, frozen, replace
from gassst.model.params import LONGEST_TEMPLATE, ORIENTATIONS
from gassst.pairing.error_rate import ENOUGH_READS, UNKNOWN_LIBRARY, ErrorRate

ENOUGH_PAIRS = ENOUGH_READS // 2
# Share of the confident pairs from which on an orientation is one of the library: mate pairs hold fragments that face
# each other, too.
CLEAR_SHARE = 0.05
MIN_SD = 2.0
# A pair is proper within so many standard deviations of the mean.
DEVIATIONS = 4
TYPICAL = 350.0  # template length
RATES = 1e-12, 1 - 1e-12  # of a file: fewer than 10^12 bases teach no rate beyond these


@frozen()
class InsertModel:
    """Template lengths, from the 5' end of one mate to the 5' end of the other, in bases.

    Attributes
    ----------
    orientation : str
        "fr" (the reads face each other), "rf" (they face apart) or "ff" (same strand, first mate first).
    mean, sd : float
    low, high : int
        A pair is proper when its template length lies within.
    pairs : int
        Pairs that were learned from; 0 where the model was given or assumed.
    errors : ErrorRate
        Of the first reads. `UNKNOWN_LIBRARY` where nothing was learned: then every read speaks for itself.
    also : InsertModel or None
        Of a further orientation that the library has, in fewer pairs.
    """

    orientation: str
    mean: float
    sd: float
    low: int
    high: int
    pairs: int = 0
    errors: ErrorRate = UNKNOWN_LIBRARY
    also: InsertModel | None = None

    @property
    def libraries(self) -> list[InsertModel]:
        """This one, and those of further orientations."""
        return [self] if self.also is None else [self, *self.also.libraries]

    @property
    def shares(self) -> list[tuple[InsertModel, float]]:
        """Those, each with its share of the pairs."""
        pairs = [max(library.pairs, 1) for library in self.libraries]
        return [(library, n / sum(pairs)) for library, n in zip(self.libraries, pairs, strict=True)]

    @classmethod
    def given(cls, orientation: str, mean: float, sd: float) -> InsertModel:
        """Proper within `DEVIATIONS` standard deviations. Raises UsageError for numbers out of range."""
        if not (0 < mean <= LONGEST_TEMPLATE and 0 < sd <= LONGEST_TEMPLATE):
            raise UsageError(
                f"insert size {mean:g},{sd:g}: mean and deviation must be from 1 to {LONGEST_TEMPLATE}"
            )
        sd = max(float(sd), MIN_SD)  # gaps of a read move its ends
        low, high = max(1, math.floor(mean - DEVIATIONS * sd)), math.ceil(mean + DEVIATIONS * sd)
        return cls(orientation, float(mean), sd, low, high)

    @classmethod
    def assumed(cls, orientation: str) -> InsertModel:
        """For runs with too few pairs to learn from: wide enough for any usual library."""
        return cls.given(orientation, TYPICAL, TYPICAL / 2)

    @classmethod
    def learned(cls, orientation: str, templates: Sequence[int]) -> InsertModel:
        """From template lengths; robust: quartiles tell which of them are outliers."""
        known, quarter = sorted(templates), len(templates) // 4
        q1, q3 = known[quarter], known[-1 - quarter]
        spread = max(q3 - q1, 1)
        core = known[bisect_left(known, q1 - 2 * spread) : bisect_right(known, q3 + 2 * spread)]
        n, total, squares = len(core), sum(core), sum(size * size for size in core)
        mean, sd = total / n, max(math.sqrt(n * squares - total * total) / n, MIN_SD)
        low, high = max(1, math.floor(mean - DEVIATIONS * sd)), math.ceil(mean + DEVIATIONS * sd)
        return cls(orientation, mean, sd, low, min(high, LONGEST_TEMPLATE), len(templates))

    @property
    def code(self) -> int:
        """Of the orientation, for the compiled stages."""
        return ORIENTATIONS.index(self.orientation)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> InsertModel:
        """The model that `write` has written, to the last bit. Raises InputError."""
        try:
            with open(path, encoding="utf-8") as file:
                model = cls._of(json.loads(file.read(1 << 20))["insert"])
        except OSError as error:
            raise unreadable(path, error) from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InputError(f"{path}: not a model of insert sizes that `gassst insert` wrote") from None
        return model

    @classmethod
    def _of(cls, values: dict[str, Any], orientations: Sequence[str] = ORIENTATIONS) -> InsertModel:
        """From what `as_dict` returns, of one of these orientations; each has one model.

        Raises ValueError, TypeError, KeyError and AttributeError for what no library has.
        """
        errors, also = values.pop("errors"), values.pop("also", None)
        damage = tuple(errors.pop("damage", ()))
        model = cls(**values, errors=ErrorRate(**errors, damage=damage))
        errors, longest = model.errors, 5 * LONGEST_TEMPLATE  # a mean, and four deviations
        whole = (model.low, 0, longest), (model.high, model.low, longest), (model.pairs, 0, 1 << 62)
        sizes = (model.mean, 0, LONGEST_TEMPLATE), (model.sd, MIN_SD, LONGEST_TEMPLATE)
        rates = (errors.rate, *RATES), (errors.bases, UNKNOWN_LIBRARY.bases, 1 / RATES[0])
        shares = (errors.elsewhere, 0, 1), *((share, RATES[0], 1) for share in damage)
        real = *sizes, *rates, *shares
        sound = all(_is_within(*x, int) for x in whole) and all(_is_within(*x, int, float) for x in real)
        if not sound or model.orientation not in orientations or len(damage) % 4 != bool(damage):
            raise ValueError
        left = [each for each in orientations if each != model.orientation]
        return model if also is None else replace(model, also=cls._of(also, left))

    def write(self, path: str | os.PathLike[str], run: dict[str, object] | None = None) -> None:
        """Write the model as JSON, and what `run` says of how it was learned; "-" is standard output.

        Raises OutputError.
        """
        write_text(path, json.dumps({"insert": self.as_dict(), "run": run or {}}, indent=1) + "\n")

    def __str__(self) -> str:
        source = f"learned from {self.pairs:,} pairs" if self.pairs else "not learned"
        window = f"proper from {self.low} to {self.high}"
        also = "" if self.also is None else f"; also {self.also}"
        return f"{self.orientation}, {self.mean:.1f} +- {self.sd:.1f} bases, {window} ({source}){also}"


def _is_within(value: Any, least: float, most: float, *kinds: type) -> bool:
    return type(value) in kinds and least <= value <= most


def learned_insert(
    orientations: Sequence[str],
    samples: Sequence[tuple[np.ndarray, ...]],
    damage: tuple[float, ...] = (),
    elsewhere: float = 0.0,
) -> InsertModel:
    """What the reads of a library teach, by the orientation that most of them have; and by others that are clear.

    `samples`: of the same reads (`runs.libraries.PairSample`), by each of the `orientations`. The first one stands
    where all have too few.
    `damage`, `elsewhere`: as `ErrorRate` has them.
    """
    order = sorted(range(len(samples)), key=lambda i: -len(samples[i][0]))
    least = max(ENOUGH_PAIRS, CLEAR_SHARE * sum(len(sample[0]) for sample in samples))
    model = None
    for i in reversed([i for i in order if len(samples[i][0]) >= least] or [0]):
        templates, mismatched, aligned = samples[i]
        errors = ErrorRate.learned(mismatched, aligned, damage, elsewhere)
        enough = len(templates) >= ENOUGH_PAIRS
        one = (
            InsertModel.learned(orientations[i], templates.tolist())
            if enough
            else InsertModel.assumed(orientations[i])
        )
        model = replace(one, errors=errors, also=model)
    assert model is not None
    return model

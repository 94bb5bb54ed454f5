"""Members of a family in a file of sequences, as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import numpy as np

from gassst.errors import UsageError
from gassst.files.batches import Record, batches, named
from gassst.files.whole_file import whole_file
from gassst.hmm.profile import AMINO, Profile

BATCH_LETTERS = 1 << 24  # that are searched between two looks at the output
HEAD = "sequence\tlength\tstrand\te_value\tbits\tbegin\tend\tmodel_begin\tmodel_end\tcigar\n"
COMPLEMENT = bytes.maketrans(b"ACGTURYSWKMBDHVNacgturyswkmbdhvn", b"TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn")


def write_hits(
    profile: Profile,
    records: Iterable[Record],
    path: str | os.PathLike[str],
    e_value: float,
    threads: int,
    show: Callable[[int], object],
) -> tuple[int, int]:
    """Sequences with an E-value of at most `e_value`, the best first; returns how many there were, and lines.

    Of DNA both strands are searched, and count for the E-values. `show` is called with the sequences so far. Raises
    UsageError for an E-value of 0 or less, and what `Profile.search` raises.
    """
    if not e_value > 0:
        raise UsageError(f"the E-value must be above 0, not {e_value}")
    both = profile.alphabet != AMINO
    searched, found = 0, list[tuple[float, int, str]]()
    with whole_file(path) as file:
        for batch in batches(records, BATCH_LETTERS):
            texts = [text for _, text in batch]
            if both:
                texts += [text.translate(COMPLEMENT)[::-1] for text in texts]
            with named(batch * 2):
                numbers, bits = profile.passing(texts, threads=threads)
            searched += len(texts)
            good = profile.e_values(bits, searched) <= e_value  # a later total only makes them larger
            kept = numbers[good].tolist()
            aligned = profile.align([texts[k] for k in kept], threads=threads)
            for k, score, a in zip(kept, bits[good].tolist(), aligned, strict=True):
                name, length = batch[k % len(batch)][0], len(texts[k])
                begin, end = (a.begin, a.end) if k < len(batch) else (length - a.end, length - a.begin)
                place = f"{begin}\t{end}\t{a.model_begin}\t{a.model_end}\t{a.cigar}"
                found.append((-score, len(found), f"{name}\t{length}\t{'+-'[k >= len(batch)]}\0{place}\n"))
            show(searched // (1 + both))
        values = profile.e_values(-np.array([score for score, _, _ in found]), searched)
        lines = 0
        file.write(HEAD.encode())
        for at in sorted(range(len(found)), key=found.__getitem__):
            score, _, text = found[at]
            if values[at] <= e_value:
                name, place = text.split("\0")
                line = f"{name}\t{values[at]:.3g}\t{-score:.2f}\t{place}"
                file.write(line.encode("utf-8", "backslashreplace"))
                lines += 1
    return searched // (1 + both), lines

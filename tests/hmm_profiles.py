"""Profiles with random numbers, as files of HMMER 3."""

from __future__ import annotations

import numpy as np

from gassst.hmm import profile


def write_profile(path, alphabet, nodes, seed, means=(-8, -7, -4)):
    """A file of HMMER 3 with random probabilities: small ones for gaps, and a letter that each node prefers."""
    rng, letters = np.random.default_rng(seed), profile.ALPHABETS[alphabet]
    lines = ["HMMER3/f [made by a test]", "NAME  made", f"LENG  {nodes}", f"ALPH  {alphabet}"]
    lines += [
        f"STATS LOCAL MSV       {means[0]:.4f}  0.70000",
        f"STATS LOCAL VITERBI   {means[1]:.4f}  0.70000",
        f"STATS LOCAL FORWARD   {means[2]:.4f}  0.70000",
        f"HMM {' '.join(letters)}",
        "m->m m->i m->d i->m i->i d->m d->d",
    ]

    def row(numbers):
        return " ".join("*" if p == 0 else f"{-np.log(p):.5f}" for p in numbers)

    lines.append(f"COMPO {row(np.random.default_rng(seed + 1).dirichlet(np.full(len(letters), 1.0)))}")

    preferred = ""
    for k in range(nodes + 1):
        emission = rng.dirichlet(np.full(len(letters), 0.3))
        preferred += letters[int(emission.argmax())] if k else ""
        if k:
            lines.append(
                f"{k} {row(np.maximum(emission, 1e-4) / np.maximum(emission, 1e-4).sum())} {k} x - -"
            )
        lines.append(row(np.full(len(letters), 1 / len(letters))))
        match, insertion = rng.dirichlet([30, 1, 1]), rng.dirichlet([3, 1])
        deletion = rng.dirichlet([3, 1]) if 0 < k < nodes else [1, 0]
        if k == nodes:
            match = [match[0] + match[2], match[1], 0]
        lines.append(row([*match, *insertion, *deletion]))
    path.write_text("\n".join([*lines, "//", ""]))
    return preferred

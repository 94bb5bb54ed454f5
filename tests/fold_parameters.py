"""Parameter files of random energies, and folding by trying all structures: they share no code with the package."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

PAIRS = ["CG", "GC", "GU", "UG", "AU", "UA"]
BASES = "ACGU"
SECTIONS = {
    "stack": (7, 7), "mismatch_hairpin": (7, 5, 5), "mismatch_interior": (7, 5, 5), "mismatch_interior_1n": (7, 5, 5),
    "mismatch_interior_23": (7, 5, 5), "mismatch_multi": (7, 5, 5), "mismatch_exterior": (7, 5, 5), "dangle5": (7, 5),
    "dangle3": (7, 5), "int11": (7, 7, 5, 5), "int21": (7, 7, 5, 5, 5), "int22": (6, 6, 4, 4, 4, 4),
}  # fmt: skip


def random_parameters(path, seed: int):
    """Writes an RNAfold parameter file 2.0 with energies that nature does not have, and returns its tables."""
    rng = random.Random(seed)
    tables = {}
    for section, shape in SECTIONS.items():
        low, high = (-400, 100) if section == "stack" else (-200, 200)
        if section in ("mismatch_multi", "mismatch_exterior", "dangle5", "dangle3"):
            low, high = -120, 0
        table = tables[section] = {
            index: rng.randrange(low, high + 1) for index in product(*map(range, shape))
        }
        if section in ("stack", "int11", "int22"):  # the same from whichever side a loop is seen
            for a, b, *bases in table:
                half = len(bases) // 2
                table[b, a, *bases[half:], *bases[:half]] = table[a, b, *bases]
    for section, least in (("hairpin", 3), ("bulge", 1), ("interior", 2)):
        tables[section] = ["INF"] * least + [rng.randrange(50, 400) for _ in range(31 - least)]
    tables["ML_params"] = [rng.randrange(-9, 10), 0, rng.randrange(-300, 200), 0, rng.randrange(-90, 50), 0]
    tables["NINIO"] = [rng.randrange(10, 70), 0, 150]
    tables["Misc"] = [0, 0, rng.randrange(0, 90), 0]
    for section, size in (("Triloops", 5), ("Tetraloops", 6), ("Hexaloops", 8)):
        loops = ("C" + "".join(rng.choices(BASES, k=size - 2)) + "G" for _ in range(40))
        tables[section] = {loop: rng.randrange(-400, 300) for loop in loops}
    lines = ["## RNAfold parameter file v2.0", "", "# stack_enthalpies", "0"]
    for section, table in tables.items():
        words = (
            [f"{loop} {energy} 0" for loop, energy in table.items()]
            if section[-5:] == "loops"
            else (table.values() if isinstance(table, dict) else table)
        )
        lines += [f"# {section}", *map(str, words)]
    path.write_text("\n".join([*lines, "# END", ""]))
    return tables


def structures(n, can_pair):
    """All structures of n bases, as sets of pairs."""

    @cache
    def within(i, j):
        if j - i < 4:
            return [()]
        found = list(within(i + 1, j))
        for k in range(i + 4, j + 1):
            if can_pair(i, k):
                found += [((i, k), *a, *b) for a in within(i + 1, k - 1) for b in within(k + 1, j)]
        return found

    return within(0, n - 1)


def energy_of(sequence, pairs, tables):
    """The energy of a structure in .01 kcal/mol, dangles on both sides; None where it has a loop that is too long."""
    partner = dict(pairs)
    base = [BASES.index(c) + 1 for c in sequence]
    n, terminal = len(sequence), tables["Misc"][2]
    ninio, _, most = tables["NINIO"]
    unpaired, closing, branch = tables["ML_params"][::2]

    def kind(i, j):
        return PAIRS.index(sequence[i] + sequence[j])

    def end(i, j):
        return terminal * (kind(i, j) > 1)

    def stem(section, i, j):
        """What a stem costs that sticks out of a loop, with its neighbouring bases."""
        five, three = ([base[i - 1]] if i else []), ([base[j + 1]] if j + 1 < n else [])
        section = section if five and three else "dangle5" if five else "dangle3"
        return end(i, j) + (tables[section][kind(i, j), *five, *three] if five or three else 0)

    def children(i, j):
        found, k = [], i
        while k <= j:
            if k in partner:
                found.append((k, partner[k]))
                k = partner[k]
            k += 1
        return found

    total = sum(stem("mismatch_exterior", *child) for child in children(0, n - 1))
    for i, j in pairs:
        inner, size = children(i + 1, j - 1), j - i - 1
        if not inner:
            loops = {3: "Triloops", 4: "Tetraloops", 6: "Hexaloops"}
            special = tables[loops[size]].get(sequence[i : j + 1]) if size in loops else None
            if special is None:
                mismatch = tables["mismatch_hairpin"][kind(i, j), base[i + 1], base[j - 1]]
                special = tables["hairpin"][size] + (end(i, j) if size == 3 else mismatch)
            total += special
        elif len(inner) == 1:
            ((k, l),) = inner  # noqa: E741
            a, b, x, y = kind(i, j), kind(l, k), k - i - 1, j - l - 1
            small, large = sorted((x, y))
            if x + y > 30:
                return None
            if large == 0:
                total += tables["stack"][a, b]
            elif small == 0:
                total += tables["bulge"][large] + (
                    tables["stack"][a, b] if large == 1 else end(i, j) + end(k, l)
                )
            elif large == 1:
                total += tables["int11"][a, b, base[i + 1], base[j - 1]]
            elif (x, y) == (1, 2):
                total += tables["int21"][a, b, base[i + 1], base[l + 1], base[j - 1]]
            elif (x, y) == (2, 1):
                total += tables["int21"][b, a, base[l + 1], base[i + 1], base[k - 1]]
            elif large == 2:
                total += tables["int22"][
                    a, b, base[i + 1] - 1, base[k - 1] - 1, base[l + 1] - 1, base[j - 1] - 1
                ]
            else:
                section = "mismatch_interior" + (
                    "_1n" if small == 1 else "_23" if (small, large) == (2, 3) else ""
                )
                total += tables["interior"][x + y] + min(most, ninio * (large - small))
                total += (
                    tables[section][a, base[i + 1], base[j - 1]]
                    + tables[section][b, base[l + 1], base[k - 1]]
                )
        else:
            total += (
                closing + branch + end(i, j) + tables["mismatch_multi"][kind(j, i), base[j - 1], base[i + 1]]
            )
            total += sum(branch + stem("mismatch_multi", *child) for child in inner)
            total += unpaired * (size - sum(l - k + 1 for k, l in inner))  # noqa: E741
    return total


def pairs_of(structure):
    stack, pairs = [], []
    for j, mark in enumerate(structure):
        if mark == "(":
            stack.append(j)
        elif mark == ")":
            pairs.append((stack.pop(), j))
    return tuple(sorted(pairs))

"""Which pairs share a vector: those of like lengths, so that few lanes wait (size classes: CLSW 5.1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gassst.align.scoring import Costs

I64 = NDArray[np.int64]
SHARED_SHARE = 3  # lanes that share their query cost at most a third of those that look up their own scores
SPARSE_SHARE = 0.3  # of a vector's cells that are of use: below it a pair at a time takes less
CLASS_BITS = 3  # queries whose lengths agree in these leading bits are of one size class

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Groups:
    """Vectors of pairs, for `gassst._core.pairwise.Job.run`.

    Lanes `start[g]` to `start[g + 1]` of the first arrays are those of group g. Either each lane has its
    own `query`, or all are aligned with the queries `first[g]` to `last[g]`.
    """

    start: I64
    """int64[g + 1]."""
    target: I64
    """int64[lanes]."""
    slot: I64
    """int64[lanes], where in a row of the output a score goes."""
    base: NDArray[np.int32]
    """int32[g], what a lane holds for score 0."""
    query: I64 = field(default_factory=lambda: _NONE)
    """int64[lanes], or empty."""
    first: I64 = field(default_factory=lambda: _NONE)
    last: I64 = field(default_factory=lambda: _NONE)
    """int64[g], or empty."""
    origin: int = 0
    """The query of the first row of the output."""
    stride: int = 0
    """int32 between the rows of the output."""
    cells: float = 0
    """Work: letters x letters, padding included."""


def pair_groups(
    costs: Costs, width: int, lanes: int, pairs: tuple[I64, I64, I64, I64, I64]
) -> tuple[list[Groups], I64]:
    """Given pairs, in vectors of `lanes`: `pairs` are slot, query, query length, target, target length of each.

    Also int64[k], the numbers of those that would leave a vector mostly empty: better all lanes work on one of them.
    """
    slot, query, m, target, n = pairs
    shared, own = _divided(query, n, lanes, costs.profiles)
    if len(own):
        exponent = np.frexp(m[own].astype(float))[1].astype(np.int64)
        size_class = (exponent << CLASS_BITS) + (m[own] >> np.maximum(0, exponent - CLASS_BITS))
        own = own[np.lexsort((n[own], size_class))]
    found, alone = [], [_NONE]
    for parts in (shared, [own[i : i + lanes] for i in range(0, len(own), lanes)]):
        if not parts:
            continue
        start = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=start[1:])
        lane = np.concatenate(parts)
        rows, columns = (np.maximum.reduceat(length[lane], start[:-1]) for length in (m, n))
        work = np.add.reduceat(m[lane].astype(float) * n[lane], start[:-1])
        is_sparse = work < SPARSE_SHARE * rows * columns * lanes
        if is_sparse.any():
            alone.append(lane[np.repeat(is_sparse, np.diff(start))])
            kept, full = [part for part, no in zip(parts, is_sparse, strict=True) if not no], ~is_sparse
            if not kept:
                continue
            lane, rows, columns = np.concatenate(kept), rows[full], columns[full]
            start = np.zeros(len(kept) + 1, np.int64)
            np.cumsum([len(part) for part in kept], out=start[1:])
        base = costs.bases(width, np.minimum.reduceat(costs.lowest(m[lane], n[lane]), start[:-1]))
        cells = float((rows.astype(float) * columns).sum() * lanes)
        if parts is shared:
            first = query[lane[start[:-1]]]
            found.append(
                Groups(start, target[lane], slot[lane], base, first=first, last=first + 1, cells=cells)
            )
        else:
            found.append(Groups(start, target[lane], slot[lane], base, query=query[lane], cells=cells))
    return found, np.concatenate(alone)


def _divided(query: I64, n: I64, lanes: int, profiles: bool) -> tuple[list[I64], I64]:
    """Vectors of pairs of one query, by length of target; and the pairs that would leave their vector mostly empty.

    No lane has a profile of its own: these share theirs, however few they are.
    """
    order = np.lexsort((n, query))
    start = np.flatnonzero(np.r_[True, query[order[1:]] != query[order[:-1]]])
    count = np.diff(np.r_[start, len(order)])
    rest = count % lanes
    alone = np.where(profiles | (rest * SHARED_SHARE >= lanes), 0, rest)
    own = np.arange(len(order)) >= np.repeat(start + count - alone, count)
    many = np.flatnonzero(count > alone)
    shared = [
        order[i : min(i + lanes, end)]
        for first, end in zip(start[many].tolist(), (start + count - alone)[many].tolist(), strict=True)
        for i in range(first, end, lanes)
    ]
    return shared, order[own]


def parts_of(groups: Groups, cells: float) -> list[Groups]:
    """The same groups, in several runs of about `cells` each."""
    count = min(len(groups.base), max(1, round(groups.cells / cells)))
    if count <= 1:
        return [groups]
    found = []
    for part in np.array_split(np.arange(len(groups.base)), count):
        first, last = int(part[0]), int(part[-1]) + 1
        lanes = slice(int(groups.start[first]), int(groups.start[last]))
        found.append(
            replace(
                groups,
                start=groups.start[first : last + 1] - groups.start[first],
                target=groups.target[lanes],
                slot=groups.slot[lanes],
                base=groups.base[first:last],
                query=groups.query[lanes] if len(groups.query) else _NONE,
                first=groups.first[first:last] if len(groups.first) else _NONE,
                last=groups.last[first:last] if len(groups.last) else _NONE,
                cells=groups.cells * len(part) / len(groups.base),
            )
        )
    return found

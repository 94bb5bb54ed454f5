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
    """Vectors of pairs, for `gassst._core.pairwise.Comparison.run`.

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
    own_lanes = own
    if len(own):
        exponent = np.frexp(m[own].astype(float))[1].astype(np.int64)
        size_class = (exponent << CLASS_BITS) + (m[own] >> np.maximum(0, exponent - CLASS_BITS))
        own_lanes = own[_order(size_class, n[own])]
    own_start = np.append(np.arange(0, len(own), lanes), len(own))
    found, alone = [], [_NONE]
    for is_shared, lane, start in ((True, *shared), (False, own_lanes, own_start)):
        if not len(lane):
            continue
        rows, columns = (np.maximum.reduceat(length[lane], start[:-1]) for length in (m, n))
        work = np.add.reduceat(m[lane].astype(float) * n[lane], start[:-1])
        is_sparse = work < SPARSE_SHARE * rows * columns * lanes
        if is_sparse.any():
            count = np.diff(start)
            lane_is_sparse = np.repeat(is_sparse, count)
            alone.append(lane[lane_is_sparse])
            if is_sparse.all():
                continue
            lane, rows, columns = lane[~lane_is_sparse], rows[~is_sparse], columns[~is_sparse]
            start = np.append(0, np.cumsum(count[~is_sparse]))
        base = costs.bases(width, np.minimum.reduceat(costs.lowest(m[lane], n[lane]), start[:-1]))
        cells = float((rows.astype(float) * columns).sum() * lanes)
        if is_shared:
            first = query[lane[start[:-1]]]
            found.append(
                Groups(start, target[lane], slot[lane], base, first=first, last=first + 1, cells=cells)
            )
        else:
            found.append(Groups(start, target[lane], slot[lane], base, query=query[lane], cells=cells))
    return found, np.concatenate(alone)


def _divided(query: I64, n: I64, lanes: int, profiles: bool) -> tuple[tuple[I64, I64], I64]:
    """Vectors of pairs of one query, by length of target; and the pairs that would leave their vector mostly empty.

    Of the vectors: the pairs, and where each vector begins among them, with the number of pairs at the end. No lane has
    a profile of its own: these share theirs, however few they are.
    """
    order = _order(query, n)
    edge = np.flatnonzero(np.diff(query[order])) + 1
    count = np.diff(edge, prepend=0, append=len(order))
    rest = count % lanes
    alone = np.where(profiles | (rest * SHARED_SHARE >= lanes), 0, rest)
    kept = count - alone
    if not kept.any():
        return (_NONE, _NONE), order
    is_shared = np.repeat(np.tile([True, False], len(count)), np.stack([kept, alone], axis=1).reshape(-1))
    vectors = -(-kept // lanes)
    within = np.arange(vectors.sum()) - np.repeat(np.cumsum(vectors) - vectors, vectors)
    start = np.append(np.repeat(np.cumsum(kept) - kept, vectors) + lanes * within, kept.sum())
    return (order[is_shared], start), order[~is_shared]


def _order(first: I64, second: I64) -> I64:
    """As np.lexsort((second, first)), of numbers that are not negative; at once where they are in order."""
    key = first * (int(second.max()) + 1) + second
    return np.arange(len(key)) if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")


def split_groups(groups: Groups, cells: float) -> list[Groups]:
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

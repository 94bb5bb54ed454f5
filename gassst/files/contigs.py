"""The contigs of a reference or of a SAM header, as its lines @SQ: millions take no object each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gassst._core import contig_lines as _lines

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Contigs:
    """Names and lengths of contigs, and what else their lines @SQ say.

    Parameters
    ----------
    text : bytes or uint8[n]
        The lines, each with its end.

    Attributes
    ----------
    text : uint8[n]
    names : Names
    lengths : int64[c]
        In bases.

    Raises
    ------
    ValueError
        For a line that SAM does not allow.
    """

    def __init__(self, text: bytes | NDArray[np.uint8]):
        self.text = np.frombuffer(text, np.uint8)
        starts, widths, self.lengths = _lines.parsed(self.text)
        self.names = Names(self.text, starts, widths)

    @classmethod
    def of(cls, names: Iterable[str], lengths: Iterable[int], md5s: Iterable[str] | None = None) -> Contigs:
        """Makes them of names, lengths, and the hex MD5 of each upper-case sequence."""
        rows = zip(names, lengths, md5s or repeat(""), strict=md5s is not None)
        lines = [
            f"@SQ\tSN:{name}\tLN:{length}" + (f"\tM5:{md5}\n" if md5 else "\n") for name, length, md5 in rows
        ]
        return cls("".join(lines).encode())

    def __len__(self) -> int:
        return len(self.lengths)

    def __reduce__(self) -> tuple[Any, ...]:
        return Contigs, (self.text.tobytes(),)

    def lines(self) -> list[str]:
        """Without their ends."""
        return self.text.tobytes().decode().splitlines()

    def with_field(self, contigs: NDArray[np.bool_], field: str) -> Contigs:
        """The same, with a further field of those that are True in `contigs`, bool[c]."""
        ends = (f"\t{field}\n" if has else "\n" for has in contigs.tolist())
        return Contigs("".join(line + end for line, end in zip(self.lines(), ends, strict=True)).encode())

    @cached_property
    def digest(self) -> str:
        """Hex MD5 of the text."""
        import hashlib  # 3 ms that few runs need

        return hashlib.md5(self.text.data, usedforsecurity=False).hexdigest()

    @property
    def bam_table(self) -> bytes:
        """As the header of BAM has them, behind its text."""
        return _lines.bam_table(self.text, self.names.starts, self.names.widths, self.lengths)


class Names(Sequence[str]):
    """Names of contigs, each decoded when it is asked for; equal to a list of the same names.

    Attributes
    ----------
    starts : int64[c]
        Where they begin in the text of the contigs.
    widths : uint32[c]
        Their bytes.
    """

    def __init__(self, text: NDArray[np.uint8], starts: NDArray[np.int64], widths: NDArray[np.uint32]):
        self._text, self.starts, self.widths = text, starts, widths

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[each] for each in range(*i.indices(len(self)))]
        start = int(self.starts[i])
        return self._text[start : start + int(self.widths[i])].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        text = self._text.data
        for start, width in zip(self.starts.tolist(), self.widths.tolist(), strict=True):
            yield str(text[start : start + width], "utf-8")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @cached_property
    def _ordinals(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}

    def __contains__(self, name: object) -> bool:
        return name in self._ordinals

    def index(self, name: str, *_: int) -> int:
        """The ordinal of the contig of this name. Raises ValueError."""
        if name not in self:
            raise ValueError(f"no contig {name!r}")
        return self._ordinals[name]

"""Which reads of the input are mapped, and which of their bases."""

from __future__ import annotations

from gassst.frozen import frozen
from gassst.model.options import at_least, described, option, verify


@described
@frozen()
class Selection:
    """A range of the input, and what is cut off each read of it. All lanes together are counted.

    Attributes
    ----------
    """

    skip: int = option(0, "--skip N", "Leave out the first N reads or pairs of the input.", at_least(0))
    upto: int | None = option(
        None, "--upto N", "Stop after N reads or pairs (default: map all that follow --skip).", at_least(1)
    )
    trim_5: int = option(0, "--trim5 BASES", "Cut so many bases off the 5' end of each read.", at_least(0))
    trim_3: int = option(0, "--trim3 BASES", "Cut so many bases off the 3' end of each read.", at_least(0))

    @property
    def is_range(self) -> bool:
        """Whether some reads are left out."""
        return self.skip > 0 or self.upto is not None

    def verify(self) -> Selection:
        """Return self. Raises ParameterError for a negative number."""
        verify(self)
        return self


ALL = Selection()

"""What of a read's header becomes tags of its records, besides the name."""

from __future__ import annotations

from dataclasses import dataclass

from gassst.errors import ParameterError


@dataclass(frozen=True)
class TagSources:
    """Where tags come from. Those that gassst writes itself, such as NM, are never taken over.

    Attributes
    ----------
    comments : bool
        Fields of the comment, separated by tabs, are SAM tags (option -C). A Casava comment is passed over.
    casava_barcode : bool
        The barcode of a Casava comment, "1:N:0:ACGT", becomes BC.
    umi_separator : str
        What follows the last such character in the name becomes RX; "": nothing does.
    lenient : bool
        A word that is not a tag is left out and counted; it is an error else.
    read_groups : bool
        RG of a comment is taken over: the run has no read groups of its own.
    """

    comments: bool = False
    casava_barcode: bool = False
    umi_separator: str = ""
    lenient: bool = False
    read_groups: bool = True

    @property
    def any(self) -> bool:
        """Whether reads may have tags at all."""
        return self.comments or self.casava_barcode or bool(self.umi_separator)

    def verify(self) -> TagSources:
        """Return self. Raises ParameterError for a separator that cannot be one."""
        separator = self.umi_separator
        if separator and not (len(separator) == 1 and "!" <= separator <= "~" and not separator.isalnum()):
            raise ParameterError(
                "umi_separator", f"{separator!r}: one character such as : or _ separates the UMI"
            )
        return self


NO_TAGS = TagSources()

"""What of a read's header becomes tags of its records, besides the name."""

from __future__ import annotations

from gassst.frozen import frozen
from gassst.model.options import Values, described, option, verify


def _is_separator(text: str) -> bool:
    return not text or (len(text) == 1 and "!" <= text <= "~" and not text.isalnum())


@described
@frozen()
class TagSources:
    """Where tags come from. A tag that gassst writes itself, such as NM, is never taken over.

    Attributes
    ----------
    read_groups : bool
        RG of a comment is taken over: the run has no read groups of its own.
    methylation : bool
        So are the tags of methylation: the run writes none.
    """

    comments: bool = option(
        False,
        "-C, --comments",
        "Copy the SAM tags in the comments of FASTQ, separated by tabs, to the records.",
    )
    casava_barcode: bool = option(
        False, "--casava-barcode", "Put the barcode of a Casava comment (1:N:0:ACGT) into the tag BC."
    )
    umi_separator: str = option(
        "",
        "--umi-from-name SEP",
        "Put what follows the last SEP in a read name into the tag RX.",
        Values(_is_separator, "must be one character such as : or _ that separates the UMI"),
    )
    lenient: bool = option(
        False,
        "--lenient",
        "Skip and count fields of comments and names that are not valid tags. By default they are an error.",
    )
    read_groups: bool = True
    methylation: bool = True

    @property
    def any(self) -> bool:
        """Whether reads may have tags at all."""
        return self.comments or self.casava_barcode or bool(self.umi_separator)

    def verify(self) -> TagSources:
        """Return self. Raises ParameterError for a separator that cannot be one."""
        verify(self)
        return self


NO_TAGS = TagSources()

"""What can be said of the records and of the files that hold them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from gassst.errors import ParameterError
from gassst.frozen import TypedDict, field, fields, frozen
from gassst.model.options import MACHINE, Values, between, described, one_of, option, verify
from gassst.model.params import EVERY_HIT, METH_TAGS

if TYPE_CHECKING:
    from gassst.records.unmapped import Unmapped

MORE_TAGS = ("X0", "X1", "NH", "HI", "mt")
RECORD_FORMATS = ("sam", "bam", "cram", "paf")
WITHIN = ("library", "read-group", "file")
OPTICAL_DISTANCE = 100  # Picard's default
SORT_MEMORY = 2 << 30


def _is_tag(text: str) -> bool:
    return not text or (len(text) == 2 and text.isascii() and text[0].isalpha() and text.isalnum())


@described
@frozen()
class DuplicateRules:
    """Which templates can be duplicates, and what is reported of them.

    Attributes
    ----------
    """

    within: Literal["library", "read-group", "file"] = option(
        "library",
        "--markdup-within",
        "Compare reads within each library (LB of the read group), within each read group, or across the file "
        "(default: library).",
        values=one_of(*WITHIN),
    )
    barcode_tag: str = option(
        "",
        "--barcode-tag TAG",
        "Compare only reads whose values of this tag, such as RX, are equal.",
        Values(_is_tag, "must be a letter, and a letter or digit"),
    )
    optical_distance: int = option(
        OPTICAL_DISTANCE,
        "--optical-distance PIXELS",
        "Treat duplicates within this distance on the flow cell as optical; 0 disables this "
        "(default: {default}; 2500 suits patterned flow cells).",
        between(0, 2**31 - 1),
    )
    tagged: bool = option(
        False, "--duplicate-type", "Tag duplicates with dt:Z:LB, optical ones with dt:Z:SQ."
    )
    metrics_path: str | os.PathLike[str] | None = option(
        None,
        "--markdup-metrics FILE.txt",
        "Write counts of duplicates and the size of the library to this file, in Picard's format.",
    )

    def verify(self) -> DuplicateRules:
        """Return self. Raises ParameterError for values that make no sense."""
        verify(self)
        return self

    def __str__(self) -> str:
        """What the header says of it."""
        barcodes = f", by the barcodes in {self.barcode_tag}" if self.barcode_tag else ""
        return f"duplicates marked within each {self.within.replace('-', ' ')}{barcodes}"

    @property
    def need_spots(self) -> bool:
        """Tags and metrics alone report optical duplicates."""
        return self.optical_distance > 0 and (self.tagged or self.metrics_path is not None)

    @property
    def distance(self) -> int:
        """As the compiled passes take it."""
        return self.optical_distance if self.need_spots else -1


@described
@frozen()
class OutputFile:
    """The file that records go to.

    Without a `format` the extension of its path tells it, and streams that tell none get SAM. Runs of records beyond
    `sort_memory` are kept in files beside the output. Sorted SAM and CRAM are made from sorted BAM.

    Attributes
    ----------
    duplicates : DuplicateRules or None
        Duplicates are marked by these rules; only where `sort` is set.
    threads : int
        For the compression of CRAM and for sorting; SAM and BAM are made by whoever calls `encode`.
    """

    format: Literal["sam", "bam", "cram", "paf"] | None = option(
        None,
        "-O, --format",
        "Write this format, regardless of the suffix of -o.",
        values=one_of(*RECORD_FORMATS),
    )
    level: int | None = option(
        None,
        "--level 0..9",
        "Compress BAM or CRAM at this level: 1 is fast, 9 is small (default: 1; for CRAM that of htslib).",
        between(0, 9),
    )
    format_options: tuple[str, ...] = option(
        (),
        "--output-fmt-option NAME=VALUE",
        "Set an option of CRAM, as in samtools: version=3.1, no_ref=1, embed_ref=1, store_nm=1, store_md=1, "
        "seqs_per_slice=N, or one of fast, normal, small and archive. CRAM refers to the sequence in the "
        "index.",
    )
    sort: bool = option(False, "--sort", "Sort by coordinate, and index a BAM or CRAM file.")
    sort_memory: int = option(
        SORT_MEMORY,
        "--sort-memory SIZE",
        "Keep at most this much of the records in memory while sorting, and the rest on disk (default: 2G).",
        group=MACHINE,
    )
    duplicates: DuplicateRules | None = None
    threads: int = field(default=1, metadata={"group": MACHINE})

    def verify(self) -> OutputFile:
        """Return self. Raises ParameterError for a value out of its range, and duplicates without sorting."""
        verify(self)
        if self.duplicates is not None:
            if not self.sort:
                raise ParameterError("duplicates", "are marked during sorting: markdup needs sort=True")
            self.duplicates.verify()
        return self


@frozen()
class RecordStyle:
    """What records look like, where users have a choice.

    Attributes
    ----------
    more_tags : tuple of str
        Those of `MORE_TAGS` that are added. X0 and X1 are places in the best and in the second stratum. NH is the
        number of places of a part of the read: X0 or the reported ones, whichever is more. HI says which of the
        reported ones the record is. mt has the terms of MAPQ.
    meth_tags : str
        Whose tags converted reads have. "bwa-meth": YC, what was converted in the read (CT or GA), and YD, its strand
        (f or r). NM leaves conversions out. "bismark": XM, XR and XG; NM counts all that differs.
    baq : bool
        Mapped records with bases and qualities have tag BQ, the base alignment quality of Li 2011, as
        `samtools calmd -r -E` computes it.
    cs : bool
        Mapped records have tag cs, in its short form.
    eqx : bool
        CIGARs with = and X for M. CRAM does not keep these, so it never has them, nor do its tags.
    xa : bool
        The other hits of a read are in tag XA of the first, `chr,+pos,CIGAR,NM;` each (CIGAR always with M), and have
        no records of their own.
    most_xa : int
        A read with more other hits than these has no XA (bwa's -h).
    xs_always : bool
        XS is 0 where there is no second position, as bwa mem has it.
    soft_clip_supplementary : bool
        Supplementary records, and secondary ones with `secondary_seq`, keep S and all of SEQ and QUAL; else they have H
        (bwa's -Y).
    mark_secondary : bool
        Supplementary records have flag 0x100 instead of 0x800 (bwa's -M).
    secondary_seq : bool
        Secondary records have bases and qualities, with clips like those of supplementary ones (minimap2's option).
    read_groups : tuple of str
        IDs for tag RG; a batch says which is that of its reads.
    meth : str or None
        The library of converted reads, as `MapParams.meth`; None: none is converted.
    """

    more_tags: tuple[Literal["X0", "X1", "NH", "HI", "mt"], ...] = option(
        (),
        "--tags T1,T2,..",
        "Add these tags: NH (number of hits), HI (index of this hit), X0 and X1 (number of positions with the "
        "fewest errors, and with the next higher number), mt (the terms of MAPQ).",
        Values(lambda tags: set(tags) <= set(MORE_TAGS), f"must be among {', '.join(MORE_TAGS)}"),
    )
    meth_tags: Literal["bwa-meth", "bismark"] = option(
        "bwa-meth",
        "--meth-tags",
        "Write the tags of bwa-meth, YC and YD, or those of Bismark, XM, XR and XG, with --meth "
        "(default: bwa-meth).",
        values=one_of(*METH_TAGS),
    )
    baq: bool = option(
        False,
        "--baq",
        "Add tag BQ: base alignment quality, as samtools calmd -r -E computes it, for callers that use it.",
    )
    cs: bool = option(
        False,
        "--cs",
        "Add tag cs: the differences to the reference, as minimap2 --cs writes them (short form).",
    )
    eqx: bool = option(
        False, "--eqx", "Write = and X instead of M in CIGARs. CRAM keeps M alone: it has no effect there."
    )
    xa: bool = option(
        False,
        "--xa",
        "Put further alignments into one XA tag instead of secondary records; without -k up to 5, and none if a "
        "read has more, as bwa mem does.",
    )
    soft_clip_supplementary: bool = option(
        False,
        "-Y, --soft-clip-supplementary",
        "Keep all bases in supplementary records: soft clips instead of hard clips.",
    )
    mark_secondary: bool = option(
        False,
        "-M, --mark-secondary",
        "Flag supplementary records as secondary, for tools that do not support supplementary records.",
    )
    secondary_seq: bool = option(
        False,
        "--secondary-seq",
        "Write bases and qualities in secondary records, with hard clips or, with -Y, soft ones.",
    )
    most_xa: int = EVERY_HIT
    xs_always: bool = False
    read_groups: tuple[str, ...] = ()
    meth: Literal["directional", "non-directional", "pbat"] | None = None


@described
@frozen()
class OutputOptions(RecordStyle, OutputFile):
    """How `AlignmentWriter` writes: these fields, those of `OutputFile` and those of `RecordStyle`.

    Read groups are those of the header. Files of unmapped reads are compressed as their names end: ".gz", ".bz2",
    ".xz" or ".zst".

    Attributes
    ----------
    """

    no_unmapped: bool = option(
        False,
        "--no-unmapped",
        "Omit unmapped reads. A pair is omitted only if both mates are unmapped.",
    )
    unique: bool = option(
        False,
        "--unique",
        "Omit reads without a single best position: unmapped ones, and those that fit several equally well (MAPQ 0). A "
        "pair is omitted only if both mates are such.",
    )
    unmapped_path: str | os.PathLike[str] | None = option(
        None,
        "--unmapped FILE.fq.gz",
        "Also write the unmapped reads to this FASTQ file, with /1 or /2 after the names of mates.",
    )
    unmapped_mates_path: str | os.PathLike[str] | None = option(
        None,
        "--unmapped2 FILE.fq.gz",
        "Write pairs with two unmapped mates to two files: second mates to this file, first mates to the file "
        "of --unmapped.",
    )
    unmapped_either: bool = option(
        False, "--unmapped-either", "With --unmapped2: also write pairs with one unmapped mate."
    )
    coverage_path: str | os.PathLike[str] | None = option(
        None,
        "--coverage FILE.tsv",
        "Write a table of the contigs: reads with one position (unique) and with several (shared), mean depth, "
        "covered bases, and reads by length (tpm).",
    )

    @property
    def facts(self) -> tuple[object, ...]:
        """What of these options the records of a shard depend on, and their order."""
        style = tuple(getattr(self, each.name) for each in fields(RecordStyle))
        return (*style, self.sort, self.no_unmapped, self.unique)

    @property
    def least_mapq(self) -> int:
        """Of reads with records: 0 of any that is mapped, -1 of all."""
        return 1 if self.unique else 0 if self.no_unmapped else -1

    @property
    def unmapped(self) -> Unmapped:
        """Raises UsageError for a senseless choice."""
        from gassst.records.unmapped import Unmapped

        return Unmapped(self.unmapped_path, self.unmapped_mates_path, self.unmapped_either).verify()


class OutputChoices(TypedDict, total=False):
    """The fields of `OutputOptions` except `threads` and `meth`, as arguments of `Mapper.map_file`."""

    format: Literal["sam", "bam", "cram", "paf"] | None
    level: int | None
    format_options: tuple[str, ...]
    sort: bool
    sort_memory: int
    duplicates: DuplicateRules | None
    more_tags: tuple[Literal["X0", "X1", "NH", "HI", "mt"], ...]
    meth_tags: Literal["bwa-meth", "bismark"]
    baq: bool
    cs: bool
    eqx: bool
    xa: bool
    most_xa: int
    xs_always: bool
    soft_clip_supplementary: bool
    mark_secondary: bool
    secondary_seq: bool
    no_unmapped: bool
    unique: bool
    unmapped_path: str | os.PathLike[str] | None
    unmapped_mates_path: str | os.PathLike[str] | None
    unmapped_either: bool
    coverage_path: str | os.PathLike[str] | None

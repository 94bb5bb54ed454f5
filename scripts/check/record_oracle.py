"""What must hold for the records of any run, computed from the reads and the reference alone.

`faults_of_file` reads SAM, BAM or CRAM by pysam and yields a line for each rule that is broken. No code of the package
is used. scripts/check/fuzz_options.py judges the output of random command lines by it.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pysam

COMPLEMENT = str.maketrans("ACGTMRWSYKVHDBN", "TGCAKYWSRMBDHVN")
ASKED = {
    "comments": "XX", "casava_barcode": "BC", "umi_separator": "RX", "read_group": "RG", "rg_from_name": "RG",
}  # fmt: skip
"""The tag that an option asks for."""
NOT_PRIMARY, SUPPLEMENTARY, DUPLICATE = 0x900, 0x800, 0x400
Key = tuple[str, int]  # name, and 1 or 2 for a mate, 0 for a single read
Read = tuple[str, "str | None"]  # bases in upper case, qualities as in FASTQ


@dataclass(frozen=True)
class Run:
    """What a run was given: the contigs, the reads in order, and its options by the names of their arguments."""

    genome: Mapping[str, str]
    reads: Mapping[Key, Read]
    given: Mapping[str, str]
    form: str  # of the output: sam, bam or cram

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)

    @property
    def costs(self) -> tuple[int, int, list[int], list[int]]:
        """Match, mismatch, and opening and extending a gap: a deletion, an insertion."""
        numbers = [
            list(map(int, self.given.get(name, str(default)).split(",")))
            for name, default in {"match": 1, "mismatch": 4, "gap_open": 6, "gap_extend": 1}.items()
        ]
        return numbers[0][0], numbers[1][0], numbers[2] * 2, numbers[3] * 2

    def is_reverse(self, key: Key) -> bool:
        """On which strand --strand looks for a read."""
        return (self.given["strand"] == "-") ^ (key[1] == 2 and self.given.get("orientation") != "--ff")

    @property
    def is_meth(self) -> bool:
        return self.has("is_meth", "meth")

    @property
    def is_trimmed(self) -> bool:
        return self.has("adapter") or self.given.get("preset") == "small-rna"


def selected(reads: Mapping[Key, Read], given: Mapping[str, str]) -> dict[Key, Read]:
    """The reads that --skip and --upto leave, without the ends that --trim5 and --trim3 cut."""
    skip, upto = int(given.get("skip", 0)), int(given.get("upto", len(reads)))
    names = list(dict.fromkeys(name for name, _ in reads))
    wanted = set(names[skip : skip + upto])
    five, three = (int(given.get(name, 0)) for name in ("trim_5", "trim_3"))

    def cut(text: str | None) -> str | None:
        return text and text[five : max(five, len(text) - three)]

    return {key: (cut(bases) or "", cut(quals)) for key, (bases, quals) in reads.items() if key[0] in wanted}


def reverse_complement(bases: str) -> str:
    return bases.translate(COMPLEMENT)[::-1]


def key_of(record: pysam.AlignedSegment) -> Key:
    return record.query_name or "", record.flag >> 6 & 3


def faults_of_file(path: Path, run: Run, fasta: Path) -> Iterator[str]:
    """Every rule that the file breaks, with the name of a read."""
    try:
        pysam.quickcheck(str(path))
        with pysam.AlignmentFile(str(path), check_sq=False, reference_filename=str(fasta)) as file:
            records, order = list(file), file.header.to_dict().get("HD", {}).get("SO")
    except (OSError, ValueError, pysam.SamtoolsError) as error:
        yield f"the file cannot be read: {error}"
        return
    primary: dict[Key, pysam.AlignedSegment] = {}
    others: dict[Key, list[pysam.AlignedSegment]] = defaultdict(list)
    for record in records:
        if key_of(record) not in run.reads:
            yield f"{record.query_name}: a record of no read"
            return
        if record.flag & NOT_PRIMARY:
            others[key_of(record)].append(record)
        elif primary.setdefault(key_of(record), record) is not record:
            yield f"{record.query_name}: two primary records"
    yield from _missing(primary, run)
    for record in records:
        own, mate = primary.get(key_of(record)), primary.get(_mate(key_of(record)))
        if own is not None:
            rows = [mate, *others.get(_mate(key_of(record)), [])] if record.is_secondary else [mate]
            for fault in _record_faults(record, own, _named(record, rows), run):
                yield f"{record.query_name}, flag {record.flag}: {fault}"
    for key, rows in others.items():
        for fault in _rows_faults(primary[key], rows, run):
            yield f"{key[0]}: {fault}"
    yield from _order_faults(path, records, order, list(run.reads), run, fasta)


def _mate(key: Key) -> Key:
    return key[0], 3 - key[1]


def _named(
    record: pysam.AlignedSegment, rows: list[pysam.AlignedSegment | None]
) -> pysam.AlignedSegment | None:
    """The record of the mate that a secondary one names: of another place, if both make a proper pair."""
    others = [row for row in rows[1:] if row is not None and not row.flag & SUPPLEMENTARY]
    fitting = [row for row in others if record.is_proper_pair and not [*_mate_faults(record, row)]]
    return fitting[0] if fitting else rows[0]


def _missing(primary: Mapping[Key, pysam.AlignedSegment], run: Run) -> Iterator[str]:
    for key in run.reads:
        kept = [primary[k] for k in (key, _mate(key)) if k in primary]
        if key not in primary and (kept or not run.has("no_unmapped", "unique")):
            yield f"{key[0]}: mate {key[1]} has no primary record"
        if run.has("unique") and kept and not any(record.mapping_quality for record in kept):
            yield f"{key[0]}: no unique position, and written"
        if run.has("no_unmapped") and kept and all(record.is_unmapped for record in kept):
            yield f"{key[0]}: unmapped, and written"


# --- one record -----------------------------------------------------------------------------------------------


def _record_faults(
    record: pysam.AlignedSegment,
    own: pysam.AlignedSegment,
    mate: pysam.AlignedSegment | None,
    run: Run,
) -> Iterator[str]:
    bases, quals = run.reads[key_of(record)]
    kept = len(own.query_sequence or "")
    if run.is_trimmed and kept < len(bases):
        bases, quals = bases[:kept], quals and quals[:kept]
    if record.is_reverse:
        bases, quals = reverse_complement(bases), quals and quals[::-1]
    first, last = _hard_clips(record)
    bases, quals = bases[first : len(bases) - last], quals and quals[first : len(quals) - last]
    is_bare = bool(record.flag & 0x100) and not record.has_tag("SA") and not run.has("secondary_seq")
    if record.query_sequence != (None if is_bare else bases or None):
        yield f"SEQ {record.query_sequence}, not {bases}"
    if pysam.qualities_to_qualitystring(record.query_qualities) != (None if is_bare else quals or None):
        yield "other qualities"
    if record is own and (first or last):
        yield "a primary record with hard clips"
    if record.flag & DUPLICATE and not run.has("markdup") or record.is_qcfail and not run.is_meth:
        yield "an unexpected flag"
    if record.is_unmapped:
        if record.cigartuples or record.mapping_quality or record.has_tag("NM") or record.is_proper_pair:
            yield "unmapped, with an alignment"
    else:
        if run.has("strand") and record.is_reverse != run.is_reverse(key_of(record)):
            yield "on the strand that is not searched"
        yield from _alignment_faults(record, bases, run)
    if record is own and record.is_proper_pair and (mate is None or not mate.is_proper_pair):
        yield "proper with a mate that is not"
    lacking = [tag for option, tag in ASKED.items() if run.has(option) and not record.has_tag(tag)]
    if lacking and not run.has("lenient"):
        yield f"no tag {lacking}"
    yield from _mate_faults(record, mate)


def _hard_clips(record: pysam.AlignedSegment) -> tuple[int, int]:
    runs = record.cigartuples or [(0, 0)]
    first, last = (length if kind == pysam.CHARD_CLIP else 0 for kind, length in (runs[0], runs[-1]))
    return first, last


def _alignment_faults(record: pysam.AlignedSegment, bases: str, run: Run) -> Iterator[str]:
    contig = run.genome[record.reference_name or ""]
    cigar = record.cigartuples or []
    inner = [kind for kind, _ in cigar if kind not in (pysam.CSOFT_CLIP, pysam.CHARD_CLIP)]
    if record.reference_start < 0 or (record.reference_end or 0) > len(contig):
        yield "it reaches over the end of its contig"
        return
    if record.infer_query_length() != len(bases):
        yield f"CIGAR {record.cigarstring} for {len(bases)} bases"
        return
    if not inner or pysam.CDEL in (inner[0], inner[-1]):
        yield f"CIGAR {record.cigarstring} with a deletion at an end"
    edits, conversions, equal, md, split, score = 0, 0, 0, "", "", 0
    converted, (match, mismatch, opens, extends) = _converted(record), run.costs
    at, q = record.reference_start, 0
    for kind, length in cigar:
        if kind in (pysam.CMATCH, pysam.CEQUAL, pysam.CDIFF):
            for a, b in zip(bases[q : q + length], contig[at : at + length], strict=True):
                same, is_converted = a == b and a in "ACGT", (b, a) == converted
                conversions += is_converted
                md, equal = (md, equal + 1) if same else (f"{md}{equal}{b}", 0)
                edits, split = edits + (not same), split + "X="[same]
                differs = -mismatch if a in "ACGT" and b in "ACGT" else -1
                score += match if same or is_converted else differs
        else:
            split += "MIDNSHP"[kind] * length
        if kind in (pysam.CINS, pysam.CDEL):
            is_insertion = kind == pysam.CINS
            edits, score = edits + length, score - opens[is_insertion] - length * extends[is_insertion]
        if kind == pysam.CDEL:
            md, equal = f"{md}{equal}^{contig[at : at + length]}", 0
        q += length * (kind in (0, 1, 4, 7, 8))
        at += length * (kind in (0, 2, 7, 8))
    fits = {"local": [score], "global": [conversions - edits]}
    if record.get_tag("AS") not in fits.get(run.given.get("mode", ""), [score, conversions - edits]):
        yield f"AS {record.get_tag('AS')}, not {score} or {conversions - edits}"
    if run.is_meth and run.given.get("meth_tags") != "bismark":
        edits -= conversions
    if record.get_tag("NM") != edits:
        yield f"NM {record.get_tag('NM')}, not {edits}"
    if record.get_tag("MD") != f"{md}{equal}":
        yield f"MD {record.get_tag('MD')}, not {md}{equal}"
    runs = "".join(f"{len(m[0])}{m[1]}" for m in re.finditer(r"(.)\1*", split))
    if run.has("eqx") and run.form != "cram" and record.cigarstring != runs:
        yield f"CIGAR {record.cigarstring}, not {runs}"


def _converted(record: pysam.AlignedSegment) -> tuple[str, ...]:
    """The base of the reference and that of SEQ where a conversion is."""
    strand = (
        record.get_tag("YD") if record.has_tag("YD") else record.get_tag("XG") if record.has_tag("XG") else ""
    )
    return {"f": ("C", "T"), "CT": ("C", "T"), "r": ("G", "A"), "GA": ("G", "A")}.get(str(strand), ())


def _mate_faults(record: pysam.AlignedSegment, mate: pysam.AlignedSegment | None) -> Iterator[str]:
    if mate is None:
        if record.flag & 0xEB or record.next_reference_id >= 0 or record.has_tag("MC"):
            yield "a mate that is not there"
        return
    said = (record.is_paired, record.mate_is_unmapped, record.mate_is_reverse)
    if said != (True, mate.is_unmapped, mate.is_reverse):
        yield "flags of the mate"
    place = (mate.reference_id, mate.reference_start)
    if (record.next_reference_id, record.next_reference_start) != place:
        yield "RNEXT, PNEXT"
    if record.is_unmapped and (record.reference_id, record.reference_start) != place:
        yield "unmapped, and not at the position of its mate"
    tags = [record.get_tag(tag) if record.has_tag(tag) else None for tag in ("MC", "MQ")]
    if tags != ([None, None] if mate.is_unmapped else [mate.cigarstring, mate.mapping_quality]):
        yield f"MC, MQ {tags} of {mate.cigarstring}, {mate.mapping_quality}"
    length = 0
    if not (record.is_unmapped or mate.is_unmapped or record.reference_id != mate.reference_id):
        length = _five_prime(mate) - _five_prime(record)
        length += (length > 0) - (length < 0)
    if record.template_length != length:
        yield f"TLEN {record.template_length}, not {length}"


def _five_prime(record: pysam.AlignedSegment) -> int:
    end = record.reference_end or 0
    return end - 1 if record.is_reverse else record.reference_start


# --- all records of a read, and of a file ---------------------------------------------------------------------


def _rows_faults(own: pysam.AlignedSegment, rows: list[pysam.AlignedSegment], run: Run) -> Iterator[str]:
    parts = [own, *(row for row in rows if row.has_tag("SA") or row.flag & SUPPLEMENTARY)]
    secondary = len(rows) + 1 - len(parts)
    if own.is_unmapped:
        yield "unmapped, with further records"
    if secondary and run.has("xa"):
        yield "a secondary record beside --xa"
    if not run.has("all_hits", "strata", "preset") and secondary >= int(run.given.get("max_hits", 1)):
        yield f"{secondary} secondary records"
    if run.has("mark_secondary") and any(row.flag & SUPPLEMENTARY for row in rows):
        yield "a supplementary record beside -M"
    for part in parts if len(parts) > 1 else []:
        listed = [entry.split(",") for entry in str(part.get_tag("SA")).rstrip(";").split(";")]
        said = sorted((e[0], int(e[1]), e[2] == "-", int(e[4]), int(e[5])) for e in listed)
        if run.form != "cram" and said != sorted(_in_sa(other) for other in parts if other is not part):
            yield f"SA {part.get_tag('SA')}"


def _in_sa(record: pysam.AlignedSegment) -> tuple[str, int, bool, int, int]:
    place = (record.reference_name or "", record.reference_start + 1, record.is_reverse)
    return *place, record.mapping_quality, int(record.get_tag("NM"))


def _order_faults(
    path: Path, records: list[pysam.AlignedSegment], said: str | None, reads: list[Key], run: Run, fasta: Path
) -> Iterator[str]:
    if said != ("coordinate" if run.has("sort") else "unsorted"):
        yield f"SO:{said}"
    if not run.has("sort"):
        written = [key for key, _ in itertools.groupby(map(key_of, records))]
        if written != [key for key in reads if key in set(written)]:
            yield "records are not in the order of the reads"
        return
    places = [(r.reference_id % 2**32, r.reference_start) for r in records if r.reference_id >= 0]
    if places != sorted(places) or any(r.reference_id >= 0 for r in records[len(places) :]):
        yield "not sorted"
    if run.form == "sam" or path.name == "stdout":
        return
    with pysam.AlignmentFile(str(path), reference_filename=str(fasta)) as file:
        if not file.has_index():
            yield "no index"
            return
        for number, name in enumerate(file.references):
            found = sum(1 for _ in file.fetch(name))
            if found != sum(place[0] == number for place in places):
                yield f"the index finds {found} records of {name}"


# --- counts ---------------------------------------------------------------------------------------------------


def faults_of_counts(
    stats: Mapping[str, object], records: list[pysam.AlignedSegment], run: Run
) -> Iterator[str]:
    """Counts of `--stats` that are not those of the records; without a count of unmapped reads that were left out."""
    primary = [record for record in records if not record.flag & NOT_PRIMARY]
    mapped = [record for record in primary if not record.is_unmapped]
    pairs = sum(key[1] == 1 for key in run.reads)
    expected: dict[str, object] = {
        "reads": len(run.reads),
        "mapped": len(mapped),
        "confident": sum(record.mapping_quality >= 20 for record in mapped),
        "pairs": pairs,
        "proper": sum(record.is_proper_pair and record.is_read1 for record in mapped),
        "mapq": _histogram(record.mapping_quality for record in mapped),
    }
    if not run.is_trimmed:
        expected["bases"] = sum(len(bases) for bases, _ in run.reads.values())
    if run.has("markdup"):
        expected["duplicates"] = sum(bool(record.flag & DUPLICATE) for record in mapped)
    for name, value in expected.items():
        if stats.get(name) != value:
            yield f"--stats has {name} {stats.get(name)}, the records {value}"


def faults_of_unmapped(files: list[Path], mapped: set[Key], run: Run) -> Iterator[str]:
    """Files of `--unmapped` with other reads than those that have no alignment; two files are for pairs alone."""
    in_pairs = len(files) == 2
    enough = any if run.has("unmapped_either") else all
    for number, file in enumerate(files, 1):
        wanted = [
            name if in_pairs or not mate else f"{name}/{mate}"
            for name, mate in run.reads
            if (
                mate == number and enough((name, m) not in mapped for m in (1, 2))
                if in_pairs
                else (name, mate) not in mapped
            )
        ]
        with pysam.FastxFile(str(file)) as lines:
            found = [line.name for line in lines]
        if found != wanted:
            yield f"{file.name}: {len(found)} reads, not the {len(wanted)} that are unmapped"


def _histogram(values: Iterator[int]) -> dict[str, int]:
    counts: dict[int, int] = defaultdict(int)
    for value in values:
        counts[value] += 1
    return {str(value): counts[value] for value in sorted(counts)}

"""Small worlds of templates that crowd at few places, as records grouped by name, and the way to mark them."""

import gzip
import struct

import numpy as np
import pysam

from gassst.files.destination import AlignmentDestination
from gassst.records.duplicates import DuplicateSearch, LibraryNames, signer_for
from gassst.records.marking import MarkedBamFormat, SignedRunEncoder
from gassst.workers.threads import Workers

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, REVERSE, MATE_REVERSE, FIRST, SECOND = (1 << i for i in range(8))
SECONDARY, DUPLICATE, SUPPLEMENTARY = 0x100, 0x400, 0x800
CONTIGS = {"chr1": 400, "chr2": 300, "chr3": 200}
HEADER = pysam.AlignmentHeader.from_dict(
    {
        "HD": {"VN": "1.6", "GO": "query"},
        "SQ": [{"SN": name, "LN": length} for name, length in CONTIGS.items()],
        "RG": [
            {"ID": "a1", "SM": "s", "LB": "a"},
            {"ID": "a2", "SM": "s", "LB": "a"},
            {"ID": "b", "SM": "s", "LB": "b"},
            {"ID": "none", "SM": "s"},
        ],
    }
)
GROUPS = ("a1", "a2", "b", "none", None)


class Template:
    """Draws the records of one template: a few places, lengths and qualities, so that much is equal."""

    def __init__(self, rng, name, barcodes, qualities):
        self.rng, self.name, self.qualities = rng, name, qualities
        self.group = GROUPS[rng.integers(len(GROUPS))]
        self.barcode = rng.choice(["ACGT", "ACGA", "AC-GT", ""]) if barcodes else ""

    def record(self, flag):
        segment = pysam.AlignedSegment(HEADER)
        segment.query_name, segment.flag = self.name, flag
        length = int(self.rng.choice([18, 20]))
        segment.query_sequence = "A" * length
        if self.qualities:
            high = int(self.rng.choice([14, 15, 30, 31]))
            segment.query_qualities = pysam.qualitystring_to_array(
                "".join(chr(33 + high) if self.rng.random() < 0.9 else "#" for _ in range(length))
                if self.rng.random() < 0.5
                else chr(33 + high) * length
            )
        if self.group is not None:
            segment.set_tag("RG", self.group)
        if self.barcode:
            segment.set_tag("RX", self.barcode)
        return segment

    def placed(self, flag, contig=None):
        """A mapped record; clips, gaps and small shifts leave its unclipped ends the same or not."""
        rng, segment = self.rng, self.record(flag)
        contig = int(rng.choice([0, 0, 0, 1, 2])) if contig is None else contig
        start = int(rng.choice([0, 40, 41, 60, 100]))
        lead, trail = (int(n) for n in rng.choice([0, 0, 0, 1, 3, 5], 2))
        length = segment.query_length
        ops = [
            (4, lead),
            (0, 6),
            (int(rng.choice([1, 2, 3])), int(rng.choice([0, 0, 1, 2]))),
            (0, 0),
            (4, trail),
        ]
        taken = lead + trail + 6 + (ops[2][1] if ops[2][0] == 1 else 0)
        ops[3] = (0, length - taken)
        if not ops[2][1]:  # neighbours of one kind are one run
            ops[1:4] = [(0, ops[1][1] + ops[3][1])]
        segment.cigartuples = [op for op in ops if op[1]]
        segment.reference_id, segment.mapping_quality = contig, 30
        segment.reference_start = max(0, start + (lead if rng.random() < 0.9 else 0))
        return segment

    def others(self, like):
        """Secondary and supplementary records of a mapped one."""
        keep = like.flag & (PAIRED | FIRST | SECOND)
        for kind in (SECONDARY, SUPPLEMENTARY):
            if self.rng.random() < 0.15:
                like.set_tag("SA", "chr1,1,+,18M,30,0;")  # by it samtools knows that there are others
                yield self.placed(keep | kind | int(self.rng.choice([0, REVERSE])))


def template(rng, name, barcodes=False, qualities=True):
    """The records of one template in the order of a mapper."""
    made, kind = Template(rng, name, barcodes, qualities), rng.random()
    strands = [int(rng.choice([0, REVERSE])) for _ in range(2)]
    if kind < 0.2:
        reads = [made.placed(strands[0]) if kind < 0.17 else made.record(UNMAPPED)]
    else:
        contig = None if kind < 0.4 else int(rng.integers(2))
        reads = [
            made.placed(PAIRED | which | strand, contig)
            if rng.random() < 0.88
            else made.record(PAIRED | which | UNMAPPED)
            for which, strand in zip((FIRST, SECOND), strands, strict=True)
        ]
        tell_of_mates(*reads)
    more = [list(made.others(read)) if not read.is_unmapped else [] for read in reads]
    return [record for read, others in zip(reads, more, strict=True) for record in (read, *others)]


def tell_of_mates(one, two):
    """As a mapper does: an unmapped mate lies where the other one is."""
    for read, mate in ((one, two), (two, one)):
        read.flag |= MATE_UNMAPPED * mate.is_unmapped | (MATE_REVERSE if mate.is_reverse else 0)
        if read.is_unmapped and not mate.is_unmapped:
            read.reference_id, read.reference_start = mate.reference_id, mate.reference_start
    for read, mate in ((one, two), (two, one)):
        read.next_reference_id, read.next_reference_start = mate.reference_id, mate.reference_start


def world(seed, n=150, **options):
    """Templates of many kinds, each a list of records; names in no order."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(10 * n)[:n]
    made = (template(rng, f"m:1:f:{i % 2}:{i % 3}:{i * 7 % 400}:{i}", **options) for i in names)
    return [records for records in made if not is_even_tandem(records)]


def is_even_tandem(records):
    """Whether mates on one strand begin at one place, so that neither is the left one."""
    reads = [record for record in records if not record.flag & (SECONDARY | SUPPLEMENTARY | UNMAPPED)]
    if len(reads) < 2 or reads[0].is_reverse != reads[1].is_reverse:
        return False
    return len({(read.reference_id, _left_end(read)) for read in reads}) == 1


def _left_end(read):
    """By which mates on one strand are told apart: as if the clipped bases were aligned."""
    (first, lead), (last, trail) = read.cigartuples[0], read.cigartuples[-1]
    if read.is_reverse:
        return read.reference_end + (trail if last == 4 else 0)
    return read.reference_start - (lead if first == 4 else 0)


class Records(bytes):
    """The bytes of some BAM records, and how many."""

    records = 0


def bam_of(templates, path):
    """Records as in a BAM file, without its header."""
    with pysam.AlignmentFile(path, "wb0", header=HEADER) as file:
        for records in templates:
            for record in records:
                file.write(record)
    data = gzip.decompress(path.read_bytes())
    at = 8 + struct.unpack_from("<i", data, 4)[0]
    contigs = struct.unpack_from("<i", data, at)[0]
    at += 4
    for _ in range(contigs):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    bam = Records(data[at:])
    bam.records = sum(map(len, templates))
    return bam


def marked(templates, path, rules, memory=1 << 30, threads=1, batch=40):
    """Write the sorted file `path` with duplicates marked; returns its counts."""
    libraries = LibraryNames.of(str(HEADER), rules.within)
    encoder = SignedRunEncoder(signer_for(rules, libraries, list(CONTIGS.values())))
    search = DuplicateSearch(rules, libraries)
    destination, workers = AlignmentDestination(path, ".bai"), Workers(threads)
    target = MarkedBamFormat(search, HEADER.lengths, str(HEADER), None, destination, workers, memory)
    target.begin(destination.open())
    for first in range(0, len(templates), batch):
        bam = bam_of(templates[first : first + batch], path.with_suffix(".part"))
        target.write(encoder.encode(bam))
    path.with_suffix(".part").unlink(missing_ok=True)
    target.close()
    destination.commit()
    workers.close()
    return search.counts


def marked_by_samtools(templates, path, *options):
    """The same by `samtools fixmate -m`, `sort` and `markdup`."""
    grouped, fixed, placed = (str(path.with_suffix(end)) for end in (".names", ".fixed", ".placed"))
    with pysam.AlignmentFile(grouped, "wb0", header=HEADER) as file:
        for records in templates:
            for record in records:
                file.write(record)
    pysam.fixmate("-m", grouped, fixed)
    pysam.sort("-o", placed, fixed)
    pysam.markdup("-m", "t", "-S", *options, placed, str(path))


def duplicates_in(path):
    """Every record that is flagged: name, which mate, kind, place."""
    with pysam.AlignmentFile(path) as file:
        return sorted(
            (record.query_name, record.flag & 0x9C4, record.reference_id, record.reference_start)
            for record in file
            if record.is_duplicate
        )

"""A small world of strings, its reads and their records, made by other code than the package's."""

import hashlib
import re
from types import SimpleNamespace

import numpy as np
import pysam

from gassst.files.contigs import Contigs
from gassst.model.layouts import HIT, NO_SCORE, NO_SUBOPTIMAL, RATING, READ_SUMMARY
from gassst.records import writer as sam

FRONT, GAP, TAIL = 4608, 512, 4608
COMPLEMENT = str.maketrans("ACGTMRSVWYHKDBN", "TGCAKYSBWRDMHVN")
OPS = "MIDNSHP=X"
NO_RATING = np.zeros((), RATING).item()
READ_GROUP = "@RG\\tID:lane1\\tSM:sample"


class World:
    """A reference of two contigs with N and IUPAC runs, and its arrays as docs/pipeline.md defines them."""

    def __init__(self, rng, lengths=(3000, 1777)):
        self.names = ["chr1", "chr2:HLA*01"]
        self.sequences = [random_contig(rng, n) for n in lengths]
        text = "." * FRONT + ("." * GAP).join(self.sequences) + "." * TAIL
        starts = [FRONT, FRONT + lengths[0] + GAP]
        runs = list(re.finditer(r"([^ACGT.])\1*", text))
        self.arrays = sam.ReferenceArrays(
            planes_of(text),
            np.array(starts, np.int64),
            np.array(lengths, np.int64),
            np.array([m.start() for m in runs], np.int64),
            np.array([len(m[0]) for m in runs], np.uint32),
            np.frombuffer("".join(m[1] for m in runs).encode(), np.uint8),
        )

    @property
    def md5s(self):
        """Hex MD5 of each contig."""
        return [hashlib.md5(sequence.encode()).hexdigest() for sequence in self.sequences]

    def fasta(self, folder):
        """The path of a FASTA of this reference."""
        path = folder / "world.fa"
        path.write_text("".join(f">{n}\n{s}\n" for n, s in zip(self.names, self.sequences, strict=True)))
        return str(path)

    def header(self, md5s=None, **options):
        contigs = Contigs.of(self.names, map(len, self.sequences), md5s)
        return sam.header(contigs, program_version="1", **options).text


def random_contig(rng, length):
    bases = list(rng.choice(list("ACGT"), length))
    for _ in range(12):
        at, run = rng.integers(length - 20), rng.integers(1, 9)
        bases[at : at + run] = [rng.choice(list("NRYKMSWBDHV"))] * run
    return "".join(bases)


def planes_of(text):
    code = np.array(["ACGT".find(c) for c in text] + [0] * (-len(text) % 64))
    bits = np.stack([(code & 1) * (code >= 0), (code >> 1 & 1) * (code >= 0), code < 0]).astype(np.uint64)
    weights = np.uint64(1) << np.arange(64, dtype=np.uint64)
    return np.ascontiguousarray((bits.reshape(3, -1, 64) * weights).sum(axis=2, dtype=np.uint64).T)


def alignment(rng, world, length):
    """A stretch of the reference with errors: contig, position, forward-strand read, CIGAR (length, op)."""
    tid = int(rng.integers(2))
    reference = world.sequences[tid]
    position = at = int(rng.integers(len(reference) - 2 * length))
    read, ops = "", ""
    while len(read) < length:
        kind = rng.random()
        inner = 0 < len(read) < length - 1 and ops[-1] == "M"
        if inner and kind < 0.01:
            run = int(rng.integers(1, 4))
            ops, at = ops + "D" * run, at + run
        if inner and 0.01 < kind < 0.02:
            ops, read = ops + "I", read + rng.choice(list("ACGTN"))
        else:
            changed = rng.choice(list("ACGTNR"), p=[0.24, 0.24, 0.24, 0.24, 0.02, 0.02])
            base = changed if kind > 0.96 or reference[at] not in "ACGT" else reference[at]
            ops, read, at = ops + "M", read + base, at + 1
    return tid, position, read[:length], [(len(m[0]), m[0][0]) for m in re.finditer(r"M+|I+|D+|S+", ops)]


def described(reference, position, read, cigar):
    """NM, MD and the CIGAR with = and X, by walking strings one base at a time."""
    edits, md, equal, eqx, q = 0, "", 0, "", 0
    for length, op in cigar:
        if op == "D":
            md, equal = md + f"{equal}^{reference[position : position + length]}", 0
            position, edits, eqx = position + length, edits + length, eqx + "D" * length
        elif op in "IS":
            q, eqx, edits = q + length, eqx + op * length, edits + length * (op == "I")
        else:
            for _ in range(length):
                same = read[q] == reference[position] and read[q] in "ACGT"
                if not same:
                    md, equal = md + f"{equal}{reference[position]}", -1
                equal, edits, eqx = equal + 1, edits + (not same), eqx + "X="[same]
                q, position = q + 1, position + 1
    runs = "".join(f"{len(m[0])}{m[1]}" for m in re.finditer(r"(.)\1*", eqx))
    return edits, f"{md}{equal}", runs


class Batch:
    """Reads with hits, as arrays (`reads`, `hits`, `summaries`, `cigars`) and as the lines of SAM."""

    def __init__(self, world, entries, quals=True):
        """`entries`: a read as sequenced, its qualities (phred+33 text), its alignments (none: unmapped)."""
        self.world = world
        names = [f"read{i}" for i in range(len(entries))]
        self.entries = [(name, *entry) for name, entry in zip(names, entries, strict=True)]
        bases = [e[0] for e in entries]
        self.reads = SimpleNamespace(
            names=np.frombuffer("".join(names).encode(), np.uint8),
            name_offsets=offsets_of(names),
            bases=np.frombuffer("".join(bases).encode(), np.uint8),
            quals=np.frombuffer("".join(e[1] for e in entries).encode(), np.uint8) if quals else None,
            offsets=offsets_of(bases),
        )
        rows, summaries, runs = [], [], []
        for i, (_, _, hits) in enumerate(entries):
            edits = [self.edits(hit) for hit in hits]
            best = min(edits, default=NO_SCORE)
            worse = [e for e in edits if e > best]
            second = min(worse, default=NO_SCORE)
            counts = edits.count(best), edits.count(second)
            next_best = -best if counts[0] > 1 else -second if worse else NO_SUBOPTIMAL
            summaries.append((best, second, *counts, max(1, len(hits)), next_best, NO_RATING))
            for rank, (hit, nm) in enumerate(zip(hits, edits, strict=True)):
                start = int(world.arrays.starts[hit.tid]) + hit.position
                flag = 16 * hit.reverse | 256 * (rank > 0)
                rows.append(
                    (i, start, len(runs), len(hit.cigar), nm, flag, max(0, 60 - rank), hit.reverse, -nm, 0, 0)
                )
                runs += [length << 4 | OPS.index(op) for length, op in hit.cigar]
            if not hits:
                rows.append((i, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0))
        self.hits = np.array(rows, HIT)
        self.summaries = np.array(summaries, READ_SUMMARY)
        self.cigars = np.array(runs, np.uint32)

    @property
    def arrays(self):
        return self.reads, self.hits, self.summaries, self.cigars

    def edits(self, hit):
        return described(self.world.sequences[hit.tid], hit.position, hit.read, hit.cigar)[0]

    def lines(self, eqx=False, xa=False, group=None, tags=()):
        for name, bases, quals, hits in self.entries:
            yield from self.read_lines(
                name, bases, quals, hits, eqx, xa, [f"RG:Z:{group}"] if group else [], tags
            )

    def read_lines(self, name, bases, quals, hits, eqx, xa, last, more):
        quals = quals if self.reads.quals is not None else "*"
        if not hits:
            yield "\t".join([name, "4", "*", "0", "0", "*", "*", "0", "0", bases.upper(), quals, *last])
        counts = [self.edits(h) for h in hits]
        worse = [c for c in counts if c > min(counts)]
        for rank, hit in enumerate(hits[:1] if xa else hits):
            nm, md, split = described(self.world.sequences[hit.tid], hit.position, hit.read, hit.cigar)
            tags = [f"NM:i:{nm}", f"MD:Z:{md}", f"AS:i:{-nm}"]
            if counts.count(min(counts)) > 1 or worse:
                tags.append(f"XS:i:{-(min(counts) if counts.count(min(counts)) > 1 else min(worse))}")
            counted = {"X0": counts.count(min(counts)), "X1": counts.count(min(worse, default=-1))}
            counted |= {"NH": len(hits), "HI": rank + 1}
            tags += [f"{name}:i:{value}" for name, value in counted.items() if name in more] + last
            if xa and len(hits) > 1:
                tags.append("XA:Z:" + "".join(self.xa(h) for h in hits[1:]))
            cigar = split if eqx else text_of(hit.cigar)
            place = [self.world.names[hit.tid], hit.position + 1, max(0, 60 - rank), cigar, "*", 0, 0]
            seen = (hit.read, quals[::-1] if hit.reverse and quals != "*" else quals) if rank == 0 else "**"
            yield "\t".join(map(str, [name, 16 * hit.reverse | 256 * (rank > 0), *place, *seen, *tags]))

    def xa(self, hit):
        sign = "+-"[hit.reverse]
        return f"{self.world.names[hit.tid]},{sign}{hit.position + 1},{text_of(hit.cigar)},{self.edits(hit)};"


def text_of(cigar):
    return "".join(f"{length}{op}" for length, op in cigar)


def offsets_of(texts):
    return np.cumsum([0, *map(len, texts)]).astype(np.uint32)


def make_hit(tid, position, read, cigar, reverse=0):
    return SimpleNamespace(tid=tid, position=position, read=read, cigar=cigar, reverse=reverse)


def oriented(read, reverse):
    return read.translate(COMPLEMENT)[::-1] if reverse else read


def random_batch(rng, world, n=120, quals=True):
    """Reads of 36 to 200 bases on both strands, with 0 to 5 further hits elsewhere, every tenth unmapped."""
    entries = []
    for i in range(n):
        length = int(rng.integers(36, 200))
        tid, position, read, cigar = alignment(rng, world, length)
        reverse = int(rng.integers(2))
        hits = [make_hit(tid, position, read, cigar, reverse)] if i % 10 else []
        bases = oriented(read, reverse)
        for _ in range(int(rng.integers(5)) if hits else 0):
            other, flipped = int(rng.integers(2)), int(rng.integers(2))
            start = int(rng.integers(len(world.sequences[other]) - length))
            clipped = [(5, "S"), (length - 5, "M")]
            hits.append(make_hit(other, start, oriented(bases, flipped), clipped, flipped))
        hits += hits[: i % 7 == 1]  # a second best hit as good as the first
        hits.sort(key=lambda h: described(world.sequences[h.tid], h.position, h.read, h.cigar)[0])
        phred = "".join(map(chr, rng.integers(33, 75, length)))
        entries.append((bases.lower() if i % 7 == 0 else bases, phred, hits))
    return Batch(world, entries, quals)


def write(path, world, *batches, header=None, **options):
    """Returns the number of records."""
    options = sam.OutputOptions(**options)
    with sam.AlignmentWriter(path, header or world.header(), world.arrays, options) as writer:
        return sum(writer.write(writer.encoder.encode(*batch.arrays)) for batch in batches)


def lines_in(path, reference=None):
    """The records, as text; `reference` is the FASTA that CRAM is read with."""
    with pysam.AlignmentFile(path, check_sq=False, reference_filename=reference) as file:
        return [record.to_string() for record in file]


def sorted_tags(lines):
    return ["\t".join([*line.split("\t")[:11], *sorted(line.split("\t")[11:])]) for line in lines]

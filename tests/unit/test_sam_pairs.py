"""Records of pairs and of split reads: by hand, by the rules of the SAM specification, and by other programs."""

import re
import subprocess
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_batches import to_aligned_segments
from sam_worlds import (
    NO_RATING,
    OPS,
    World,
    described,
    lines_in,
    offsets_of,
    oriented,
    sorted_tags,
    text_of,
    write,
)

from gassst.model.layouts import HIT, NO_SUBOPTIMAL, READ_SUMMARY
from gassst.records import writer as sam

PROPER, SUPPLEMENTARY, SECONDARY = 0x2, 0x800, 0x100
WORLD = World(np.random.default_rng(4))
BIG = 40  # bases of the reads made by hand


def row(tid, position, cigar=((BIG, "M"),), reverse=0, flag=0, mapq=37):
    """An alignment; `flag` is what the search sets besides the strand."""
    return SimpleNamespace(
        tid=tid, position=position, cigar=list(cigar), reverse=reverse, flag=flag, mapq=mapq
    )


def bases_of(first):
    """A read, as sequenced, that lies without mismatch where its first row says; clipped and inserted is A."""
    if first is None:
        return "ACGTN" * (BIG // 5)
    read, at = "", first.position
    for length, op in first.cigar:
        if op == "M":
            read += WORLD.sequences[first.tid][at : at + length]
        read += "A" * length if op in "IS" else ""
        at += length if op in "MD" else 0
    return oriented(read, first.reverse)


def batch_of(templates, quals=True):
    """`templates`: of each its reads, one or two, each a list of rows, empty where it is unmapped."""
    reads = [
        (f"t{i}", rows, k + 1 if len(t) == 2 else 0)
        for i, t in enumerate(templates)
        for k, rows in enumerate(t)
    ]
    names = [name for name, _, _ in reads]
    bases = [bases_of(rows[0] if rows else None) for _, rows, _ in reads]
    batch = SimpleNamespace(hits=[], cigars=[], summaries=[])
    n_parts = 0
    for i, (_, rows, _) in enumerate(reads):
        batch.summaries.append((0, 65535, 1, 0, max(1, len(rows)), NO_SUBOPTIMAL, NO_RATING))
        if not rows:
            batch.hits.append((i, 0, len(batch.cigars), 0, 0, 4, 0, 0, 0, 0, 0))
        for r in rows:
            read = oriented(bases[i], r.reverse)
            edits, _, _ = described(WORLD.sequences[r.tid], r.position, read, r.cigar)
            start = int(WORLD.arrays.starts[r.tid]) + r.position
            flag = r.flag | 16 * r.reverse
            n_parts += flag & SUPPLEMENTARY != 0
            part = n_parts if flag & SUPPLEMENTARY else 0
            batch.hits.append(
                (i, start, len(batch.cigars), len(r.cigar), edits, flag, r.mapq, r.reverse, -edits, 0, part)
            )
            batch.cigars += [n << 4 | OPS.index(op) for n, op in r.cigar]
    batch.summaries += n_parts * batch.summaries[:1]
    phred = "".join(chr(34 + (i * 7 + 3) % 40) for i in range(sum(map(len, bases))))
    reads_arrays = SimpleNamespace(
        names=np.frombuffer("".join(names).encode(), np.uint8),
        name_offsets=offsets_of(names),
        bases=np.frombuffer("".join(bases).encode(), np.uint8),
        quals=np.frombuffer(phred.encode(), np.uint8) if quals else None,
        offsets=offsets_of(bases),
        mate=np.array([mate for _, _, mate in reads], np.uint8),
    )
    arrays = (
        reads_arrays,
        np.array(batch.hits, HIT),
        np.array(batch.summaries, READ_SUMMARY),
        np.array(batch.cigars, np.uint32),
    )
    return SimpleNamespace(arrays=arrays)


def records(templates, **options):
    builder = sam.record_builder(WORLD.header(), WORLD.arrays, sam.RecordStyle(**options))
    return to_aligned_segments(*batch_of(templates).arrays, builder)


def mate_fields(record):
    tags = dict(record.get_tags())
    fields = record.to_string().split("\t")
    return int(fields[1]), *fields[2:4], *fields[6:9], tags.get("MC"), tags.get("MQ")


# Each combination by hand


def test_proper_pair_forward_and_reverse():
    """5' ends at 101 and 340: both included that makes 240 bases."""
    left = row(0, 100, flag=PROPER, mapq=11)
    right = row(0, 300, [(30, "M"), (2, "I"), (8, "M")], 1, PROPER, 22)
    one, two = map(mate_fields, records([([left], [right])]))
    assert one == (0x63, "chr1", "101", "=", "301", "238", "30M2I8M", 22)
    assert two == (0x93, "chr1", "301", "=", "101", "-238", "40M", 11)


@pytest.mark.parametrize(
    "strands, flags, lengths",
    [
        ((0, 1), (0x61, 0x91), (240, -240)),
        ((1, 0), (0x51, 0xA1), (162, -162)),
        ((0, 0), (0x41, 0x81), (201, -201)),
        ((1, 1), (0x71, 0xB1), (201, -201)),
    ],
)
def test_orientations(strands, flags, lengths):
    got = [
        mate_fields(r)
        for r in records([([row(0, 100, reverse=strands[0])], [row(0, 300, reverse=strands[1])])])
    ]
    assert [g[0] for g in got] == list(flags)
    assert [int(g[5]) for g in got] == list(lengths)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("first", [True, False])
def test_an_unmapped_mate_lies_where_the_mapped_one_does(first, reverse):
    mapped = [row(1, 700, reverse=reverse, flag=PROPER)]
    got = records([(mapped, []) if first else ([], mapped)])
    lies, lost = got if first else got[::-1]
    place = ("chr2:HLA*01", "701", "=", "701", "0")
    assert mate_fields(lies) == ((0x49 if first else 0x89) | 16 * reverse, *place, None, None)
    assert mate_fields(lost) == ((0x85 if first else 0x45) | 32 * reverse, *place, "40M", 37)
    assert lost.to_string().split("\t")[4:6] == ["0", "*"]
    assert lost.query_sequence == bases_of(None) and lost.bin == lies.bin


def test_secondary_rows_point_to_the_primary_of_the_mate():
    first = [row(0, 100), row(0, 900, reverse=1, flag=SECONDARY), row(1, 30, flag=SECONDARY)]
    second = [row(0, 300, reverse=1), row(0, 1200, flag=SECONDARY)]
    got = [mate_fields(r)[:6] for r in records([(first, second)])]
    assert got == [
        (0x61, "chr1", "101", "=", "301", "240"),
        (0x171, "chr1", "901", "=", "301", "-601"),
        (0x161, "chr2:HLA*01", "31", "chr1", "301", "0"),
        (0x91, "chr1", "301", "=", "101", "-240"),
        (0x181, "chr1", "1201", "=", "101", "-1101"),
    ]


SPLIT = [
    row(0, 100, [(25, "M"), (15, "S")], mapq=40),
    row(1, 500, [(20, "S"), (17, "M"), (3, "S")], 1, SUPPLEMENTARY, 30),
    row(0, 800, [(30, "S"), (10, "M")], 0, SUPPLEMENTARY, 20),
    row(0, 1500, [(22, "M"), (18, "S")], 1, SECONDARY, 0),
]


def sa_item(r, nm):
    return f"{WORLD.names[r.tid]},{r.position + 1},{'+-'[r.reverse]},{text_of(r.cigar)},{r.mapq},{nm};"


def clipped(text, cigar):
    """What hard clips leave of SEQ or QUAL."""
    first = cigar[0][0] if cigar[0][1] == "S" else 0
    last = cigar[-1][0] if cigar[-1][1] == "S" else 0
    return text[first : len(text) - last]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("mark", [False, True])
@pytest.mark.parametrize("eqx", [False, True])
@pytest.mark.parametrize("bases", [False, True])
def test_a_split_read(soft, mark, eqx, bases):
    got = records([(SPLIT,)], soft_clip_supplementary=soft, mark_secondary=mark, eqx=eqx, secondary_seq=bases)
    items = [sa_item(r, g.get_tag("NM")) for r, g in zip(SPLIT, got, strict=True)]
    whole = got[0].query_sequence, got[0].qual
    assert len(whole[0]) == BIG
    flag = SECONDARY if mark else SUPPLEMENTARY
    assert [g.flag for g in got] == [0, flag | 16, flag, SECONDARY | 16]
    for i, (r, g) in enumerate(zip(SPLIT, got, strict=True)):
        read = oriented(whole[0], r.reverse)
        nm, md, split = described(WORLD.sequences[r.tid], r.position, read, r.cigar)
        assert (g.get_tag("NM"), g.get_tag("MD")) == (nm, md)
        assert g.cigarstring.replace("H", "S") == (split if eqx else text_of(r.cigar))
        letter = "H" if (i in (1, 2) or bases and i == 3) and not soft else "S"
        assert re.findall(r"\d+[SH]", g.cigarstring) == [f"{n}{letter}" for n, op in r.cigar if op == "S"]
        if i < 3:
            assert g.get_tag("SA") == "".join(items[k] for k in range(3) if k != i)
        if i < 3 or bases:
            seq, qual = read, whole[1][::-1] if r.reverse else whole[1]
            cut = letter == "H"
            assert g.query_sequence == (clipped(seq, r.cigar) if cut else seq)
            assert g.qual == (clipped(qual, r.cigar) if cut else qual)
        else:
            assert not g.has_tag("SA") and g.query_sequence is None


def test_xa_lists_secondary_rows_only():
    got = records([(SPLIT, [row(0, 300, reverse=1)])], xa=True)
    assert [g.flag for g in got] == [0x61, 0x871, 0x861, 0x91]
    nm = records([(SPLIT,)])[3].get_tag("NM")
    assert got[0].get_tag("XA") == f"chr1,-1501,22M18S,{nm};"
    assert got[0].get_tag("SA").count(";") == 2 and not any(g.has_tag("XA") for g in got[1:])


def test_reads_of_no_batch_are_refused():
    for mate in ([1], [2], [1, 1], [2, 1], [0, 2], [1, 0], [3, 0], [1, 2, 0]):
        arrays = batch_of([([row(0, 5)],)] * min(2, len(mate))).arrays
        arrays[0].mate = np.array(mate, np.uint8)
        with pytest.raises(ValueError, match="mates"):
            to_aligned_segments(*arrays, sam.record_builder(WORLD.header(), WORLD.arrays))


@pytest.mark.parametrize("change", [("cigar_runs", 0), ("position", 0), ("position", 2**32 - 1), ("read", 5)])
@pytest.mark.parametrize("at", [0, 1])
def test_impossible_rows_of_a_pair_are_refused(change, at):
    arrays = batch_of([([row(0, 5)], [row(0, 50)])]).arrays
    arrays[1][change[0]][at] = change[1]
    with pytest.raises(ValueError, match=f"hit row {at if change[0] != 'read' else '[01]'}:"):
        to_aligned_segments(*arrays, sam.record_builder(WORLD.header(), WORLD.arrays))


# The rules, on random pairs


@st.composite
def rows(draw):
    """Rows of one read as the search makes them: primary, supplementary by score, secondary."""
    made = []
    kinds = (
        draw(st.lists(st.sampled_from([SUPPLEMENTARY, SECONDARY]), max_size=4))
        if draw(st.integers(0, 3))
        else None
    )
    for flag in [] if kinds is None else [0, *sorted(kinds, reverse=True)]:
        clips = draw(st.tuples(st.integers(0, 12), st.integers(0, 12)))
        middle = BIG - sum(clips)
        gap = draw(st.sampled_from(["", "I", "D"]))
        cut = draw(st.integers(3, middle - 8))
        inner = [(cut, "M"), (3, gap), (middle - cut - 3 * (gap == "I"), "M")] if gap else [(middle, "M")]
        cigar = [c for c in [(clips[0], "S"), *inner, (clips[1], "S")] if c[0]]
        tid, strand = draw(st.integers(0, 1)), draw(st.integers(0, 1))
        made.append(row(tid, draw(st.integers(0, 1600)), cigar, strand, flag, draw(st.integers(0, 60))))
    return made


pairs = st.lists(st.one_of(st.tuples(rows(), rows()), st.tuples(rows())), min_size=1, max_size=8)
switches = st.fixed_dictionaries(
    {k: st.booleans() for k in ("eqx", "soft_clip_supplementary", "mark_secondary", "secondary_seq")}
)


def five_prime(record):
    return record.reference_end - 1 if record.is_reverse else record.reference_start


def check_mate_fields(record, mate):
    """`mate`: the primary record of the other read."""
    assert record.is_paired and record.is_read1 != record.is_read2 and record.is_read1 == mate.is_read2
    assert record.mate_is_unmapped == mate.is_unmapped and record.mate_is_reverse == mate.is_reverse
    assert (
        record.next_reference_id == mate.reference_id and record.next_reference_start == mate.reference_start
    )
    if mate.is_unmapped:
        assert not record.has_tag("MC") and not record.has_tag("MQ") and not record.is_proper_pair
    else:
        assert record.get_tag("MC") == mate.cigarstring and record.get_tag("MQ") == mate.mapping_quality
    if record.is_unmapped or mate.is_unmapped or record.reference_id != mate.reference_id:
        assert record.template_length == 0
    else:
        apart = five_prime(mate) - five_prime(record)
        assert record.template_length == apart + (apart > 0) - (apart < 0)


def check_template(group):
    primaries = [r for r in group if not r.flag & (SECONDARY | SUPPLEMENTARY)]
    if len(primaries) == 1:
        assert not any(r.flag & 0xEB or r.next_reference_id >= 0 or r.has_tag("MC") for r in group)
        return
    one, two = primaries
    assert one.is_read1 and two.is_read2 and one.template_length == -two.template_length
    for record in group:
        check_mate_fields(record, two if record.is_read1 else one)
    if one.is_unmapped != two.is_unmapped:
        assert (one.reference_id, one.reference_start) == (two.reference_id, two.reference_start)


def check_sa(parts, names):
    """Each part's SA gives the others back, the primary first."""
    shown = []
    for p in parts:
        cigar = re.sub("(\\d+)H", r"\1S", "".join(f"{n}{'MIDNSHPMM'[op]}" for op, n in merged(p.cigartuples)))
        strand = "+-"[p.is_reverse]
        item = names[p.reference_id], p.reference_start + 1, strand, cigar, p.mapping_quality, p.get_tag("NM")
        shown.append(",".join(map(str, item)) + ";")
    for i, p in enumerate(parts):
        assert p.get_tag("SA") == "".join(shown[:i] + shown[i + 1 :])


def merged(runs):
    """= and X as M."""
    out = []
    for op, n in runs:
        op = 0 if op in (7, 8) else op
        if out and out[-1][0] == op == 0:
            out[-1] = (0, out[-1][1] + n)
        else:
            out.append((op, n))
    return out


@settings(max_examples=60, deadline=None)
@given(pairs, switches)
def test_what_random_templates_say(tmp_path_factory, templates, options):
    path = tmp_path_factory.mktemp("pairs") / "out.bam"
    write(path, WORLD, batch_of(templates), **options)
    groups = defaultdict(list)
    with pysam.AlignmentFile(path) as file:
        for record in file:
            groups[record.query_name].append(record)
    assert len(groups) == len(templates)
    for template, group in zip(templates, groups.values(), strict=True):
        check_template(group)
        at = 0
        for read in template:
            got = group[at : at + max(1, len(read))]
            at += len(got)
            n = sum(not r.flag & SECONDARY for r in read)
            assert all(not r.has_tag("SA") for r in (got if n < 2 else got[n:]))
            if n > 1:
                check_sa(got[:n], WORLD.names)
        assert at == len(group)


def many_pairs(rng, n=150):
    """Pairs a library might give, and all that goes wrong with them."""
    templates = []
    for i in range(n):
        proper = PROPER * (i % 5 != 0 and i % 7 != 0 and i % 19 != 18)
        tid, at, reverse = int(rng.integers(2)), int(rng.integers(200, 1200)), int(rng.integers(2))
        strand = 1 - reverse if proper else int(rng.integers(2))
        other = at + int(rng.integers(200)) * (1 - 2 * reverse)
        one = [row(tid, at, reverse=reverse, flag=proper, mapq=i % 61)]
        two = [row(tid, other, reverse=strand, flag=proper)]
        if i % 7 == 0:
            two = [row(1 - tid, at, [(6, "S"), (34, "M")], strand)]
        one = SPLIT if i % 11 == 0 else one if i % 17 else []
        two = two if i % 13 else []
        templates.append((one,) if i % 19 == 18 else (one, two))
    return templates


@pytest.fixture(scope="module")
def library():
    return batch_of(many_pairs(np.random.default_rng(8)))


@pytest.mark.parametrize("extension", ["sam", "cram"])
@pytest.mark.parametrize(
    "options", [{}, {"eqx": True}, {"xa": True}, {"soft_clip_supplementary": True}, {"secondary_seq": True}]
)
def test_formats_agree(tmp_path, library, extension, options):
    kept = {} if extension == "cram" and "eqx" in options else options  # CRAM has M alone, in tags as well
    write(tmp_path / "a.bam", WORLD, library, **kept)
    write(tmp_path / f"b.{extension}", WORLD, library, **options)
    other = lines_in(tmp_path / f"b.{extension}", WORLD.fasta(tmp_path))
    assert sorted_tags(lines_in(tmp_path / "a.bam")) == sorted_tags(other)


# Other programs' opinion


def primaries_of(path):
    with pysam.AlignmentFile(path) as file:
        return [r for r in file if r.is_paired and not r.flag & (SECONDARY | SUPPLEMENTARY)]


@pytest.mark.external("samtools")
def test_samtools_fixmate_finds_nothing_to_mend(tmp_path, library):
    """But that it says MC:Z:* of unmapped mates, and counts TLEN otherwise where a pair does not face inwards."""
    write(tmp_path / "a.bam", WORLD, library)
    subprocess.run(["samtools", "fixmate", "-m", tmp_path / "a.bam", tmp_path / "b.bam"], check=True)
    ours, theirs = primaries_of(tmp_path / "a.bam"), primaries_of(tmp_path / "b.bam")
    assert len(ours) == len(theirs) > 200
    inward = 0
    for a, b in zip(ours, theirs, strict=True):
        fields = (
            "query_name", "reference_id", "reference_start", "next_reference_id", "next_reference_start",
        )  # fmt: skip
        assert [getattr(a, f) for f in fields] == [getattr(b, f) for f in fields]
        assert a.flag & ~PROPER == b.flag & ~PROPER
        if not a.mate_is_unmapped:
            assert (a.get_tag("MC"), a.get_tag("MQ")) == (b.get_tag("MC"), b.get_tag("MQ"))
        if a.is_reverse != a.mate_is_reverse and (a.template_length > 0) != a.is_reverse:
            assert a.template_length == b.template_length
            inward += a.template_length != 0
        else:
            assert abs(a.template_length - b.template_length) <= 2
    assert inward > 100

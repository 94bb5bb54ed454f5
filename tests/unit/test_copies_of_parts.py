"""The further places of each part of a read, and of mates: tags, secondary records, XA."""

import re

import numpy as np
import pysam
import pytest
from text_bases import COMPLEMENT, reverse_complement

import gassst
from gassst.model.reference import Reference


class World:
    """A unique contig, one with 12 copies of a unit of 120 bases, and one with 2 of another, one of them reversed."""

    def __init__(self):
        rng = np.random.default_rng(12)
        self.contigs = {"unique": self.drawn(rng, 3000)}
        self.repeat, self.twice = self.drawn(rng, 120), self.drawn(rng, 120)
        self.contigs["repeat"] = "".join(self.drawn(rng, 230) + self.repeat for _ in range(12))
        sides = self.drawn(rng, 300), self.drawn(rng, 300), self.drawn(rng, 300)
        self.contigs["twice"] = sides[0] + self.twice + sides[1] + reverse_complement(self.twice) + sides[2]
        reference = Reference.from_sequences([(name, text.encode()) for name, text in self.contigs.items()])
        self.index = gassst.Index.build(reference)

    @staticmethod
    def drawn(rng, n):
        return "".join(rng.choice(list("ACGT"), n))

    def copies(self, bases):
        """Every place of these bases, by search in the text: contig, first base, strand."""
        return {
            (name, found.start(), is_reverse)
            for name, text in self.contigs.items()
            for is_reverse, side in enumerate((bases, reverse_complement(bases)))
            for found in re.finditer(f"(?={side})", text)
        }

    def records(self, folder, bases, xa=False, **options):
        (folder / "r.fq").write_text(f"@r\n{bases}\n+\n{'I' * len(bases)}\n")
        mapper = gassst.Mapper(self.index, device="none", **options)
        mapper.map_file(folder / "r.fq", folder / "r.sam", more_tags=("X0", "X1", "NH", "HI"), xa=xa)
        with pysam.AlignmentFile(folder / "r.sam") as file:
            return list(file)


@pytest.fixture(scope="module")
def world():
    return World()


def split_reads(world):
    unique, repeat, twice = world.contigs["unique"], world.repeat, world.twice
    return {
        "primary in the repeat": repeat[:81] + unique[1000:1050],
        "supplementary in the repeat": unique[1000:1080] + repeat[20:70],
        "both in repeats": repeat[10:90] + twice[30:92],
        "supplementary in two places": unique[2000:2080] + twice[:50],
        "three parts": unique[100:160] + repeat[30:85] + twice[40:90],
    }


def placed(record):
    return record.reference_name, record.reference_start, int(record.is_reverse)


def forward(record):
    aligned = record.query_alignment_sequence
    return reverse_complement(aligned) if record.is_reverse else aligned


@pytest.mark.parametrize("name", split_reads(World()))
def test_tags_are_those_of_the_part(world, name, tmp_path):
    for record in world.records(tmp_path, split_reads(world)[name]):
        copies = world.copies(forward(record))
        assert placed(record) in copies
        assert record.get_tag("X0") == record.get_tag("NH") == len(copies)
        assert record.has_tag("XS") == (len(copies) > 1)
        assert not record.has_tag("XS") or record.get_tag("XS") == record.get_tag("AS")


def test_a_copy_that_scores_too_little_to_be_reported_is_a_rival_of_a_part(tmp_path):
    """A part of 30 bases had MAPQ 46 beside eight copies that differ in one base, and score 25."""
    rng = np.random.default_rng(3)
    unique, family = World.drawn(rng, 4000), list(World.drawn(rng, 30))
    own = family.copy()
    own[25] = "ACGT"["ACGT".index(family[25]) ^ 1]
    copies = "".join(World.drawn(rng, 300) + "".join(copy) for copy in [own] + 8 * [family])
    world = World.__new__(World)
    contigs = [("unique", unique.encode()), ("copies", (copies + World.drawn(rng, 300)).encode())]
    world.index = gassst.Index.build(Reference.from_sequences(contigs))
    primary, part = world.records(tmp_path, unique[1000:1080] + "".join(own))
    assert (primary.mapping_quality, part.cigarstring, part.reference_start) == (60, "80H30M", 300)
    assert part.get_tag("XS") < part.get_tag("AS") == 30
    assert 5 < part.mapping_quality < 13  # one of them alone, which scores 27, would leave 13


@pytest.mark.parametrize("name", split_reads(World()))
@pytest.mark.parametrize("most", [3, 100])
def test_each_part_lists_its_own_copies(world, name, most, tmp_path):
    bases = split_reads(world)[name]
    rows = world.records(tmp_path, bases, max_hits=most)
    parts = [row for row in rows if not row.is_secondary]
    assert len(parts) == (3 if name == "three parts" else 2)
    listed, folded = 0, world.records(tmp_path, bases, max_hits=most, xa=True)
    assert [row.flag for row in folded] == [row.flag for row in parts]
    for part, whole in zip(parts, folded, strict=True):
        clips = re.findall(r"\d+(?=[SH])", part.cigarstring)
        own = [
            row for row in rows
            if row.is_secondary and sorted(re.findall(r"\d+(?=S)", row.cigarstring)) == sorted(clips)
        ]  # fmt: skip
        copies = world.copies(forward(part))
        found = {placed(row) for row in own}
        assert len(found) == len(own) == min(len(copies), most) - 1
        assert found < copies and placed(part) not in found
        assert [row.get_tag("HI") for row in (part, *own)] == [*range(1, len(own) + 2)]
        assert {row.get_tag("NH") for row in (part, *own)} == {len(copies)}
        text = whole.get_tag("XA") if whole.has_tag("XA") else ""
        items = [item.split(",") for item in text.split(";")[:-1]]
        assert {(item[0], abs(int(item[1])) - 1, int(item[1][0] == "-")) for item in items} == found
        listed += len(own)
    assert listed == sum(row.is_secondary for row in rows)


class CopiesWorld:
    """Changed copies of 150 bases, and what each of them scores."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.read = World.drawn(rng, 150)
        changed = [
            (self.read, 150),
            (self.mismatches(1), 145),
            (self.read[:110] + self.read[115:], 134),
            (self.read[:60] + World.drawn(rng, 12) + self.read[60:], 132),
            (self.mismatches(5), 125),
            (self.mismatches(8), 110),
            (World.drawn(rng, 89) + self.read[89].translate(COMPLEMENT) + self.read[90:], 60),
            (self.read[:40] + self.read[40].translate(COMPLEMENT) + World.drawn(rng, 109), 40),
        ]
        text, self.scores = World.drawn(rng, 500), {}
        for i, (copy, score) in enumerate(changed):
            is_reverse = i % 3 == 1
            self.scores[len(text), is_reverse] = score
            text += (reverse_complement(copy) if is_reverse else copy) + World.drawn(rng, 500)
        self.index = gassst.Index.build(Reference.from_sequences([("c", text.encode())]))

    def mismatches(self, n):
        bases = list(self.read)
        for at in range(12, 12 + 15 * n, 15):
            bases[at] = bases[at].translate(COMPLEMENT)
        return "".join(bases)

    def found(self, **options):
        """Scores of the records by the planted copy that they touch."""
        found = {}
        for record in gassst.Mapper(self.index, device="none", **options).map(
            [("r", self.read, "I" * 150), ("s", reverse_complement(self.read), "I" * 150)]
        ):
            [at] = [at for at, _ in self.scores if at - 5 <= record.reference_start < at + 150]
            place = at, record.is_reverse != (record.query_name == "s")
            assert (record.query_name, place) not in found
            found[record.query_name, place] = record.get_tag("AS")
        return found

    def least(self, score):
        return {(name, place): s for name in "rs" for place, s in self.scores.items() if s >= score}


@pytest.fixture(scope="module")
def copies():
    return CopiesWorld()


def test_k_lists_what_scores_four_fifths_of_the_best(copies):
    assert copies.found(max_hits=100) == copies.least(120)
    assert len(copies.found(max_hits=3)) == 6


def test_all_local_alignments_down_to_the_least_score(copies):
    assert copies.found(all_hits=True, mode="local") == copies.least(30)


@pytest.mark.parametrize("options", [{"max_hits": 9}, {"all_hits": True, "mode": "local"}])
def test_no_further_place_scores_less_than_is_asked_for(copies, options):
    scoring = gassst.Scoring(min_score=133)
    assert copies.found(scoring=scoring, **options) == copies.least(133)


READ, INSERT = 100, 320


class Template:
    """Five copies of 400 bases on both strands, one of its first half alone, and one of its second half elsewhere."""

    def __init__(self):
        rng = np.random.default_rng(4)
        self.unit = World.drawn(rng, 400)
        text, self.copies = World.drawn(rng, 2000), []
        for is_reverse in (0, 1, 1, 0, 1):
            self.copies.append((len(text), is_reverse))
            text += reverse_complement(self.unit) if is_reverse else self.unit
            text += World.drawn(rng, 2000)
        text += self.unit[:200] + World.drawn(rng, 3000)
        other = World.drawn(rng, 2000) + self.unit[200:] + World.drawn(rng, 500)
        contigs = [("one", text.encode()), ("other", other.encode())]
        self.index = gassst.Index.build(Reference.from_sequences(contigs))

    def records(self, **options):
        first, last = (
            self.unit[40 : 40 + READ],
            reverse_complement(self.unit[40 + INSERT - READ : 40 + INSERT]),
        )
        mapper = gassst.Mapper(self.index, device="none", insert=(float(INSERT), 20.0), **options)
        return list(mapper.map([("r", first, "I" * READ)], [("r", last, "I" * READ)]))


@pytest.fixture(scope="module")
def template():
    return Template()


def five_prime(record):
    return record.reference_end - 1 if record.is_reverse else record.reference_start


def names(record, mate):
    """Whether a record says of the other read what this record of it is."""
    apart = five_prime(mate) - five_prime(record) if record.reference_id == mate.reference_id else 0
    return (
        record.next_reference_id == mate.reference_id
        and record.next_reference_start == mate.reference_start
        and record.mate_is_reverse == mate.is_reverse
        and record.template_length == apart + (apart > 0) - (apart < 0)
        and record.get_tag("MC") == mate.cigarstring
        and record.get_tag("MQ") == mate.mapping_quality
    )


@pytest.mark.parametrize(
    "options", [{"max_hits": 20}, {"all_hits": True}, {"all_hits": True, "mode": "local"}]
)
def test_mates_in_one_copy_name_each_other(template, options):
    records = template.records(**options)
    sides = [[r for r in records if r.is_read1 == is_first] for is_first in (True, False)]
    assert [len(side) for side in sides] == [6, 6]
    found = set()
    for own, others in (sides, sides[::-1]):
        for record in own:
            [mate] = [other for other in others if names(record, other)]
            at = record.reference_start if record.reference_name == "one" else -1
            in_copy = [copy for copy in template.copies if copy[0] <= at < copy[0] + 400]
            assert record.is_proper_pair == bool(in_copy)
            if in_copy:
                assert abs(record.template_length) == INSERT
                assert record.is_reverse == (in_copy[0][1] != record.is_read2)
                found.add((record.is_read1, in_copy[0]))
            else:
                assert not mate.is_secondary and record.is_secondary
    assert found == {(is_first, copy) for is_first in (True, False) for copy in template.copies}

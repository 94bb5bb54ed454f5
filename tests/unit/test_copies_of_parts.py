"""The further places of each part of a read: its tags, its secondary records, its XA."""

import re

import numpy as np
import pysam
import pytest

import gassst
from gassst.index.reference import Reference

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def reverse_complement(bases):
    return bases.translate(COMPLEMENT)[::-1]


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

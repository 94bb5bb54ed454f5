"""`gassst.align.find`: every place against textbook code, and what is refused."""

from __future__ import annotations

import random
from functools import cache
from importlib import import_module

import pytest

from gassst import align
from gassst.errors import InputError, UsageError

find_module = import_module("gassst.align.find")  # the package has the function under this name
BASES_OF = {
    "A": "A", "C": "C", "G": "G", "T": "T", "U": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC",
    "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip
COMPLEMENT = dict(zip("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN", strict=True))
DNA = "ACGT"


def reverse_complement(pattern: str) -> str:
    return "".join(COMPLEMENT[letter] for letter in reversed(pattern.upper().replace("U", "T")))


def fits(letter: str, base: str) -> bool:
    base = base.upper().replace("U", "T")
    return base in DNA and base in BASES_OF[letter.upper()]


def table(pattern: str, contig: str) -> list[list[int]]:
    """Fewest edits of each beginning of the pattern with any stretch that ends at each position."""
    rows = [[0] * (len(contig) + 1)]
    for i, letter in enumerate(pattern, 1):
        row = [i]
        for j, base in enumerate(contig, 1):
            row.append(min(rows[-1][j - 1] + (not fits(letter, base)), rows[-1][j] + 1, row[-1] + 1))
        rows.append(row)
    return rows


def path(pattern: str, contig: str, rows: list[list[int]], end: int) -> tuple[int, str]:
    """Start and CIGAR of the path that the docstring describes."""
    i, j, steps = len(pattern), end, ""
    while i:
        if j and rows[i][j] == rows[i - 1][j - 1] + (not fits(pattern[i - 1], contig[j - 1])):
            steps += "=" if fits(pattern[i - 1], contig[j - 1]) else "X"
            i, j = i - 1, j - 1
        elif j and rows[i][j] == rows[i][j - 1] + 1:
            steps, j = steps + "D", j - 1
        else:
            steps, i = steps + "I", i - 1
    cigar, steps = "", steps[::-1]
    while steps:
        length = len(steps) - len(steps.lstrip(steps[0]))
        cigar, steps = cigar + f"{length}{steps[0]}", steps[length:]
    return j, cigar


def local_minima(edits: list[int], k: int) -> list[int]:
    """Ends whose run of equal values is entered from above and left upwards; what is above k counts as one height."""
    heights = [min(e, k + 1) for e in edits] + [k + 1]
    found = []
    for j in range(1, len(heights) - 1):
        before = next((heights[i] for i in range(j - 1, -1, -1) if heights[i] != heights[j]), k + 1)
        if heights[j] <= k and heights[j + 1] > heights[j] and before > heights[j]:
            found.append(j)
    return found


@cache
def brute_force(patterns, contigs, k, both_strands=True):
    found = []
    for c, contig in enumerate(contigs):
        for p, pattern in enumerate(patterns):
            for strand in (0, 1)[: 1 + both_strands]:
                turned = reverse_complement(pattern) if strand else pattern
                rows = table(turned, contig)
                for end in local_minima(rows[-1], k):
                    start, cigar = path(turned, contig, rows, end)
                    found.append((c, end, p, strand, start, rows[-1][end], cigar))
    return sorted(found)


def places(*arguments, **options):
    found = align.find(*arguments, **options)
    assert len(found) == len(found.run_start) - 1 == len(list(found))
    return [
        (int(found.contig[i]), place.end, int(found.pattern[i]), int(place.strand == "-"), place.start, place.edits,
         place.cigar)
        for i, place in enumerate(found)
    ]  # fmt: skip


def world(rng: random.Random, letters: str, sizes, n_patterns: int, lengths, codes: str = DNA):
    """Contigs, and patterns of which most are stretches of them with some changes."""
    contigs = ["".join(rng.choice(letters) for _ in range(rng.choice(sizes))) for _ in range(2)]
    patterns = []
    for _ in range(n_patterns):
        length = rng.choice(lengths)
        contig = rng.choice([c for c in contigs if len(c) >= length])
        at = rng.randint(0, len(contig) - length)
        pattern = [c if c in DNA else "A" for c in contig[at : at + length].upper().replace("U", "T")]
        for _ in range(rng.randint(0, 4)):
            place, change = rng.randrange(len(pattern)), rng.choice("XXID")
            if change == "I" and len(pattern) < 64:
                pattern.insert(place, rng.choice(codes))
            elif change == "D":
                del pattern[place]
            else:
                pattern[place] = rng.choice(codes)
        turned = "".join(pattern)
        patterns.append(reverse_complement(turned) if rng.random() < 0.5 else turned)
    return tuple(patterns), tuple(contigs)


@pytest.fixture(params=["columns", "words", "words, short blocks"])
def way(request, monkeypatch):
    """All columns; listed words; listed words, where most places lie near the end of a block or of a batch."""
    monkeypatch.setattr(find_module, "SMALL_TEXT", 1e12 if request.param == "columns" else 0)
    if "short" in request.param:
        monkeypatch.setattr(find_module, "BLOCK_LETTERS", 7)
        monkeypatch.setattr(find_module, "BATCH_LETTERS", 150)
        monkeypatch.setattr(find_module, "SMALL_WORK", 0)


@pytest.mark.parametrize("seed", range(8))
def test_all_places(way, seed):
    rng = random.Random(seed)
    k = rng.choice([0, 1, 2, 3, 4, 6])
    patterns, contigs = world(rng, "ACGT" * 8 + "acgtNU", (70, 100, 130), 15, (12, 17, 20, 23, 40, 64))
    assert places(patterns, contigs, k, threads=rng.choice([1, 3])) == brute_force(patterns, contigs, k)


@pytest.mark.parametrize("seed", range(6))
def test_iupac_codes(way, seed):
    rng = random.Random(100 + seed)
    k = rng.choice([0, 1, 3])
    patterns, contigs = world(rng, "ACGTRYN", (70, 120), 5, (8, 20, 23), "RYSWKMBDHVN")
    assert places(patterns, contigs, k) == brute_force(patterns, contigs, k)


def test_records_and_files(tmp_path):
    (tmp_path / "patterns.fa").write_text(">guide one\nACGTACCATTG\n>other\nGGGGGGCCCCC\n")
    (tmp_path / "text.fa").write_text(">chr1 x\nTTTTTACGTACC\nATTGTT\n>chr2\nCAATGGTACTT\n")
    found = align.find(tmp_path / "patterns.fa", str(tmp_path / "text.fa"), 2)
    assert list(found) == [
        ("guide", "chr1", 5, 16, "+", 0, "11="),
        ("guide", "chr2", 0, 11, "-", 1, "9=1X1="),
    ]
    assert found[-1].strand == "-" and found[0].cigar == "11="
    sequences = align.read_sequences(tmp_path / "text.fa", align.DNA)
    assert list(align.find(tmp_path / "patterns.fa", sequences, 2)) == list(found)
    codes = [sequences[0], sequences[1]]
    assert [place[2:] for place in align.find(["acgtaccattg"], codes, 2)] == [place[2:] for place in found]
    with pytest.raises(IndexError):
        found[2]
    assert list(align.find(["ACGTACCATTG"], ["TTTTTTTTT"], 2)) == []


@pytest.mark.parametrize(
    ("patterns", "text", "k", "error", "says"),
    [
        (["ACGX"], ["ACGT"], 1, InputError, "'X' at 4 is not a letter"),
        (["ACGT", "AC"], ["ACGT"], 2, UsageError, "less than the 2 letters of pattern 2"),
        (["A" * 65], ["ACGT"], 1, InputError, "65 letters; 64 are the limit"),
        (["ACGT"], ["ACGT"], -1, UsageError, "not negative"),
        (["ACGT"], ["ACGT"], 1.5, UsageError, "integer"),
        (["ACGT"], [("c1", "ACGT"), ("c2", "AC*T")], 1, InputError, "'*' at 3 of contig c2"),
        (["ACGT"], ["AC\0T"], 1, InputError, "at 3 of contig 1"),
        (["ACGT"], [""], 1, InputError, "empty"),
        (["ACGT"], [], 1, InputError, "no sequence"),
        ([], ["ACGT"], 1, InputError, "no sequence"),
        (["ACGT"], b"ACGT", 1, UsageError, "put a single sequence into a list"),
        (["ACGT"], "ACGT", 1, InputError, "put a single sequence into a list"),
        (["ACGT"], 5, 1, UsageError, "neither a path nor a list"),
        (["ACGT"], "missing.fa", 1, InputError, "missing.fa: No such file"),
    ],
)
def test_refused(patterns, text, k, error, says, way):
    with pytest.raises(error) as caught:
        align.find(patterns, text, k)
    assert says in str(caught.value) and "\n" not in str(caught.value)

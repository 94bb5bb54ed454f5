"""Which reads are mapped and where they go: ranges, trimmed ends, no place, and several places."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pysam
import pytest
from map_runs import run

from gassst.cli.main import main


@pytest.fixture
def lines(run, small_index, tmp_path):
    """Maps, and gives the records."""

    def records(*argv: object) -> list[str]:
        out = tmp_path / "out.sam"
        code, _, error = run("map", "-q", small_index, *argv, "--device", "none", "-o", out)
        assert code == 0, error
        return [line for line in out.read_text().splitlines() if line[0] != "@"]

    return records


def write(path, reads, mate="", end="\n"):
    text = "".join(f"@{n}{mate}\n{s}\n+\n{q}\n" for n, s, q in reads).removesuffix("\n") + end
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def cut(reads, five, three):
    return [(n, s[five : len(s) - three], q[five : len(q) - three]) for n, s, q in reads]


@pytest.mark.parametrize(
    "skip, upto, more",
    [
        (0, 30, []),
        (13, 30, ["--batch-size", "7"]),
        (40, None, ["-t", "2", "--batch-size", "3"]),
        (25, 1, ["--batch-size", "7"]),
        (10_000, None, []),
    ],
)
def test_range_over_two_lanes(lines, small_reads, tmp_path, skip, upto, more):
    """The first lane lacks its last line end."""
    reads = small_reads[:60]
    lanes = [write(tmp_path / "a.fq", reads[:25], end=""), write(tmp_path / "b.fq.gz", reads[25:])]
    wanted = reads[skip:] if upto is None else reads[skip : skip + upto]
    expected = lines(write(tmp_path / "wanted.fq", wanted)) if wanted else []
    options = ["--skip", skip, *([] if upto is None else ["--upto", upto]), *more]
    assert lines("--single", *lanes, *options) == expected


@pytest.mark.parametrize("interleaved", [False, True])
def test_range_counts_pairs(lines, small_reads, tmp_path, interleaved):
    reads = small_reads[:40]
    two = [(n, s[::-1], q) for n, s, q in reads]

    def files(part, name):
        if interleaved:
            both = [x for pair in zip(reads[part], two[part], strict=True) for x in pair]
            return ["--interleaved", write(tmp_path / f"{name}.fq", both)]
        return [
            write(tmp_path / f"{name}.1.fq", reads[part], "/1"),
            write(tmp_path / f"{name}.2.fq", two[part], "/2"),
        ]

    insert = ["--insert", "300,30"]
    expected = lines(*files(slice(5, 17), "part"), *insert)
    assert (
        lines(*files(slice(None), "all"), "--skip", 5, "--upto", 12, "--batch-size", 4, *insert) == expected
    )


@pytest.mark.parametrize("five, three", [(3, 0), (5, 6), (500, 1)])
@pytest.mark.parametrize("pairs", [False, True])
def test_trimmed_ends(lines, small_reads, tmp_path, five, three, pairs):
    reads = small_reads[:50]
    whole, short = ([], [])
    for mate in ("/1", "/2")[: 1 + pairs]:
        name = mate.strip("/")
        whole.append(write(tmp_path / f"whole{name}.fq", reads, mate))
        short.append(write(tmp_path / f"short{name}.fq", cut(reads, five, three), mate))
    assert lines(*whole, "--trim5", five, "--trim3", three) == lines(*short)


@pytest.fixture(scope="module")
def pairs(small_genome):
    """Both mates, the first, the second and no mate from the genome, in turn; the names say which."""
    rng = np.random.default_rng(8)
    complement = bytes.maketrans(b"ACGT", b"TGCA")
    contig = small_genome["one"]
    found = []
    for i in range(80):
        at = int(rng.integers(8000, 38_000))
        mates = [contig[at : at + 80], contig[at + 220 : at + 300].translate(complement)[::-1]]
        for mate in range(2):
            if i % 4 in (mate + 1, 3):
                mates[mate] = bytes(rng.choice(list(b"ACGT"), 80).astype(np.uint8))
        found.append((f"p{i}", *(mate.decode() for mate in mates)))
    return found


@pytest.fixture(scope="module")
def files(pairs, tmp_path_factory):
    paths = [tmp_path_factory.mktemp("pairs") / f"R{mate}.fq" for mate in (1, 2)]
    for mate, path in enumerate(paths):
        path.write_text("".join(f"@{row[0]}\n{row[mate + 1]}\n+\n{'HI'[mate] * 80}\n" for row in pairs))
    return paths


def oracle(folder, alignments, *choice):
    """Text of first and of second mates, by samtools."""
    chosen = folder / "chosen.bam"
    pysam.view("-b", "-o", str(chosen), *choice, str(alignments), catch_stdout=False)
    outputs = [folder / f"o{mate}.fq" for mate in (1, 2)]
    pysam.fastq("-1", str(outputs[0]), "-2", str(outputs[1]), "-0", "/dev/null", str(chosen))
    return [path.read_text() for path in outputs]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "options, choice, pairs_written",
    [((), ("-f", "12"), 20), (("--unmapped-either",), ("-e", "flag.unmap || flag.munmap"), 60)],
)
def test_pairs_in_two_files(small_index, files, tmp_path, options, choice, pairs_written, threads):
    out, one, two = tmp_path / "o.bam", tmp_path / "u1.fq.gz", tmp_path / "u2.fq"
    options = (*options, "-t", threads, "--batch-size", "14")
    assert run(small_index, *files, "-o", out, "--unmapped", one, "--unmapped2", two, *options) == 0
    written = [gzip.decompress(one.read_bytes()).decode(), two.read_text()]
    assert written == oracle(tmp_path, out, *choice)
    assert [text.count("\n") for text in written] == [4 * pairs_written] * 2


def test_single_reads_are_in_neither_file(small_index, files, tmp_path, capfd):
    both = tmp_path / "both.fq"
    records = zip(*(path.read_text().split("@")[1:] for path in files), strict=True)
    alone = f"@alone\n{'ACGGT' * 20}\n+\n{'I' * 100}\n"
    both.write_text(alone + "".join(f"@{one}@{two}" for one, two in records) + alone)
    out, one, two = tmp_path / "o.bam", tmp_path / "u1.fq", tmp_path / "u2.fq"
    outputs = ("-o", out, "--unmapped", one, "--unmapped2", two, "--device", "none")
    assert main(["map", *map(str, (small_index, "--interleaved", both, *outputs))]) == 0
    assert [one.read_text(), two.read_text()] == oracle(tmp_path, out, "-f", "13")
    assert "2 unmapped single reads are not in the files of unmapped pairs" in capfd.readouterr().err


COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two contigs that share 1 kb; pairs in it, at its edges, outside it, and of something else."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("unique")
    one, two, foreign = ("".join(rng.choice(list("ACGT"), n)) for n in (6000, 3000, 9000))
    two = one[2000:3000] + two
    (folder / "ref.fa").write_text(f">one\n{one}\n>two\n{two}\n")
    with open(folder / "R1.fq", "w") as first, open(folder / "R2.fq", "w") as second:
        for i in range(300):
            source = foreign if i % 10 == 0 else (one, two)[i % 2]
            at = int(rng.integers(len(source) - 400))
            piece = source[at : at + 400]
            piece = piece[:200] + foreign[at : at + 200] if i % 10 == 5 else piece
            for file, read in ((first, piece[:80]), (second, piece[-80:].translate(COMPLEMENT)[::-1])):
                file.write(f"@r{i}\n{read}\n+\n{'I' * 80}\n")
    assert main(["index", "-q", str(folder / "ref.fa")]) == 0
    return folder


def mapped(world, out, *argv):
    stats = out.with_suffix(".json")
    given = ["--device", "none", "-t", "1", "--stats", str(stats), "-o", str(out), *argv]
    assert main(["map", "-q", str(world / "ref.gsi"), *given]) == 0
    counts = json.loads(stats.read_text())
    if out.suffix == ".paf":
        return out.read_text().splitlines(), counts
    with pysam.AlignmentFile(str(out), reference_filename=str(world / "ref.fa"), check_sq=False) as file:
        return [record.to_string() for record in file], counts


def names_with_one(records):
    primary = [line.split("\t") for line in records if not int(line.split("\t")[1]) & 0x900]
    return {fields[0] for fields in primary if not int(fields[1]) & 4 and int(fields[4])}


@pytest.mark.parametrize("files", [["R1.fq"], ["R1.fq", "R2.fq"]], ids=["single", "pairs"])
@pytest.mark.parametrize(
    "name, more",
    [
        ("o.sam", []),
        ("o.bam", ["--sort"]),
        ("o.cram", ["-k", "5"]),
        ("o.bam", ["-k", "5", "--xa", "--no-unmapped"]),
        ("o.sam", ["--mode", "global"]),
    ],
)
def test_reads_of_several_positions_are_left_out(world, tmp_path, name, files, more):
    reads = [str(world / file) for file in files]
    every, counts = mapped(world, tmp_path / f"all.{name}", *reads, *more)
    found, same = mapped(world, tmp_path / name, *reads, *more, "--unique")
    kept = names_with_one(every)
    assert 100 < len(kept) < 270
    assert found == [line for line in every if line.split("\t")[0] in kept]
    assert same["mapq"] == counts["mapq"] and same["mapped"] == counts["mapped"]
    if len(files) == 2 and not more:
        assert any(int(line.split("\t")[1]) & 4 for line in found)  # beside a mate with one position


def test_paf_too(world, tmp_path):
    every, _ = mapped(world, tmp_path / "all.paf", str(world / "R1.fq"))
    found, _ = mapped(world, tmp_path / "o.paf", str(world / "R1.fq"), "--unique")
    assert found == [line for line in every if line.split("\t")[11] != "0"] != every

"""Names of contigs that SAM forbids: an error that says what helps, and `gassst index --rename`."""

import pysam
import pytest

import gassst

NAMES = ["ok", "a,b", "a_b", "a,b", "a(b", "*x", "=y", "caf\u00e9", "a_b_2", "ok", "\u00e9", "\u00e8", "x*=y"]
RENAMED = ["ok", "a_b", "a_b_2", "a_b_3", "a_b_4", "_x", "_y", "caf_", "a_b_2_2", "ok_2", "_", "__2", "x*=y"]
BASES = ["ACGTTGCA", "GGATCCTA", "TTGACATG", "CCGTAATC", "GATTACAG", "CATGGTAC", "AACCGTTA", "TGCATTGC"]


def write(path, names):
    contigs = (BASES[i % 8] * 3 + BASES[i // 8] * 3 + BASES[(5 * i + 3) % 8] for i in range(len(names)))
    path.write_text("".join(f">{name} more\n{bases}\n" for name, bases in zip(names, contigs, strict=True)))
    return path


@pytest.mark.parametrize("command", ["index", "map", "mem"])
@pytest.mark.parametrize("names", [["a,b"], ["*"], ["x", "x"], ["\u00e9"]])
def test_the_error_names_the_option(run, small_fastq, tmp_path, command, names):
    fasta = write(tmp_path / "a.fa", names)
    code, out, error = run(command, fasta, *([] if command == "index" else [small_fastq]))
    assert (code, out) == (1, "")
    assert error.splitlines()[-1].endswith("; `gassst index --rename` changes it")
    assert [path.name for path in tmp_path.iterdir()] == ["a.fa"]


@pytest.mark.parametrize("more", [[], ["--parts", "2"], ["--meth"]])
def test_names_are_changed_on_demand(run, tmp_path, more):
    fasta = write(tmp_path / "a.fa", NAMES)
    code, _, error = run("index", fasta, "--rename", *more)
    assert code == 0
    assert "11 of 13 contigs renamed: a,b is a_b" in error
    index = gassst.Index.open(tmp_path / ("a.meth.gsi" if "--meth" in more else "a.gsi"))
    assert index.reference.names == RENAMED


def test_records_and_files_have_the_new_names(run, tmp_path, small_genome):
    sequences = [bases.decode() for bases in small_genome.values()]
    names = ["one,1", "two", "thr[ee]"]
    fasta, reads = tmp_path / "a.fa", tmp_path / "r.fa"
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in zip(names, sequences, strict=True)))
    reads.write_text("".join(f">{i}\n{bases[900:1000]}\n" for i, bases in enumerate(sequences)))
    assert run("index", "-q", fasta, "--rename")[0] == 0
    out = tmp_path / "o.bam"
    assert run("map", "-q", fasta, reads, "--device", "none", "-o", out)[0] == 0
    with pysam.AlignmentFile(out) as file:
        assert file.references == ("one_1", "two", "thr_ee_")
        assert [record.reference_name for record in file] == list(file.references)


def test_a_list_of_alt_contigs_may_have_the_old_names(run, tmp_path):
    fasta = write(tmp_path / "a.fa", ["x", "HLA,1"])
    (tmp_path / "a.fa.alt").write_text("HLA,1\n")
    assert run("index", "-q", fasta, "--rename")[0] == 0
    assert "contig\tHLA_1\t56\tALT" in run("info", tmp_path / "a.gsi")[1]

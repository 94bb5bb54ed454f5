"""An index in parts beside one in one piece: the same records, and clear errors."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from pathlib import Path

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.cli import main as cli
from gassst.errors import IndexFormatError, InputError
from gassst.index.build_parts import MAX_PARTS, _cuts, build_parts
from gassst.index.parts import part_files, part_path
from gassst.index.seed_index import SeedIndex

N_PARTS = 3
STEPS = (1, 2, 4)
MODES = {
    "best": {},
    "all": {"all_hits": True},
    "local": {"mode": "local"},
    "few occurrences": {"sensitivity": 0, "max_hits": 5},
    "every seed": {"sensitivity": 5, "max_hits": 3},
    "short seeds": {"seed_length": 10, "all_hits": True},
}


def test_parts_of_an_index_that_is_replaced_are_gone(small_fasta, tmp_path):
    """Those of this index alone: files of such names may be anything."""
    path = tmp_path / "x.gsi"
    build_parts(small_fasta, tmp_path / "y.gsi", 4, step=2)
    for parts in (4, 2, 4, 3, None):
        strange = Path(part_path(str(path), 4 if parts == 3 else 9))
        shutil.copy(tmp_path / "y.part4.gsi", strange)
        if parts is None:
            SeedIndex.build(small_fasta).save(path)
        else:
            parts = len(build_parts(small_fasta, path, parts).parts)
        expected = {part_path(str(path), number) for number in range(1, (parts or 0) + 1)}
        assert {*part_files(str(path))} == {*expected, str(strange)}
        strange.unlink()
        SeedIndex.open(path, check=True)


@pytest.mark.parametrize("second", [2, 4, None])
def test_two_runs_for_one_index(small_fasta, tmp_path, monkeypatch, second):
    """Another run is done, or waits, when the first file of this one takes its name: the files of one are left."""
    path, was_called, may_go_on = tmp_path / "x.gsi", threading.Event(), threading.Event()

    def run_other():
        if second is None:
            SeedIndex.build(small_fasta, step=2).save(path)
        else:
            build_parts(small_fasta, path, second, step=2)
        may_go_on.set()

    other = threading.Thread(target=run_other)

    def replace(old, new):
        if not was_called.is_set():
            was_called.set()
            other.start()
            assert may_go_on.wait(60)
        return real_replace(old, new)

    def flock(fd, how):
        of_the_folder = os.path.samestat(os.fstat(fd), os.stat(tmp_path))
        if threading.current_thread() is other and of_the_folder:
            may_go_on.set()
        return real_flock(fd, how)

    real_replace, real_flock = os.replace, fcntl.flock
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(fcntl, "flock", flock)
    index = build_parts(small_fasta, path, 3)
    assert len(index.parts) == 3 and index.step == 1
    other.join(60)
    left = SeedIndex.open(path, check=True)
    assert (left.step, len(left.parts)) == (2, second or 0)
    assert sorted(part_files(str(path))) == [part_path(str(path), i + 1) for i in range(second or 0)]


@pytest.mark.parametrize("content", [b"", b"no index", b">a\nACGT\n"])
def test_parts_beside_a_file_that_is_no_index_stay(small_fasta, tmp_path, content):
    (tmp_path / "x.gsi").write_bytes(content)
    (tmp_path / "x.part1.gsi").write_bytes(b"a part of something")
    SeedIndex.build(small_fasta).save(tmp_path / "x.gsi")
    assert (tmp_path / "x.part1.gsi").read_bytes() == b"a part of something"


@pytest.fixture(scope="module")
def contigs() -> dict[str, bytes]:
    """A repeat that all contigs share, tandem repeats, one base for long, masked bases."""
    rng = np.random.default_rng(3)
    shared = bf.random_bases(rng, 500)
    copies = [bf.mutate(rng, shared, 6) for _ in range(30)]
    tandem = bf.random_bases(rng, 9) * 40
    return {
        "repeats": b"".join(bf.random_bases(rng, 300) + copy for copy in copies),
        "own": bf.random_bases(rng, 9_000) + b"N" * 40 + shared + tandem,
        "low": b"A" * 200 + bf.random_bases(rng, 4_000) + shared + b"AT" * 150,
    }


@pytest.fixture(scope="module")
def singles(contigs) -> list[tuple[str, str, None]]:
    rng = np.random.default_rng(4)
    reads = []
    for i in range(250):
        contig = list(contigs.values())[i % 3]
        at = int(rng.integers(len(contig) - 130))
        read = bf.mutate(rng, contig[at : at + 110], int(rng.integers(5)))[: int(rng.integers(40, 100))]
        reads.append((f"r{i}", (read if i % 2 else bf.reverse_complement(read)).decode(), None))
    return reads


@pytest.fixture(scope="module")
def pairs(contigs) -> tuple[list, list]:
    """Pairs of 300 bases, and some whose mates lie on two contigs."""
    rng = np.random.default_rng(5)
    first, last = [], []
    for i in range(250):
        contig = list(contigs.values())[i % 3]
        at = int(rng.integers(len(contig) - 400))
        fragment = contig[at : at + int(rng.normal(300, 15))]
        other = fragment if i % 9 else list(contigs.values())[(i + 1) % 3][900:1200]
        first.append((f"p{i}", bf.mutate(rng, fragment[:90], 2).decode(), None))
        last.append((f"p{i}", bf.mutate(rng, bf.reverse_complement(other)[:90], 3).decode(), None))
    return first, last


@pytest.fixture(scope="module")
def files(contigs, tmp_path_factory) -> dict[int, tuple[str, str]]:
    """By step, the index in one piece and the one in parts."""
    folder = tmp_path_factory.mktemp("indexes")
    fasta = folder / "ref.fa"
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (name.encode(), text) for name, text in contigs.items()))
    paths = {}
    for step in STEPS:
        whole, parts = folder / f"whole{step}.gsi", folder / f"parts{step}.gsi"
        SeedIndex.build(fasta, threads=1, step=step).save(whole)
        assert len(build_parts(fasta, parts, N_PARTS, threads=2, step=step).parts) == N_PARTS
        paths[step] = os.fspath(whole), os.fspath(parts)
    return paths


def records(index: str, *reads, **params) -> list[str]:
    mapper = gassst.Mapper(index, **{"threads": 1, "device": "none", **params})
    return [segment.to_string() for segment in mapper.map(*reads)]


@pytest.mark.parametrize(
    "mode, step",
    [*zip(MODES, 2 * STEPS, strict=True), ("best", 2), ("best", 4)],
)
def test_single_reads(files, singles, step, mode):
    whole, parts = files[step]
    expected = records(whole, singles, **MODES[mode])
    assert len({line.split("\t")[2] for line in expected}) >= 3
    assert records(parts, singles, **MODES[mode]) == expected
    assert records(parts, singles, **MODES[mode], memory=1 << 20, batch_size=100) == expected


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("mode", [{}, {"mode": "global", "max_hits": 4}, {"all_hits": True}])
def test_pairs(files, pairs, step, mode):
    """The insert sizes are learned over all parts, too: none are given."""
    whole, parts = files[step]
    expected = records(whole, *pairs, **mode)
    assert sum(int(line.split("\t")[1]) & 2 > 0 for line in expected) > 300
    assert records(parts, *pairs, **mode, threads=2) == expected


def test_parts_hold_the_positions_of_the_whole(files):
    for step in STEPS:
        whole, parts = map(SeedIndex.open, files[step])
        assert (parts.k, parts.longest_seed, parts.plan_k) == (whole.k, whole.longest_seed, whole.plan_k)
        for name in ("positions", "following"):
            joined = np.concatenate([getattr(part, name) for part in parts.parts])
            assert np.array_equal(joined, getattr(whole, name))
        sizes = [len(part.positions) for part in parts.parts]
        assert step == 4 or max(sizes) < 2 * min(sizes)  # of step 4 this small one is cut after one base
        for part in parts.parts:
            first, last = part.kmers
            own = whole.table[first : last + 1]
            assert np.array_equal(part.table, own - own[0])


def test_cuts():
    assert _cuts(np.array([5, 5, 5, 5]), 2) == [0, 2, 4]
    assert _cuts(np.array([5, 5, 5, 5]), 1) == [0, 4]
    assert _cuts(np.array([0, 100, 0, 0, 1, 0]), 3) == [0, 2, 6]
    assert _cuts(np.array([0, 7, 0]), 4) == [0, 3]
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = rng.integers(0, 4, 20)
        sizes[int(rng.integers(20))] += 1
        cuts = _cuts(sizes, int(rng.integers(1, 30)))
        assert cuts[0] == 0 and cuts[-1] == 20
        assert all(sizes[a:b].sum() > 0 for a, b in zip(cuts, cuts[1:], strict=False))


def test_command(files, singles, contigs, tmp_path, capsys):
    fasta, reads = tmp_path / "ref.fa", tmp_path / "reads.fa"
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (name.encode(), text) for name, text in contigs.items()))
    reads.write_text("".join(f">{name}\n{bases}\n" for name, bases, _ in singles))
    assert cli.main(["index", str(fasta), "--parts", "90K"]) == 0
    assert "in 3 parts" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.glob("*.gsi")) == [
        "ref.gsi", "ref.part1.gsi", "ref.part2.gsi", "ref.part3.gsi",
    ]  # fmt: skip
    assert cli.main(["index", str(tmp_path / "ref.gsi"), "--check"]) == 0
    out = tmp_path / "out.sam"
    assert cli.main(["map", str(fasta), str(reads), "-o", str(out), "-q", "--device", "none"]) == 0
    found = [line for line in out.read_text().splitlines() if not line.startswith("@")]
    assert found == records(files[1][0], singles)
    for wrong in ("0", str(MAX_PARTS + 1), "x", "1"):
        code = cli.main(
            ["index", str(fasta), "-o", str(tmp_path / "x.gsi"), "--parts", f"{wrong}K"[: len(wrong)]]
        )
        assert code == (0 if wrong == "1" else 2)


# --- what can be wrong ----------------------------------------------------------------------------------------


@pytest.fixture
def copy(files, tmp_path) -> str:
    """The index in parts of step 1, to be spoilt."""
    path = files[1][1]
    for number in range(N_PARTS + 1):
        shutil.copy(part_path(path, number) if number else path, tmp_path)
    return os.fspath(tmp_path / Path(path).name)


def test_a_part_that_is_missing(copy):
    os.remove(part_path(copy, 2))
    with pytest.raises(InputError, match="part2.gsi: No such file"):
        SeedIndex.open(copy)


def test_a_part_of_another_index(copy, files):
    shutil.copy(part_path(copy, 1), part_path(copy, 3))
    with pytest.raises(IndexFormatError, match="part3.gsi: not the part that was written with the index"):
        SeedIndex.open(copy)
    shutil.copy(files[1][0], part_path(copy, 3))
    with pytest.raises(IndexFormatError, match="part3.gsi: not the part"):
        SeedIndex.open(copy)


def test_a_part_alone(copy):
    with pytest.raises(
        IndexFormatError, match=r"a part of an index: name the whole one, such as .*parts1\.gsi"
    ):
        SeedIndex.open(part_path(copy, 1))


def test_a_damaged_part(copy, singles):
    with open(part_path(copy, 2), "r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(IndexFormatError, match=r"part2.gsi: damaged index: section following"):
        SeedIndex.open(copy, check=True)
    with pytest.raises(IndexFormatError, match=r"part2.gsi: damaged index"):
        records(copy, singles)

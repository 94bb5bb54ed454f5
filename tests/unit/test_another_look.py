"""Which reads are looked up with dense seeds: where hardly any has a place, those of which a part is in the genome."""

import numpy as np
import pysam
import pytest

import gassst
from gassst.model.reference import Reference
from gassst.search.host import HostBackend

LENGTH, PARTS = 100, 10


def written(bases):
    return "".join("ACGT"[base] for base in bases)


@pytest.fixture
def densely(monkeypatch):
    """Of each batch its reads with dense seeds, by their numbers."""
    noted, own = [], HostBackend.rows

    def rows(self, search):
        noted.append(np.flatnonzero(search.over["reseeded"]).tolist())
        return own(self, search)

    monkeypatch.setattr(HostBackend, "rows", rows)
    return noted


def mapped(tmp_path, clean, foreign, **options):
    """Names of the reads, and of the mapped ones: clean ones of the genome, some with 40 of its bases, foreign ones."""
    rng = np.random.default_rng(11)
    genome = rng.integers(0, 4, 200_000)
    reads = []
    for i in range(clean):
        at = rng.integers(0, len(genome) - LENGTH)
        reads.append((f"clean{i}", genome[at : at + LENGTH]))
    for i in range(PARTS):
        read = rng.integers(0, 4, LENGTH)
        read[30:70] = genome[500 * i : 500 * i + 40]
        reads.append((f"part{i}", read))
    reads += [(f"foreign{i}", rng.integers(0, 4, LENGTH)) for i in range(foreign)]
    text = "".join(f"@{name}\n{written(read)}\n+\n{'I' * LENGTH}\n" for name, read in reads)
    (tmp_path / "r.fq").write_text(text)
    index = gassst.Index.build(Reference.from_sequences([("c", written(genome).encode())]))
    gassst.Mapper(index, device="none", **options).map_file(tmp_path / "r.fq", tmp_path / "r.sam")
    with pysam.AlignmentFile(tmp_path / "r.sam") as file:
        found = {record.query_name for record in file if not record.is_unmapped}
    assert {f"part{i}" for i in range(PARTS)} <= found
    return [name for name, _ in reads]


def test_seeds_beside_each_other_tell_which_of_many_foreign_reads_have_a_part(densely, tmp_path):
    names = mapped(tmp_path, 0, 1000)
    kept = {names[i] for i in densely[-1]}
    assert kept >= set(names[:PARTS]) and len(kept) < 100


@pytest.mark.parametrize(("clean", "foreign", "options"), [(300, 40, {}), (0, 1000, {"sensitivity": 4})])
def test_all_other_reads_without_a_place_are_looked_up_densely(densely, tmp_path, clean, foreign, options):
    names = mapped(tmp_path, clean, foreign, **options)
    assert {names[i] for i in densely[-1]} >= set(names[clean:])

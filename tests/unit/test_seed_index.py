"""The seed index against brute force over the text of the reference, and its file against damage."""

import json
import os
import re

import numpy as np
import pytest

from gassst.errors import IndexFormatError, InputError, UsageError
from gassst.index import seed_index as module
from gassst.index.seed_index import Index, SeedIndex
from gassst.model.reference import FRONT, GAP, TAIL, Reference

ARRAYS = ("table", "positions", "following")
SECTIONS = ("metadata", "contigs", "planes", "exception_start", "exception_length", "exception_code")
SECTIONS += ("spectrum", *ARRAYS)


def random_text(rng, n, letters="ACGT"):
    return "".join(rng.choice(list(letters), n))


def genome(kind):
    rng = np.random.default_rng(sum(kind.encode()))
    unit = random_text(rng, 37)
    contigs = {
        "random": [random_text(rng, 3000), random_text(rng, 1500)],
        "masked": [random_text(rng, 900, "ACGT" * 4 + "N") + "N" * 90 + random_text(rng, 300), "NNNACGTNNN"],
        "tiny": ["ACGTACGTTT"],
        "one base": ["T"],
        "poly-A": ["A" * 1500, "A" * 200],
        "poly-T": ["T" * 1500, "T" * 200],
        "dinucleotide": ["AC" * 800],
        "tandem": [unit * 40 + random_text(rng, 200) + unit * 20],
        "two letters": [random_text(rng, 3000, "AT")],
        "many contigs": [random_text(rng, n) for n in rng.integers(1, 90, 30)],
    }[kind]
    return [(f"c{i}", text) for i, text in enumerate(contigs)]


KINDS = ["random", "masked", "tiny", "one base", "poly-A", "poly-T", "dinucleotide", "tandem", "two letters"]
KINDS.append("many contigs")


def reference_of(contigs):
    return Reference.from_sequences((name, text.encode()) for name, text in contigs)


def text_of(contigs):
    """(concatenated text with masked bases as A, coordinates of unmasked bases)."""
    text = "." * FRONT + ("." * GAP).join(text for _, text in contigs) + "." * TAIL
    unmasked = [i for i, letter in enumerate(text) if letter in "ACGT"]
    return "".join(letter if letter in "ACGT" else "A" for letter in text), unmasked


def code(bases):
    value = 0
    for letter in bases:
        value = value * 4 + "ACGT".index(letter)
    return value


def index_with(reference, k, threads=1, step=1):
    counted = module.Counted.of(reference, k, threads, step)
    return SeedIndex(reference, k, *counted.sorted(0, 4**counted.prefix), step=step)


def is_kept(text, i, k, step):
    """Whether an index of base k has the position i: at step 2 where its first bases are a closed syncmer."""
    if step == 4:
        return i % 4 == 0
    if step == 1 or k < 8:
        return True
    ranks = [code(text[j : j + k - 7]) * 0x9E3779B1 % 2**32 for j in range(i, i + 4)]
    return min(ranks[0], ranks[3]) <= min(ranks[1:3])


def assert_equal(a, b):
    assert a.k == b.k
    for name in ARRAYS:
        x, y = getattr(a, name), getattr(b, name)
        assert x.dtype == y.dtype and np.array_equal(x, y), name
    in_a, in_b = ((r.planes, *r.exceptions, r.lengths, r.starts) for r in (a.reference, b.reference))
    for x, y in zip(in_a, in_b, strict=True):
        assert x.dtype == y.dtype and np.array_equal(x, y)
    assert bytes(a.reference.contigs.text) == bytes(b.reference.contigs.text)
    for name in ("total", "unmasked"):
        assert getattr(a.reference, name) == getattr(b.reference, name)


# --- content ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step, k, sorted_by, after, before",
    [
        *((1, k, 16, 4, 0) for k in range(4, 11)),
        (2, 5, 16, 2, 2), (2, 10, 16, 2, 2), (2, 12, 16, 2, 2), (4, 5, 17, 5, 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_as_defined(kind, step, k, sorted_by, after, before):
    contigs, unit = genome(kind), 4 if step == 4 else 1
    index = index_with(reference_of(contigs), k, step=step)
    text, unmasked = text_of(contigs)
    kept = [i for i in unmasked if is_kept(text, i, k, step)]
    expected = sorted(kept, key=lambda i: (text[i : i + k + sorted_by], i))
    assert [unit * i for i in index.positions.tolist()] == expected
    beside = [text[i + k : i + k + after] + text[i - before : i] for i in expected]
    assert index.following.tolist() == [code(bases) for bases in beside]
    following = np.uint16 if step == 4 else np.uint8
    assert [getattr(index, name).dtype for name in ARRAYS] == [np.uint32, np.uint32, following]
    kmers = np.array([code(text[i : i + k]) for i in expected])
    assert np.array_equal(index.table, np.searchsorted(kmers, np.arange(4**k + 1)))
    index.check()


def brute_force(text, unmasked, seed):
    return [i for i in unmasked if text.startswith(seed, i)]


@pytest.mark.parametrize(
    "kind, k, step",
    [
        (kind, *((4, 1), (7, 1), (10, 2), (6, 4))[(i + j) % 4])
        for i, kind in enumerate(KINDS)
        for j in range(2)
    ],
)
def test_lookup_of_every_length(kind, k, step):
    contigs = genome(kind)
    index = index_with(reference_of(contigs), k, step=step)
    text, unmasked = text_of(contigs)
    unmasked = [i for i in unmasked if is_kept(text, i, k, step)]
    rng = np.random.default_rng(k)
    for w in range(1, index.longest_seed + 1):
        seeds = [text[i : i + w] for i in rng.choice(unmasked, 12)]
        seeds += [text[i : i + w - 1] + "ACGT"[rng.integers(4)] for i in rng.choice(unmasked, 8)]
        seeds += [random_text(rng, w) for _ in range(4)] + ["A" * w, "T" * w]
        lo, hi = index.lookup([code(seed) for seed in seeds], w)
        for seed, first, last in zip(seeds, lo.tolist(), hi.tolist(), strict=True):
            found = sorted((4 if step == 4 else 1) * i for i in index.positions[first:last].tolist())
            assert first <= last and found == brute_force(text, unmasked, seed), (w, seed)


def test_large_buckets_and_many_parts():
    """Buckets beyond insertion sort and linear lookup, and parts enough for a longer prefix."""
    rng = np.random.default_rng(3)
    unit = random_text(rng, 171)
    texts = [random_text(rng, 150_000), unit * 300, "A" * 30_000, random_text(rng, 100_000, "AAAAAAAC")]
    reference = reference_of([(f"c{i}", text) for i, text in enumerate(texts)])
    index = SeedIndex.build(reference, threads=2)
    assert module._prefix_length(reference.unmasked, index.k) > 1
    index.check()
    codes, unmasked = text_codes(reference)
    k = index.k
    keys = np.array(np.lib.stride_tricks.sliding_window_view(codes, k + 16)[unmasked] + 65, np.uint8)
    expected = unmasked[np.argsort(keys.view(f"S{k + 16}").ravel(), kind="stable")]
    assert np.array_equal(index.positions, expected)
    check_large_lookups(index, codes, unmasked)


def text_codes(reference):
    """(codes 0-3 of all coordinates, masked 0; coordinates of unmasked bases), by NumPy alone."""
    low, high, masked = (
        np.unpackbits(reference.planes[:, i].copy().view(np.uint8), bitorder="little") for i in range(3)
    )
    return low + 2 * high, np.flatnonzero(masked == 0)


def check_large_lookups(index, codes, unmasked):
    rng = np.random.default_rng(4)
    for w in (index.k + i for i in (-2, 0, 1, 4, 5, 8, 12, 16)):
        windows = np.lib.stride_tricks.sliding_window_view(codes, w)
        values = np.zeros(len(unmasked), np.uint64)
        for i in range(w):
            values = values * np.uint64(4) + windows[unmasked, i].astype(np.uint64)
        seeds = np.concatenate([rng.choice(values, 500), rng.choice(values, 500) ^ np.uint64(1)])
        lo, hi = index.lookup(seeds, w)
        left, right = (np.searchsorted(np.sort(values), seeds, side) for side in ("left", "right"))
        assert np.array_equal(hi.astype(int) - lo, right - left), w
        found = lo < hi
        row = np.searchsorted(unmasked, index.positions[lo[found]])
        assert np.array_equal(values[row], seeds[found])
        row = np.searchsorted(unmasked, index.positions[hi[found] - 1])
        assert np.array_equal(values[row], seeds[found])


# --- build --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["random", "masked", "poly-A", "tiny"])
def test_threads_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(module, "_PART", 64)
    reference = reference_of(genome(kind))
    one = SeedIndex.build(reference, threads=1)
    for threads in (2, 5, None):
        assert_equal(one, SeedIndex.build(reference, threads))


def test_build_from_file(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text(">c0\nACGTACGTTT\n")
    assert Index is SeedIndex
    assert_equal(Index.build(path, threads=1), SeedIndex.build(reference_of(genome("tiny")), threads=1))
    path.write_text(">c0\nNNN\n")
    with pytest.raises(InputError, match="genome.fa: it contains no"):
        Index.build(path)
    with pytest.raises(UsageError, match="threads"):
        Index.build(path, threads=0)


# --- file ---------------------------------------------------------------------------------------------------


@pytest.fixture
def built():
    return SeedIndex.build(reference_of(genome("masked")), threads=1)


@pytest.fixture
def saved(built, tmp_path):
    path = tmp_path / "genome.gsi"
    built.save(path)
    return path


@pytest.mark.parametrize("kind, step", [*((kind, 1) for kind in KINDS), ("masked", 2), ("masked", 4)])
def test_saved_is_fresh(kind, step, tmp_path):
    fresh = SeedIndex.build(reference_of(genome(kind)), step=step)
    fresh.save(tmp_path / "genome.gsi")
    assert (tmp_path / "genome.gsi").read_bytes()[8:12] == bytes([14 if step == 1 else 18, 0, 0, 0])
    opened = SeedIndex.open(tmp_path / "genome.gsi", check=True)
    assert_equal(fresh, opened)
    assert (opened.step, opened.longest_seed) == (step, fresh.longest_seed)
    assert opened.path == str(tmp_path / "genome.gsi")
    for i in range(len(fresh.reference.names)):
        assert opened.reference.sequence(i) == fresh.reference.sequence(i)
    w = opened.k + 3
    for a, b in zip(fresh.lookup(range(500), w), opened.lookup(range(500), w), strict=True):
        assert np.array_equal(a, b)
    opened.save(tmp_path / "again.gsi")
    assert (tmp_path / "again.gsi").read_bytes() == (tmp_path / "genome.gsi").read_bytes()


def test_no_step_but_three(tmp_path):
    for step in (0, 3, 8):
        with pytest.raises(UsageError, match=f"step: {step} is not 1, 2 or 4"):
            SeedIndex.build(reference_of(genome("random")), step=step)
    with pytest.raises(InputError, match="too short for an index of step 4"):
        SeedIndex.build(Reference.from_sequences([("c", b"NAC")]), step=4)


def layout(path):
    """{section: (offset, bytes)} from the bytes of the file, as docs/index-format.md gives them."""
    page = path.read_bytes()[:4096]
    rows = {}
    for i in range(int.from_bytes(page[24:28], "little")):
        row = page[64 + 40 * i :][:40]
        name = row[:20].rstrip(b"\0").decode()
        rows[name] = (int.from_bytes(row[24:32], "little"), int.from_bytes(row[32:40], "little"))
    return rows


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def test_layout_in_bytes(saved, built):
    data = saved.read_bytes()
    assert data[:8] == b"\x89GSI\r\n\x1a\n" and data[8:12] == b"\x0e\0\0\0" and data[12:16] == b"\4\3\2\1"
    assert int.from_bytes(data[16:24], "little") == len(data)
    rows = layout(saved)
    assert tuple(rows) == SECTIONS
    assert all(offset % 4096 == 0 for offset, _ in rows.values())

    def section(name):
        return data[rows[name][0] :][: rows[name][1]]

    assert section("positions") == built.positions.astype("<u4").tobytes()
    assert section("following") == built.following.astype("u1").tobytes()
    assert section("table") == built.table.astype("<u4").tobytes()
    assert section("planes") == built.reference.planes.astype("<u8").tobytes()
    assert section("spectrum") == built.spectrum.shares.astype("<f4").tobytes()
    metadata = json.loads(section("metadata"))
    assert metadata["k"] == built.k and metadata["program"].startswith("gassst ")
    *lines, end = section("contigs").decode().split("\n")
    names, lengths = built.reference.names, built.reference.lengths.tolist()
    assert [line.split("\t")[:3] for line in lines] == [
        ["@SQ", f"SN:{name}", f"LN:{length}"] for name, length in zip(names, lengths, strict=True)
    ]
    assert all(re.fullmatch("M5:[0-9a-f]{32}", line.split("\t")[3]) for line in lines) and not end


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("where", [0, -1])
def test_one_flipped_bit_is_found_and_named(saved, name, where):
    offset, length = layout(saved)[name]
    assert length
    flip(saved, offset + where % length)
    with pytest.raises(IndexFormatError, match=rf"genome\.gsi: damaged index: section {name}( |$)"):
        SeedIndex.open(saved, check=True)
    if name not in ("metadata", "contigs"):
        with pytest.raises(IndexFormatError, match=f"section {name}"):
            SeedIndex.open(saved).check()


@pytest.mark.parametrize(
    "at, complaint",
    [
        (0, "not a gassst index"),
        (
            8,
            r"a newer index format \(30, this program reads 14, 15, 18 and 19\): rebuild with `gassst index`",
        ),
        (13, "header"),
        (17, "header"),
        (64, "header"),
        (100, "header"),
        (3000, "header"),
        (4095, "header"),
    ],
)
def test_damaged_header(saved, at, complaint):
    flip(saved, at)
    with pytest.raises(IndexFormatError, match=complaint):
        SeedIndex.open(saved)


def test_older_version_and_other_byte_order(saved):
    data = bytearray(saved.read_bytes())
    saved.write_bytes(data[:8] + bytes(4) + data[12:])
    with pytest.raises(IndexFormatError, match="an older index format"):
        SeedIndex.open(saved)
    saved.write_bytes(data[:8] + data[8:12][::-1] + data[12:16][::-1] + data[16:])
    with pytest.raises(IndexFormatError, match="other byte order"):
        SeedIndex.open(saved)


@pytest.mark.parametrize("keep", [9, 4095, 4096, 10_000, -1])
def test_truncated(saved, keep):
    data = saved.read_bytes()
    saved.write_bytes(data[:keep])
    expected = len(data) if len(data[:keep]) >= 4096 else 4096
    with pytest.raises(IndexFormatError, match=f"truncated index.* {len(data[:keep])} bytes.*{expected}"):
        SeedIndex.open(saved)


@pytest.mark.parametrize(
    "name, at, value",
    [("table", 5, 2**31), ("table", 0, 1), ("positions", 0, 1), ("positions", -1, 2**32 - 1)],
)
def test_check_of_an_index_in_memory(built, name, at, value):
    built.check()
    getattr(built, name)[at] = value
    with pytest.raises(IndexFormatError, match=f"section {name}"):
        built.check()


# --- failure to write ---------------------------------------------------------------------------------------


def test_replaces_a_mapped_index_and_follows_links(built, saved, tmp_path):
    mapped = SeedIndex.open(saved)
    link = tmp_path / "link.gsi"
    link.symlink_to(saved)
    SeedIndex.build(reference_of(genome("tiny"))).save(link)
    assert link.is_symlink()
    mapped.check()
    assert_equal(mapped, built)
    assert SeedIndex.open(saved).reference.names == ["c0"]
    umask = os.umask(0)
    os.umask(umask)
    assert saved.stat().st_mode & 0o777 == 0o666 & ~umask

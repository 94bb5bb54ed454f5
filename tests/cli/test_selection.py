"""A range of the reads, and fixed trimming: the records are those of a file that was cut before."""

from __future__ import annotations

import gzip

import pytest


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

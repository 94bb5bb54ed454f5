"""The report shows the numbers of a run and needs nothing but itself; errors by cycle are where they are."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from contextlib import suppress
from html.parser import HTMLParser

import numpy as np
import oracles
import pysam
import pytest
from PIL import Image

import gassst
from gassst._core.error_cycles import errors_by_cycle
from gassst.api.mapper import Mapper
from gassst.cli.main import main
from gassst.errors import InputError
from gassst.model.layouts import HIT
from gassst.model.stats import Stats
from gassst.model.times import Times
from gassst.reads.in_memory import batch_of_records
from gassst.tools import report

MISMATCHES, INSERTIONS, DELETIONS = 1, 2, 3
UNMAPPED, REVERSE, SECONDARY, SUPPLEMENTARY = 0x4, 0x10, 0x100, 0x800
VOID = {"meta", "path", "rect", "use"}


# Errors by cycle


def plain_count(alignments) -> dict[tuple[int, int], int]:
    """(cycle, column) -> errors (column 0: reads) of (reverse, read, window, cigar), base after base.

    `read` and `window` lie on the forward strand; the window starts at the first aligned base; 4, N: masked.
    """
    counts: Counter = Counter()
    for reverse, read, window, cigar in alignments:
        m, q, p = len(read), 0, 0
        cycles = list(range(m))[::-1] if reverse else list(range(m))
        counts.update((cycle, 0) for cycle in cycles)
        for op, length in cigar:
            for _ in range(length):
                if op == 2:
                    counts[cycles[q] if reverse else cycles[q - 1], DELETIONS] += 1
                elif op == 1:
                    counts[cycles[q], INSERTIONS] += 1
                elif op == 0 and (read[q] != window[p] or read[q] in (4, "N")):
                    counts[cycles[q], MISMATCHES] += 1
                q += op != 2
                p += op not in (1, 4)
    return dict(counts)


def plain_damage(alignments) -> np.ndarray:
    """int64[25, 2, 4]: C, C>T, G, G>A of each strand as sequenced, by distance from the 5' and from the 3' end."""
    counts = np.zeros((25, 2, 4), np.int64)
    for reverse, read, window, cigar in alignments:
        m, q, p = len(read), 0, 0
        for op, length in cigar:
            for i in range(length if op == 0 else 0):
                pair, at = (window[p + i], read[q + i]), m - 1 - q - i if reverse else q + i
                before, now = (3 - base if reverse and max(pair) < 4 else base for base in pair)
                for end, distance in enumerate((at, m - 1 - at)):
                    if distance < 25 and now < 4 and before in (1, 2):
                        counts[distance, end, 2 * (before == 2)] += 1
                        counts[distance, end, 2 * (before == 2) + 1] += (before, now) in ((1, 3), (2, 0))
            q += length * (op != 2)
            p += length * (op not in (1, 4))
    return counts


def nonzero(counts: np.ndarray) -> dict[tuple[int, int], int]:
    return {(int(i), int(j)): int(counts[i, j]) for i, j in np.argwhere(counts)}


def hits_of(cigars, positions, strands, flags=0) -> tuple[np.ndarray, np.ndarray]:
    hits = np.zeros(len(cigars), HIT)
    hits["read"] = np.arange(len(cigars))
    hits["position"], hits["strand"], hits["flag"] = positions, strands, flags
    hits["cigar_runs"] = [len(cigar) for cigar in cigars]
    hits["cigar_start"] = np.cumsum(hits["cigar_runs"]) - hits["cigar_runs"]
    return hits, np.array([length << 4 | op for cigar in cigars for op, length in cigar], np.uint32)


def random_alignments(rng, m, n):
    """n reads of m bases anywhere on a random reference, with any CIGAR and any bases: errors galore."""
    reference = rng.choice(5, 4000, p=[0.24, 0.24, 0.24, 0.24, 0.04]).astype(np.uint8)
    cigars, reads, positions = [], [], rng.integers(0, 3000, n)
    for position in positions:
        used, p = int(rng.integers(min(m, 6))), int(position)
        cigar, read = [(4, used)] if used else [], rng.integers(0, 5, used)
        while used < m:
            op = int(rng.choice(3)) if cigar else 0
            length = min(int(rng.integers(1, 90 if op == 0 else 4)), m - used if op != 2 else 3)
            cigar.append((op, length))
            if op != 2:
                used += length
                bases = reference[p : p + length] if op == 0 else rng.integers(0, 5, length)
                noise = rng.random(length) < 0.1
                read = np.concatenate([read, np.where(noise, rng.integers(0, 5, length), bases)])
            p += length * (op != 1)
        cigars.append(cigar)
        reads.append(read.astype(np.uint8))
    return reference, positions, cigars, np.stack(reads)


@pytest.mark.parametrize("m", [1, 24, 25, 26, 36, 63, 64, 65, 128, 150, 333])
def test_against_one_base_after_the_other(m):
    rng = np.random.default_rng(m)
    reference, positions, cigars, reads = random_alignments(rng, m, 60)
    strands = rng.integers(0, 2, 60)
    flags = REVERSE * strands + rng.choice([0, 0, 0, 1, UNMAPPED, SECONDARY, SUPPLEMENTARY], 60)
    packed = oracles.pack_reads(reads, strands)
    hits, runs = hits_of(cigars, positions, strands, flags)
    planes = oracles.pack_planes(reference)
    counted = [i for i in range(60) if not flags[i] & (UNMAPPED | SECONDARY | SUPPLEMENTARY)]
    given = [(strands[i], reads[i].tolist(), reference[positions[i] :].tolist(), cigars[i]) for i in counted]
    counts, damage = errors_by_cycle(hits, runs, planes, packed.planes, packed.plane_start, packed.lengths)
    assert counts.shape == (m, 4)
    assert nonzero(counts) == plain_count(given)
    assert damage.tolist() == plain_damage(given).tolist()


@pytest.fixture(scope="module")
def mapped(small_index, small_reads) -> Stats:
    """Statistics of the small reads, in two batches of different longest reads."""
    mapper, total = Mapper(small_index, device="none", filters=("fd",)), Stats()
    for reads in (small_reads[:150], small_reads[150:], [("tiny", "ACGT", None)]):
        batch = batch_of_records(reads)
        result, stats = mapper._engine.map_batch(batch)
        packed, planes = batch.pack(), mapper.index.reference.planes
        stats.cycles = stats.cycles[:0]
        stats.count_cycles(result.hits, result.cigars, planes, packed)
        total += stats
    total.run = mapper.describe("gassst map small.gsi small.fq.gz")
    total.run["extension"] = vars(Times())
    return total


def test_cycles_of_a_run_are_those_of_its_records(mapped, small_index, small_reads, small_genome):
    alignments = []
    for segment in gassst.Mapper(small_index, device="none").map(small_reads):
        if not segment.flag & (UNMAPPED | SECONDARY):
            window = small_genome[segment.reference_name][segment.reference_start :][:600].decode()
            alignments.append((segment.is_reverse, segment.query_sequence, window, segment.cigartuples))
    assert len(alignments) == mapped.mapped
    assert {bool(reverse) for reverse, *_ in alignments} == {False, True}
    assert nonzero(mapped.cycles) == plain_count(alignments)
    assert mapped.cycles[:, 1:].sum() == sum(edits * n for edits, n in mapped.errors.items())


# The page


class Page(HTMLParser):
    """Tables by caption, tiles and facts as text; every tag is closed in turn."""

    def __init__(self, text: str):
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.definitions: dict[str, str] = {}
        self.headings: list[str] = []
        self._open: list[str] = []
        self._row: list[str] = []
        self._term = self._caption = ""
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self._row = []
        elif tag in ("td", "th"):
            self._row.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag == "tr":
            self.tables.setdefault(self._caption, []).append(self._row)

    def handle_data(self, data):
        tag = self._open[-1] if self._open else ""
        if tag in ("td", "th"):
            self._row[-1] += data
        elif tag == "caption":
            self._caption = data
        elif tag == "dt":
            self._term = data
        elif tag == "dd":
            self.definitions[self._term] = data
        elif tag == "small":
            self.definitions[f"{self._term}, remark"] = data
        elif tag == "h2":
            self.headings.append(data)

    def numbers(self, caption: str) -> list[list[float | str]]:
        """Rows of a table without its head."""
        return [[as_number(cell) for cell in row] for row in self.tables[caption][1:]]


def as_number(text: str) -> float | str:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


@pytest.fixture(scope="module")
def stats(mapped) -> dict:
    """The statistics as they come back from JSON."""
    return json.loads(json.dumps(mapped.as_dict()))


@pytest.fixture(scope="module")
def text(stats) -> str:
    return report.render(stats)


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


def test_needs_nothing_but_itself(text, page):
    assert not {tag for tag, *_ in page.attributes} & {"script", "link", "img", "iframe", "object", "image"}
    assert "<script" not in text and "@import" not in text
    for _, name, value in page.attributes:
        if name.startswith("xmlns"):
            continue
        assert name != "src" and "//" not in value, (name, value)
        assert not name.endswith("href") or value.startswith("#")
    assert text.count("http") == text.count("http-equiv") + text.count("xmlns:xlink=")
    assert text.count("url(") == text.count("url(#")


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without their plots, which take most of the time and show none of the text."""
    monkeypatch.setattr(report, "svg", lambda *_, **__: "")


def test_text_is_escaped(stats, undrawn):
    run = {"command": "gassst map '<script>alert(1)</script>&.fq'", "<b>": {"<i>": ["<u>", 1]}}
    shown = report.render({**stats, "run": run})
    assert not any(tag in shown for tag in ("<script>", "<b>", "<i>", "<u>"))
    assert Page(shown).definitions["command"] == run["command"]


def changed(**changes) -> str:
    return json.dumps({**Stats().as_dict(), **changes})


BROKEN = {
    "negative coverage": changed(coverage={"windows": [-1], "contigs": []}),
    "contigs without lengths": changed(run={"reference": {"names": ["a"], "lengths": []}}),
    "a list of read groups of text": changed(run={"read_groups": ["a"]}),
    "a word for the wall time": changed(run={"seconds": "long"}),
    "an endless wall time": changed(run={"seconds": 10**400}),
    "an endless time of the device": changed(run={"extension": {"kernel": 10**400}}),
    "endless counts": changed(reads=10**400),
    "a number for the parameters": changed(run={"parameters": 1}),
    "huge insert sizes": changed(inserts={"1e9": 1}),
    "no JSON": "{",
    "binary": "\udcff",
    "a list": "[]",
    "no counts": "{}",
    "a word": json.dumps({**Stats().as_dict(), "reads": "many"}),
    "a list for a dict": json.dumps({**Stats().as_dict(), "errors": [1]}),
    "half a funnel": json.dumps({**Stats().as_dict(), "funnel": {"fd": {"in": 1}}}),
    "uneven cycles": json.dumps(
        {**Stats().as_dict(), "cycles": {**Stats().as_dict()["cycles"], "reads": [1]}}
    ),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_no_statistics(tmp_path, content):
    source = tmp_path / "stats.json"
    source.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match="stats.json: not"):
        report.main(argparse.Namespace(stats=[str(source)], output=str(tmp_path / "report.html")))
    assert list(tmp_path.iterdir()) == [source]


def numbers_in(values, path=()):
    """The places of all numbers and lists in statistics; of a list its first number alone."""
    items = values.items() if isinstance(values, dict) else enumerate(values[:1])
    for key, value in items:
        if isinstance(value, list) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield *path, key
        if isinstance(value, dict | list):
            yield from numbers_in(value, (*path, key))


@pytest.mark.parametrize("value", [10**400, -1, float("inf"), float("nan"), []], ids=lambda v: str(v)[:4])
def test_odd_numbers_are_shown_or_refused(stats, value, undrawn):
    text = json.dumps(stats)
    for *path, key in numbers_in(stats):
        odd = json.loads(text)
        place = odd
        for name in path:
            place = place[name]
        place[key] = value
        with suppress(InputError):
            report.render(odd)


# What pairs add, and several runs side by side


@pytest.fixture(scope="module")
def runs(small_fasta, small_index, tmp_path_factory):
    """Files of statistics of simulated pairs: as one sample, and at another sensitivity without a sample."""
    folder = tmp_path_factory.mktemp("runs")
    mates = [folder / "r1.fq", folder / "r2.fq"]
    options = ["-n", "300", "-l", "80", "-e", "0.01", "--pairs", "300,20"]
    assert main(["simulate", str(small_fasta), *options, *(f"-o{path}" for path in mates)]) == 0
    common = ["map", "-q", "--device", "none", small_index, *mates]
    for name, more in {"pairs": ["-R", r"@RG\tID:1\tSM:mouse"], "again": ["-s", 0]}.items():
        files = ["-o", folder / f"{name}.bam", "--stats", folder / f"{name}.json"]
        assert main([*map(str, [*common, *more, *files])]) == 0
    return folder


def page_of(*paths) -> Page:
    output = paths[0].with_suffix(".html")
    assert main(["report", *map(str, paths), "-o", str(output)]) == 0
    return Page(output.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page_of_pairs(runs) -> Page:
    return page_of(runs / "pairs.json")


@pytest.mark.parametrize(
    ("of", "changed", "is_there"), [(1000, 300, True), (1000, 25, False), (10, 2, False), (0, 0, False)]
)
@pytest.mark.parametrize("place", [("five_prime", "C"), ("three_prime", "C"), ("three_prime", "G")])
def test_damage_is_shown_where_there_is_some(stats, undrawn, place, of, changed, is_there):
    """2 % of all bases are changed, and more at one end; of ten bases two may be chance."""
    ends = {
        end: {kind: [20 if ">" in kind else 1000] * 25 for kind in ("C", "C>T", "G", "G>A")}
        for end in ("five_prime", "three_prime")
    }
    end, base = place
    ends[end][base][0], ends[end]["C>T" if base == "C" else "G>A"][0] = of, changed
    assert ("Damage" in Page(report.render({**stats, "damage": ends})).headings) == is_there


def test_insert_sizes_are_those_of_the_records(runs, page_of_pairs):
    with pysam.AlignmentFile(runs / "pairs.bam", check_sq=False) as file:
        records = [r for r in file if not r.is_secondary and not r.is_supplementary]
    mates = zip(records[::2], records[1::2], strict=True)
    facing = [(a, b) for a, b in mates if a.template_length > 0 or b.template_length > 0]
    expected = Counter(
        abs(a.template_length) for a, b in facing if min(a.mapping_quality, b.mapping_quality) >= 20
    )
    stats = json.loads((runs / "pairs.json").read_text())
    assert {int(length): n for length, n in stats["inserts"].items()} == expected
    lengths = sorted(expected.elements())
    assert page_of_pairs.definitions["Insert size"] == str(lengths[(len(lengths) - 1) // 2])
    assert abs(int(page_of_pairs.definitions["Insert size"]) - 300) < 10
    shown = page_of_pairs.numbers("Insert sizes")
    assert 0.99 * len(lengths) <= sum(n for _, n in shown) <= len(lengths)


def test_coverage_is_that_of_the_records(runs, page_of_pairs, small_genome):
    expected = Counter()
    with pysam.AlignmentFile(runs / "pairs.bam", check_sq=False) as file:
        for record in file:
            if not record.is_unmapped and not record.is_secondary:
                expected[record.reference_name] += record.reference_length
    rows = page_of_pairs.numbers("Coverage")
    assert [row[0] for row in rows] == sorted(small_genome, key=lambda name: -len(small_genome[name]))
    assert {name: aligned for name, _, aligned, _ in rows} == expected
    assert [row[3] for row in rows] == pytest.approx([expected[row[0]] / row[1] for row in rows], abs=0.006)
    stats = json.loads((runs / "pairs.json").read_text())
    assert sum(stats["coverage"]["windows"]) == sum(expected.values())


def test_runs_side_by_side(runs):
    page = page_of(runs / "again.json", runs / "pairs.json")
    assert page.headings[0] == "Main figures"
    assert page.headings[1] == "Parameters that differ"
    assert page.tables["Main figures"][0] == ["", "again", "mouse", "change"]
    shown = {row[0]: row[1:] for row in page.tables["Main figures"][1:]}
    one, two, change = (float(text.split("\N{NO-BREAK SPACE}")[0]) for text in shown["MAPQ ≥ 20"])
    assert change == pytest.approx(two - one, abs=0.011) and shown["coverage, mean"][2][0] in "+-"
    assert shown["reads"] == ["600", "600", "+0"] and shown["mapped"][1].startswith(("9", "100"))
    for title in ("Mapping quality", "Edit distance", "Mismatches by cycle", "Insert sizes", "Coverage"):
        assert title in page.headings and page.tables[title][0][1:] == ["again", "mouse"]
    assert "version" not in shown  # as it is in both, and text among figures
    differ = {row[0]: row[1:] for row in page.tables["Parameters that differ"][1:]}
    assert differ["sensitivity"] == ["0", "2"] and "mode, as used" not in differ
    assert all(any(float(text) for text in row[1:]) for row in page.tables["Time by stage"][1:])


def chromium(folder, page, *argv):
    """What a browser writes of a page."""
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/p",
    ]  # fmt: skip
    command = ["chromium", *flags, *argv, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


MEASURED = """<!DOCTYPE html><iframe width="WIDTH" height="3000" srcdoc="PAGE"></iframe><script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument, faults = []
  const box = (element) => element.getBoundingClientRect()
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top
  if (page.documentElement.scrollWidth > WIDTH) faults.push("page is cut")
  for (const each of page.querySelectorAll("#figures .scroll"))
    if (each.scrollWidth > each.clientWidth) faults.push("figures are cut")
  for (const plot of page.querySelectorAll("svg")) {
    const texts = [...plot.querySelectorAll("text")]
    texts.forEach((one, i) => {
      if (Math.min(box(one).width, box(one).height) < 5) faults.push("small: " + one.textContent)
      if (box(one).left < box(plot).left - 1 || box(one).right > box(plot).right + 1)
        faults.push("out: " + one.textContent)
      for (const other of texts.slice(i + 1))
        if (!apart(box(one), box(other))) faults.push(one.textContent + " on " + other.textContent)
    })
  }
  document.body.textContent = "faults: " + faults.join("; ") + "."
}</script>"""


@pytest.mark.external("chromium")
@pytest.mark.parametrize("width", [1300, 400])
@pytest.mark.parametrize("kind", ["one", "two", "sheet"])
def test_a_browser_shows_the_page_without_cutting_it(runs, sheet, tmp_path, kind, width):
    """Neither a table nor a plot reaches beyond the window, on a desktop or a phone, and no words cover others."""
    page, picture, measured = (tmp_path / name for name in ("page.html", "page.png", "measured.html"))
    files = {"one": ["pairs.json"], "two": ["again.json", "pairs.json"], "sheet": [sheet / "s.json"]}[kind]
    assert main(["report", *(str(runs / name) for name in files), "-o", str(page)]) == 0
    chromium(tmp_path, page, f"--window-size={width},4000", f"--screenshot={picture}")
    with Image.open(picture) as image:
        shown = np.asarray(image.convert("L")).astype(int)
    assert shown.shape == (4000, width)
    paper = shown[0, 0]
    assert (shown[:, 40:-40] != paper).any(axis=1).sum() > 500 and (shown[:, -4:] == paper).all()
    text = page.read_text(encoding="utf-8").replace("&", "&amp;").replace('"', "&quot;")
    measured.write_text(MEASURED.replace("WIDTH", str(width)).replace("PAGE", text), encoding="utf-8")
    assert ">faults: .<" in (found := chromium(tmp_path, measured, "--dump-dom")), found[-1000:]


# The samples of a sheet


@pytest.fixture(scope="module")
def sheet(small_fasta, small_index, tmp_path_factory):
    """A folder with two libraries of pairs and one of single reads, mapped by a sheet."""
    folder = tmp_path_factory.mktemp("sheet")
    rows = ["sample,R1,R2,output"]
    for name, size in {"short": 200, "long": 500, "single": 0}.items():
        mates = [folder / f"{name}{i}.fq" for i in (1, 2)[: 2 if size else 1]]
        pairs = ["--pairs", f"{size},15"] if size else []
        options = ["-n", "200", "-l", "70", "-e", "0.01", *pairs, "--seed", str(size)]
        assert main(["simulate", str(small_fasta), *options, *(f"-o{path}" for path in mates)]) == 0
        rows.append(",".join([name, *map(str, mates), *([] if size else [""]), str(folder / f"{name}.bam")]))
    (folder / "s.csv").write_text("\n".join(rows) + "\n")
    words = [
        "--device", "none", "--sort", "--markdup", "--stats", folder / "s.json", "--report",
        folder / "s.html",
    ]  # fmt: skip
    assert main(["map", "-q", str(small_index), "--sheet", str(folder / "s.csv"), *map(str, words)]) == 0
    return folder


def test_the_report_of_a_sheet_has_a_row_for_each_sample(sheet):
    text = (sheet / "s.html").read_text(encoding="utf-8")
    head, *rows = Page(text).tables["Samples"]
    assert [row[0] for row in rows] == ["short", "long", "single"]
    for name, row in zip(("short", "long", "single"), rows, strict=True):
        shown = dict(zip(head, row, strict=True))
        with pysam.AlignmentFile(sheet / f"{name}.bam", check_sq=False) as file:
            records = [r for r in file if not r.is_secondary and not r.is_supplementary]
        mapped = [r for r in records if not r.is_unmapped]
        share = {
            "mapped, %": len(mapped) / len(records),
            "MAPQ ≥ 20, %": sum(r.mapping_quality >= 20 for r in mapped) / len(records),
        }
        if name != "single":
            share["proper pairs, %"] = sum(r.is_proper_pair for r in records) / len(records)
        assert int(shown["reads"]) == len(records)
        assert {key: float(shown[key]) for key in share} == pytest.approx(
            {key: 100 * value for key, value in share.items()}, abs=0.006
        )
        errors = sum(r.get_tag("NM") for r in mapped) / len(mapped)
        assert float(shown["errors per mapped read"]) == pytest.approx(errors, abs=0.006)
    inserts = [row[head.index("insert size, median")] for row in rows]
    assert abs(int(inserts[0]) - 200) < 10 and abs(int(inserts[1]) - 500) < 10 and inserts[2] == "–"

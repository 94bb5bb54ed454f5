"""Draw docs/pipeline.svg: the stages from FASTQ to a record, with the counts of the read of docs/tour.md.

python scripts/docs/pipeline_svg.py            # writes docs/pipeline.svg
python scripts/docs/pipeline_svg.py --check    # fails if that would change it
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).resolve().parents[2] / "docs" / "pipeline.svg"
WIDTH, HEIGHT = 980, 410
BOX_WIDTH, BOX_HEIGHT = 200, 104
COLUMNS = (20, 267, 514, 761)
ROWS = (110, 286)
STYLE = """
text { font-family: Helvetica, Arial, sans-serif; fill: #1c2733; }
.title { font-size: 16px; font-weight: bold; }
.what { font-size: 13px; }
.count { font-size: 13px; font-style: italic; fill: #8a3c00; }
.arrow { fill: none; stroke: #4b5b6b; stroke-width: 1.8; }
.head { fill: #4b5b6b; }
"""


class Box(NamedTuple):
    column: int
    row: int
    title: str
    what: tuple[str, ...]
    count: str
    colour: str = "#eaf2fb"

    @property
    def x(self) -> int:
        return COLUMNS[self.column]

    @property
    def y(self) -> int:
        return ROWS[self.row]


BOXES = (
    Box(0, 0, "Reads", ("FASTQ in batches,", "packed as bit planes"), "1 read of 100 bases", "#f3f3f3"),
    Box(
        1, 0, "Seeds", ("a few exact words of both", "strands, looked up together"), "8 seeds, 9 occurrences"
    ),
    Box(2, 0, "Anchors", ("seeds on one diagonal,", "merged, then filtered"), "8 anchors, 7 rejected"),
    Box(3, 0, "Bands", ("errors of the whole read", "in 64 diagonals"), "1 band, 2 errors"),
    Box(3, 1, "Selection", ("best place, rivals,", "mapping quality"), "1 place, MAPQ 60"),
    Box(2, 1, "Alignment", ("gaps traced back; ends", "clipped in local mode"), "no gap: 100M"),
    Box(1, 1, "Records", ("flags, tags, mates,", "in the order of the reads"), "1 record"),
    Box(0, 1, "File", ("SAM, BAM or CRAM,", "sorted if asked"), "named when complete", "#f3f3f3"),
)
INDEX = (20, 16, 200, 54)


def text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" class="{kind}">{escape(words)}</text>'


def rectangle(x: int, y: int, width: int, height: int, colour: str) -> str:
    size = f'width="{width}" height="{height}" rx="8"'
    return f'<rect x="{x}" y="{y}" {size} fill="{colour}" stroke="#4b5b6b" stroke-width="1.2"/>'


def drawn(box: Box) -> list[str]:
    middle = box.x + BOX_WIDTH / 2
    lines = [rectangle(box.x, box.y, BOX_WIDTH, BOX_HEIGHT, box.colour)]
    lines.append(text(middle, box.y + 24, box.title, "title"))
    lines += [text(middle, box.y + 46 + 17 * i, line, "what") for i, line in enumerate(box.what)]
    lines.append(text(middle, box.y + 92, box.count, "count"))
    return lines


def arrow(*points: tuple[float, float]) -> str:
    """A line along the points, with a head at the last one."""
    (x0, y0), (x1, y1) = points[-2:]
    dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    back_x, back_y = x1 - 9 * dx, y1 - 9 * dy
    head = f"{x1:g},{y1:g} {back_x + 5 * dy:g},{back_y + 5 * dx:g} {back_x - 5 * dy:g},{back_y - 5 * dx:g}"
    line = " ".join(f"{x:g},{y:g}" for x, y in (*points[:-1], (back_x, back_y)))
    return f'<polyline points="{line}" class="arrow"/><polygon points="{head}" class="head"/>'


def between(a: Box, b: Box) -> str:
    """From one box to its neighbour in the same row, or to the one below."""
    if a.row != b.row:
        x = a.x + BOX_WIDTH / 2
        return arrow((x, a.y + BOX_HEIGHT), (x, b.y))
    y = a.y + BOX_HEIGHT / 2
    right = b.x > a.x
    return arrow((a.x + BOX_WIDTH * right, y), (b.x + BOX_WIDTH * (not right), y))


def picture() -> str:
    x, y, width, height = INDEX
    seeds, bands = BOXES[1], BOXES[3]
    top, loop = seeds.y, 84
    lines = [rectangle(x, y, width, height, "#f3f3f3")]
    lines.append(text(x + width / 2, y + 22, "Seed index", "title"))
    lines.append(text(x + width / 2, y + 42, "built once, opened by mmap", "what"))
    entry = seeds.x + 60
    lines.append(arrow((x + width, y + height / 2), (entry, y + height / 2), (entry, top)))
    start, end = bands.x + BOX_WIDTH / 2, seeds.x + 140
    lines.append(arrow((start, top), (start, loop), (end, loop), (end, top)))
    lines.append(text((start + end) / 2, loop - 10, "not settled yet: the next stage of seeds", "what"))
    for box in BOXES:
        lines += drawn(box)
    lines += [between(a, b) for a, b in zip(BOXES, BOXES[1:], strict=False)]
    view = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    title = "<title>The stages from a read in FASTQ to its record</title>"
    body = "\n".join(lines)
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" {view}>'
    return f"{begin}\n{title}\n<style>{STYLE}</style>\n{ground}\n{body}\n</svg>\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the file would change")
    args = parser.parse_args(argv)
    drawn_now = picture()
    if args.check:
        return int(not TARGET.is_file() or TARGET.read_text() != drawn_now)
    TARGET.write_text(drawn_now)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Draw docs/report.png: the first panels of the report of docs/report.json, a run on the bundled pairs.

    python scripts/docs/report_png.py            # takes a picture of today's report; needs chromium
    python scripts/docs/report_png.py --run      # maps the pairs anew first
    python scripts/docs/report_png.py --check    # fails if the page is another than the one in the picture

The picture names the page that it shows by a digest, so that the check needs no browser.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin

from gassst.tools.report import render

ROOT = Path(__file__).resolve().parents[2]
STATS, TARGET = ROOT / "docs" / "report.json", ROOT / "docs" / "report.png"
DATA = ROOT / "tests" / "data"
GROUP = r"@RG\tID:1\tSM:ecoli\tLB:ecoli\tPL:ILLUMINA"
HOST = "node07"  # for that of the machine that draws
DIGEST = "page"  # the key in the picture
SIZE = 1200, 1000
COLOURS = 128
DRAWING = re.compile(r"<svg .*?</svg>", re.DOTALL)


def digest(page: str) -> str:
    """Of all but the drawings, which other releases of matplotlib draw otherwise; their figures are in tables."""
    return hashlib.sha256(DRAWING.sub("", page).encode()).hexdigest()


def map_pairs(stats: Path) -> None:
    """The statistics of the bundled pairs, under the names that the guide calls them by."""
    with tempfile.TemporaryDirectory() as folder:
        for name, file in {
            "ref.fa.gz": "ecoli_k12_mg1655.fa.gz",
            "R1.fq.gz": "ecoli_ERR022075_R1.fastq.gz",
            "R2.fq.gz": "ecoli_ERR022075_R2.fastq.gz",
        }.items():
            os.symlink(DATA / file, Path(folder, name))
        gassst = [sys.executable, "-m", "gassst"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        files = ["ref.gsi", "R1.fq.gz", "R2.fq.gz", "-o", "run.bam", "--stats", "run.json"]
        for command in (["index", "ref.fa.gz", "-o", "ref.gsi"], ["map", *files, "-R", GROUP]):
            subprocess.run([*gassst, *command, "-t", "2"], check=True, cwd=folder, env=environment)
        counts = json.loads(Path(folder, "run.json").read_text())
        counts["run"]["host"] = HOST
        stats.write_text(json.dumps(counts, separators=(",", ":")) + "\n")


def draw(page: str, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        html, picture = Path(folder, "page.html"), Path(folder, "page.png")
        html.write_text(page, encoding="utf-8")
        browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options = [f"--user-data-dir={folder}/profile", f"--screenshot={picture}"]
        window = f"--window-size={SIZE[0]},{SIZE[1]}"
        subprocess.run([*browser, *options, window, html.as_uri()], check=True, capture_output=True)
        label = PngImagePlugin.PngInfo()
        label.add_text(DIGEST, digest(page))
        with Image.open(picture) as image:
            image.convert("RGB").quantize(COLOURS).save(target, pnginfo=label, optimize=True)


def shown(target: Path) -> str:
    """The digest of the page in a picture."""
    with Image.open(target) as image:
        return str(image.info.get(DIGEST, ""))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", action="store_true", help="map the pairs anew")
    parser.add_argument("--check", action="store_true", help="compare, and draw nothing")
    args = parser.parse_args()
    if args.run:
        map_pairs(STATS)
    page = render(json.loads(STATS.read_text(encoding="utf-8")))
    if not args.check:
        draw(page, TARGET)
    elif shown(TARGET) != digest(page):
        print(
            "docs/report.png shows another page than today's: run scripts/docs/report_png.py", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sensitivity and accuracy of any mapper on simulated reads (Rizk 4.7.4, Table 4.2).

An alignment is correct on the true contig and strand, with the read's first base within `tolerance` bases of its true
place. Clipped bases are added back. (The last base may be an adapter's.)

Sensitivity is the share of reads with a correct primary alignment of MAPQ `mapq` or more. Accuracy is the share of
primary alignments of that MAPQ that are correct. Secondary and supplementary records do not count. Each mate of a pair
is judged by its own truth, and the pair as a whole (`pair_tally`).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gassst.errors import InputError, UsageError
from gassst.files.inflate import BLOCK, open_input
from gassst.files.whole_file import whole_file, write_text
from gassst.model.sam_flags import UNMAPPED
from gassst.tools import calibration
from gassst.tools.arguments import file_path, output_path
from gassst.tools.pair_tally import PairTally
from gassst.tools.report_plots import require_matplotlib
from gassst.tools.truth import (
    NameFormat,
    PrimaryRecords,
    Truth,
    TruthTable,
    detect,
    from_alignments,
    read_alignments,
)

MATES = ("single", "first", "second")


def is_correct(found: PrimaryRecords, truth: Truth, tolerance: int) -> np.ndarray:
    """bool[n]: on the true contig and strand, and the first base of the read no more than `tolerance` bases off.

    A read on the reverse strand begins where its alignment ends. Where that is not known its start is compared.
    """
    by_end = (found.strand == -1) & ((truth.strand == 0) | truth.ends_known)
    off = np.where(by_end, found.end - truth.end, found.start - truth.start)
    strand = (truth.strand == 0) | (truth.strand == found.strand)
    return (found.contigs == truth.contig) & strand & (np.abs(off) <= tolerance)


@dataclass
class Tally:
    """Counts that add up: of primary records, `mapped[mate, mapq, correct]` and `unmapped[mate]`, int64.

    Mate 0 is a read that is not of a pair; `form` says how the truth was found.
    """

    form: str = ""
    mapped: np.ndarray = field(default_factory=lambda: np.zeros((3, 256, 2), dtype=np.int64))
    unmapped: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    pairs: PairTally = field(default_factory=PairTally)

    def add(self, found: PrimaryRecords, correct: np.ndarray, source: str) -> None:
        """Counts primary records. Raises InputError, naming `source`, for two of the same mate."""
        is_mapped = (found.flags & UNMAPPED) == 0
        cells = (found.mate * 256 + found.mapq) * 2 + correct
        self.mapped += np.bincount(cells[is_mapped], minlength=self.mapped.size).reshape(self.mapped.shape)
        self.unmapped += np.bincount(found.mate[~is_mapped], minlength=3)
        self.pairs.add(found, correct, source)

    @property
    def records(self) -> np.ndarray:
        """Primary records of each mate, int64[3]."""
        return self.mapped.sum(axis=(1, 2)) + self.unmapped


def tally(path: str, tolerance: int = 10, truth: str | None = None) -> Tally:
    """Judges every primary record of `path`. Raises InputError for files or read names it cannot read."""
    source: TruthTable | NameFormat | None = from_alignments(truth) if truth else None
    counts = Tally()
    for found in read_alignments(path):
        if source is None:
            source = detect(found.names[0], path)
        counts.add(found, is_correct(found, source.truth(found, path), tolerance), path)
        counts.form = source.name
    return counts


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def figures(mapped: np.ndarray, total: int, mapq: int) -> dict[str, Any]:
    """Table 4.2 from `mapped[mapq, correct]` and the number of reads; None is a share of nothing."""
    confident = mapped[mapq:]
    return {
        "reads": int(total),
        "mapped": int(mapped.sum()),
        "confident": int(confident.sum()),
        "mapped_share": _share(mapped.sum(), total),
        "placed_right": _share(mapped[:, 1].sum(), total),
        "sensitivity": _share(confident[:, 1].sum(), total),
        "accuracy": _share(confident[:, 1].sum(), confident.sum()),
    }


def by_mapq(mapped: np.ndarray, total: int) -> list[dict[str, Any]]:
    """One row for each MAPQ that occurs, highest first: its own errors, and those of all down to it.

    `observed` and `expected` (10^(-MAPQ/10); None for 255, "not available") are calibration; `reads_share`
    and `error_share` of all alignments with at least this MAPQ are the curve of `paftools.js mapeval`.
    """
    rows, count, wrong = [], 0, 0
    for mapq in np.flatnonzero(mapped.sum(axis=1))[::-1].tolist():
        here, bad = int(mapped[mapq].sum()), int(mapped[mapq, 0])
        count, wrong = count + here, wrong + bad
        rows.append(
            {
                "mapq": mapq,
                "alignments": here,
                "wrong": bad,
                "observed": bad / here,
                "expected": 10 ** (-mapq / 10) if mapq < 255 else None,
                "reads_share": _share(count, total),
                "error_share": wrong / count,
            }
        )
    return rows


def report(counts: Tally, mapq: int = 20, total: int | None = None) -> dict[str, Any]:
    """All figures as JSON-ready values. Raises UsageError.

    `all` and each mate that occurs, `pairs` where there are any, `by_mapq`, and `calibration` of all and of
    each mate.
    """
    records = counts.records
    if total is None:
        total = int(records.sum())
    if total < records.sum():
        raise UsageError(f"{total} reads, but {records.sum()} primary records")
    mapped = counts.mapped.sum(axis=0)
    parts = {"all": figures(mapped, total, mapq)}
    by_part = {"all": mapped}
    if records[1:].any():
        # Reads that the mapper left out are of one mate as often as of the other.
        missing = (total - int(records.sum())) // 2
        for mate in np.flatnonzero(records).tolist():
            reads = int(records[mate]) + (missing if mate else 0)
            parts[MATES[mate]] = figures(counts.mapped[mate], reads, mapq)
            by_part[MATES[mate]] = counts.mapped[mate]
        pairs = max(counts.pairs.pairs, (total - int(records[0])) // 2)
        parts["pairs"] = counts.pairs.figures(pairs)
    calibrated = {name: calibration.report(part) for name, part in by_part.items()}
    tables = {"by_mapq": by_mapq(mapped, total), "calibration": calibrated}
    return {"truth": counts.form, "mapq": mapq, **parts, **tables}


def evaluate(
    path: str,
    tolerance: int = 10,
    mapq: int = 20,
    total: int | None = None,
    truth: str | None = None,
) -> dict[str, Any]:
    """Judges `path` and returns its report. Raises InputError, UsageError."""
    return {"file": path, "tolerance": tolerance, **report(tally(path, tolerance, truth), mapq, total)}


def count_reads(path: str) -> int:
    """Reads in a FASTA file or a FASTQ file of four lines a read. Raises InputError."""
    lines, headers, last = 0, 0, b"\n"
    with open_input(path) as file:
        is_fasta = file.peek(1)[:1] == b">"  # type: ignore[attr-defined]
        while block := file.read(BLOCK):
            lines += block.count(b"\n")
            headers += (last + block).count(b"\n>")
            last = block[-1:]
    lines += last != b"\n"
    if is_fasta:
        return headers
    if lines % 4:
        raise InputError(f"{path}: {lines} lines, not four per read")
    return lines // 4


def text(result: dict[str, Any]) -> str:
    """The report as a table for people."""
    parts = [name for name in ("all", *MATES) if name in result]
    lines = [
        "# {file}: truth from {truth}, within {tolerance} bases; MAPQ >= {mapq}".format(**result),
        "\t".join(["reads", "count", "mapped%", "right%", "sensitivity%", "accuracy%"]),
    ]
    shares = ("mapped_share", "placed_right", "sensitivity", "accuracy")
    for name in parts:
        part = result[name]
        lines.append("\t".join([name, str(part["reads"]), *(_percent(part[share]) for share in shares)]))
    if "pairs" in result:
        lines.append(_pairs_text(result["pairs"]))
    for name, calibrated in result["calibration"].items():
        order = "monotone" if calibrated["monotone"] else "not monotone"
        lines.append(f"\n# calibration, {name}: within a factor of {calibration.FACTOR:g}? {order}")
        lines.append(calibration.text(calibrated))
    lines.append("\nMAPQ\tcount\twrong\tobserved\texpected\treads>=MAPQ%\twrong>=MAPQ")
    for row in result["by_mapq"]:
        expected = "-" if row["expected"] is None else f"{row['expected']:.2g}"
        numbers = f"{row['mapq']}\t{row['alignments']}\t{row['wrong']}\t{row['observed']:.2g}\t{expected}"
        lines.append(f"{numbers}\t{_percent(row['reads_share'])}\t{row['error_share']:.3g}")
    return "\n".join(lines)


def _pairs_text(pairs: dict[str, Any]) -> str:
    header = "pairs\tcount\tboth mapped%\tboth right%\tone right%\tproper%\tright of proper%"
    names = ("both_mapped", "both_right", "one_right", "proper")
    shares = [_percent(pairs[f"{name}_share"]) for name in names] + [_percent(pairs["proper_accuracy"])]
    return "\n".join(["", header, "\t".join(["all", str(pairs["pairs"]), *shares])])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3f}"


def plot(result: dict[str, Any], path: str) -> None:
    """Draws calibration and ROC to `path`. Raises UsageError (no matplotlib, odd suffix), OutputError."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    calibration, roc = figure.subplots(1, 2)
    _plot_calibration(calibration, [row for row in result["by_mapq"] if row["expected"] is not None])
    _plot_roc(roc, result["by_mapq"])
    try:
        with whole_file(path) as file:
            figure.savefig(file, format=Path(path).suffix[1:] or None)
    except ValueError as error:
        raise UsageError(f"--plot {path}: {error}") from None


def _plot_calibration(axes: Any, rows: list[dict[str, Any]]) -> None:
    mapq = np.array([row["mapq"] for row in rows])
    count = np.array([row["alignments"] for row in rows])
    # Half an error more, so that a MAPQ without errors has a place on the axis.
    observed = -10 * np.log10((np.array([row["wrong"] for row in rows]) + 0.5) / (count + 1))
    clean = np.array([row["wrong"] == 0 for row in rows], dtype=bool)
    size = 8 + 60 * count / max(count.max(initial=1), 1)
    axes.plot([0, 60], [0, 60], color="0.7", linewidth=1, label="as promised")
    axes.scatter(mapq[~clean], observed[~clean], size[~clean], label="measured")
    # Without an error, a few reads show a low limit, which is no fault: the arrow goes from there up to the promise.
    top = np.maximum(observed, mapq)
    axes.vlines(mapq[clean], observed[clean], top[clean], color="0.7", linewidth=1)
    look = {"marker": "^", "facecolors": "none", "edgecolors": "0.4"}
    axes.scatter(mapq[clean], top[clean], size[clean], **look, label="no error seen: as promised, or better")
    axes.set(xlabel="MAPQ", ylabel="-10 log10(share of wrong alignments)", title="Calibration")
    axes.legend()


def _plot_roc(axes: Any, rows: list[dict[str, Any]]) -> None:
    error = np.array([row["error_share"] for row in rows])
    reads = 100 * np.array([row["reads_share"] for row in rows])
    count = np.cumsum([row["alignments"] for row in rows])
    clean = error == 0
    # As in calibration: half an error, where a logarithmic axis has no place for none.
    error[clean] = 0.5 / (count[clean] + 1)
    axes.plot(error, reads, color="0.7", linewidth=1)
    axes.plot(error[~clean], reads[~clean], "o", markersize=4, label="measured")
    if clean.any():
        axes.plot(error[clean], reads[clean], "<", markersize=4, label="no error seen, at most")
        axes.legend()
    axes.set(
        xscale="log", xlabel="share of wrong alignments", ylabel="reads mapped (%)", title="By least MAPQ"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `gassst evaluate`."""
    add = parser.add_argument
    add(
        "alignments",
        metavar="FILE",
        type=file_path,
        help="Judge this SAM, BAM or CRAM file of simulated reads.",
    )
    add(
        "--tolerance",
        type=int,
        default=10,
        metavar="BASES",
        help="Count an alignment as correct if it starts within this distance of the origin.",
    )
    add(
        "--mapq", type=int, default=20, metavar="Q", help="Count an alignment as confident from this MAPQ on."
    )
    add(
        "--truth",
        metavar="SAM",
        type=file_path,
        help="Take the origins from these alignments (mason 2 -oa, ART -sam), not from the names of the reads.",
    )
    reads = parser.add_mutually_exclusive_group()
    reads.add_argument("--total", type=int, metavar="N", help="Assume this many reads, if FILE omits some.")
    reads.add_argument(
        "--reads",
        action="append",
        metavar="FASTQ",
        type=file_path,
        help="Count the reads in this file; give it twice for pairs.",
    )
    add(
        "--json", metavar="OUT.json", type=output_path, help="Write all figures as JSON; a dash means stdout."
    )
    add(
        "--plot",
        metavar="OUT.png",
        type=output_path,
        help="Draw calibration and ROC (.png, .svg, .pdf).",
    )


def main(args: argparse.Namespace) -> int:
    """Runs `gassst evaluate`. Raises UsageError, InputError, OutputError."""
    if args.tolerance < 0 or not 0 <= args.mapq <= 255:
        raise UsageError("--tolerance must not be negative and --mapq must be between 0 and 255")
    total = sum(map(count_reads, args.reads)) if args.reads else args.total
    result = evaluate(args.alignments, args.tolerance, args.mapq, total, args.truth)
    print(text(result))
    if args.json:
        write_text(args.json, json.dumps(result, indent=1) + "\n")
    if args.plot:
        plot(result, args.plot)
    return 0

"""A sheet of samples: which files are lanes of which output, as CSV or TSV."""

from __future__ import annotations

from collections.abc import Iterator

from gassst.errors import InputError, UsageError, unreadable
from gassst.frozen import frozen, replace
from gassst.reads.groups import ReadGroups, read_groups

REQUIRED = ("sample", "R1")
USUAL = ("lane", "R2", "output")
NF_CORE = {"fastq_1": "R1", "fastq_2": "R2"}
"""Columns of the sheets of nf-core, by their names here."""
OPTIONAL = {"library": "LB", "platform": "PL", "unit": "PU"}
METRICS = "metrics"  # column of the files for metrics of duplicates, optional too


@frozen()
class SheetRow:
    """One lane; `line` is that of the sheet."""

    line: int
    sample: str
    lane: str
    first: str
    second: str
    output: str
    extra: dict[str, str]
    metrics: str | None

    def read_group(self) -> str:
        """Its @RG line. The library is the sample's, and the platform Illumina's, unless the sheet says otherwise."""
        fields = {"ID": f"{self.sample}.{self.lane}" if self.lane else self.sample, "SM": self.sample}
        fields |= {"LB": self.sample, "PL": "ILLUMINA", **self.extra}
        return "\t".join(["@RG", *(f"{key}:{value}" for key, value in fields.items())])


@frozen()
class Sample:
    """What goes into one output; `metrics` is the file for those of its duplicates."""

    output: str
    reads: list[str]
    mates: list[str] | None
    groups: ReadGroups
    metrics: str | None = None


def read_sheet(path: str, suffix: str | None = None) -> list[Sample]:
    """The samples of a sheet, in the order of their first rows.

    The first row names the columns, separated by commas or by tabs: `REQUIRED`, in any order, and of `USUAL`,
    `OPTIONAL` and `METRICS` what is wanted. R2 is empty for single reads. Rows of one output are its lanes, which are
    numbered where no column names them. Without a column of outputs, it is the sample's name and `suffix`, by default
    bam. Empty rows, and those that begin with #, are passed over. A sheet of nf-core has fastq_1 and fastq_2 for R1
    and R2; its unknown columns are passed over, too.

    Raises
    ------
    InputError
        With one line that names file and line, for a sheet that cannot be read or says too little.
    """
    import csv

    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            text = file.readlines()
        head = next((line for line in text if line.strip() and not line.startswith("#")), "")
        lines = csv.reader(text, delimiter="\t" if "\t" in head else ",")
        rows = list(_rows(path, lines, suffix or "bam"))
    except OSError as error:
        raise unreadable(path, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not CSV: {error}") from error
    if not rows:
        raise InputError(f"{path}: names no samples")
    outputs: dict[str, list[SheetRow]] = {}
    for row in rows:
        outputs.setdefault(row.output, []).append(row)
    return [_sample(path, _numbered(lanes)) for lanes in outputs.values()]


def _numbered(lanes: list[SheetRow]) -> list[SheetRow]:
    """The lanes of an output, with numbers where none of several is named."""
    if len(lanes) == 1 or any(row.lane for row in lanes):
        return lanes
    return [replace(row, lane=str(number)) for number, row in enumerate(lanes, 1)]


def _rows(path: str, lines: Iterator[list[str]], suffix: str) -> Iterator[SheetRow]:
    columns: list[str] | None = None
    for line, cells in enumerate(lines, 1):
        cells = [cell.strip() for cell in cells]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if columns is None:
            columns = _columns(path, line, cells)
            continue
        if any("\0" in cell for cell in cells):
            raise InputError(f"{path}: line {line}: a NUL, which is not allowed in file names")
        if len(cells) != len(columns):
            raise InputError(f"{path}: line {line}: {len(cells)} cells, but {len(columns)} columns")
        yield _row(path, line, dict(zip(columns, cells, strict=True)), suffix)


def _columns(path: str, line: int, names: list[str]) -> list[str]:
    is_nf_core = "fastq_1" in names
    names = [NF_CORE.get(name, name) for name in names]
    for name in REQUIRED:
        if name not in names:
            usual = ", ".join((*REQUIRED, *USUAL))
            raise InputError(f"{path}: line {line}: no column {name}; the first row names {usual}")
    for name in names:
        is_known = is_nf_core or name in (*REQUIRED, *USUAL, *OPTIONAL, METRICS)
        if not is_known or names.count(name) > 1:
            raise InputError(f"{path}: line {line}: column {name!r} is unknown or given twice")
    return names


def _row(path: str, line: int, cells: dict[str, str], suffix: str) -> SheetRow:
    sample = cells["sample"]
    if "output" not in cells and sample:
        if "/" in sample or sample.startswith("-"):
            raise InputError(f"{path}: line {line}: {sample!r} is not a file name: add a column output")
        cells["output"] = f"{sample}.{suffix}"
    for name in ("sample", "R1", "output"):
        if not cells.get(name):
            raise InputError(f"{path}: line {line}: {name} is empty")
    extra = {key: cells[name] for name, key in OPTIONAL.items() if cells.get(name)}
    lane, second = cells.get("lane", ""), cells.get("R2", "")
    return SheetRow(
        line, sample, lane, cells["R1"], second, cells["output"], extra, cells.get(METRICS) or None
    )


def _sample(path: str, lanes: list[SheetRow]) -> Sample:
    first, last = lanes[0], lanes[-1]
    where = f"{path}: line {last.line}: {first.output}"
    if any(row.sample != first.sample for row in lanes):
        raise InputError(f"{where}: is the output of two samples")
    if any(row.metrics != first.metrics for row in lanes):
        raise InputError(f"{where}: has two files of metrics")
    if any(bool(row.second) != bool(first.second) for row in lanes):
        raise InputError(f"{where}: has lanes of single reads and of pairs")
    try:
        groups = read_groups([row.read_group() for row in lanes], len(lanes))
    except UsageError as error:
        raise InputError(f"{where}: {error}") from error
    if len(groups.lines) < len(lanes):
        raise InputError(f"{where}: two rows name the same lane")
    mates = [row.second for row in lanes] if first.second else None
    return Sample(first.output, [row.first for row in lanes], mates, groups, first.metrics)

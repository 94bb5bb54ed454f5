"""A sheet of samples: which files are lanes of which output, as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gassst.errors import InputError, UsageError, unreadable
from gassst.reads.groups import ReadGroups, read_groups

REQUIRED = ("sample", "lane", "R1", "R2", "output")
OPTIONAL = {"library": "LB", "platform": "PL", "unit": "PU"}
METRICS = "metrics"  # column of the files for metrics of duplicates, optional too


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Sample:
    """What goes into one output; `metrics` is the file for those of its duplicates."""

    output: str
    reads: list[str]
    mates: list[str] | None
    groups: ReadGroups
    metrics: str | None = None


def read_sheet(path: str) -> list[Sample]:
    """The samples of a sheet, in the order of their first rows.

    The first row names the columns: `REQUIRED`, in any order, and of `OPTIONAL` and `METRICS` what is wanted. R2 is
    empty for single reads. Rows of one output are its lanes. Empty rows, and those that begin with #, are passed over.

    Raises
    ------
    InputError
        With one line that names file and line, for a sheet that cannot be read or says too little.
    """
    import csv

    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = list(_rows(path, csv.reader(file)))
    except OSError as error:
        raise unreadable(path, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not CSV: {error}") from error
    if not rows:
        raise InputError(f"{path}: names no samples")
    outputs: dict[str, list[SheetRow]] = {}
    for row in rows:
        outputs.setdefault(row.output, []).append(row)
    return [_sample(path, lanes) for lanes in outputs.values()]


def _rows(path: str, lines: Iterator[list[str]]) -> Iterator[SheetRow]:
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
        yield _row(path, line, dict(zip(columns, cells, strict=True)))


def _columns(path: str, line: int, names: list[str]) -> list[str]:
    for name in REQUIRED:
        if name not in names:
            raise InputError(
                f"{path}: line {line}: no column {name}; the first row names {', '.join(REQUIRED)}"
            )
    for name in names:
        if name not in (*REQUIRED, *OPTIONAL, METRICS) or names.count(name) > 1:
            raise InputError(f"{path}: line {line}: column {name!r} is unknown or given twice")
    return names


def _row(path: str, line: int, cells: dict[str, str]) -> SheetRow:
    for name in ("sample", "R1", "output"):
        if not cells[name]:
            raise InputError(f"{path}: line {line}: {name} is empty")
    extra = {key: cells[name] for name, key in OPTIONAL.items() if cells.get(name)}
    sample, lane, first, second, output = (cells[name] for name in REQUIRED)
    return SheetRow(line, sample, lane, first, second, output, extra, cells.get(METRICS) or None)


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

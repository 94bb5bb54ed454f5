"""Statistics of a run as JSON: for `gassst report`, and for the sum that `gassst gather --part-stats` makes."""

import json
from contextlib import suppress
from pathlib import Path

from gassst.errors import InputError
from gassst.stats import Stats
from gassst.tools.report_numbers import read_stats


def one(data: bytes, folder: Path) -> None:
    path = folder / "stats.json"
    path.write_bytes(data)
    for read in (read_stats, summed):
        with suppress(InputError):
            read(path)


def summed(path: Path) -> None:
    stats = Stats.read_json(path)
    json.dumps(Stats.of_parts([stats, stats]).as_dict())

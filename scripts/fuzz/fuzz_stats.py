"""Statistics of a run as JSON: for `gassst report`, and for the sum that `gassst gather --part-stats` makes."""

import json
from contextlib import suppress
from pathlib import Path

from gassst.errors import InputError
from gassst.model.stats import Stats
from gassst.tools.report_numbers import read_stats


def one(data: bytes, folder: Path) -> bool:
    path = folder / "stats.json"
    path.write_bytes(data)
    taken = 0
    for read in (read_stats, summed):
        with suppress(InputError):
            read(path)
            taken += 1
    return taken == 2


def summed(path: Path) -> None:
    stats = Stats.read_json(path)
    json.dumps(Stats.of_parts([stats, stats]).as_dict())

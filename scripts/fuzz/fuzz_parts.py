"""Parts of a run for `gassst gather`, as they are copied and as they are sorted, with and without marks of duplicates.

The first byte says how, and whether the rest is BAM before its compression.
"""

from contextlib import closing
from pathlib import Path

from gassst.errors import InputError, OutputError, UsageError
from gassst.files import bgzf
from gassst.records.gathering import GatherOptions, complete, gather
from gassst.records.options import DuplicateRules
from gassst.workers.threads import Workers

COPY, SORT, MARK = range(3)


def one(data: bytes, folder: Path) -> bool:
    how, text = data[:1] or b"\0", data[1:]
    action = how[0] % 3
    if how[0] < 128:
        text = b"".join(bgzf.blocks(text, bgzf.deflater(1))) + bgzf.END_OF_FILE
    path, output = folder / "part", folder / "out.bam"
    path.write_bytes(text)
    rules = DuplicateRules() if action == MARK else None
    try:
        parts = complete([str(path)])
        with closing(Workers(1)) as workers:
            gather(parts, str(output), GatherOptions(sort=action != COPY, duplicates=rules), workers)
        is_sound = True
    except (InputError, OutputError, UsageError):
        is_sound = False
    left = {found.name for found in folder.iterdir()} - {"part", "out.bam", "out.bam.bai"}
    assert not left, f"left behind: {sorted(left)}"
    return is_sound

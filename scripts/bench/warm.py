"""Reads a second of samples after the first, in one process: the index is in memory, and on the device (Linux).

    python scripts/bench/warm.py REF.gsi NAME=READS.fq[,MATES.fq] ... [-t 16] [--devices none,gpu] [--samples 5]
        [--rounds 1] [--thread-seconds] [--json FILE] [-- OPTIONS OF gassst map]

Every sample of a sheet is the same reads; records go to /dev/null. The first sample starts the device, and the last
one ends with the process: neither counts. Of the others all times are listed, from the end of one sample to that of the
next. Samples overlap, so single times differ, and their mean tells the pace. Devices take turns. The ratio is that of
the means over all warm samples, of the first device to each other. `--thread-seconds` lists what threads spend in each
stage, too. That takes --stats, which counts coverage and errors by cycle, for a tenth of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BEGINS = re.compile(r"^gassst: \S*/\d+\.sam:$")
SEARCHED = re.compile(r"search on .*")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("reads", nargs="+", metavar="NAME=READS.fq[,MATES.fq]")
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument("--devices", default="none,gpu")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--thread-seconds", action="store_true")
    parser.add_argument("--json")
    own = sys.argv[1:]
    behind = own.index("--") if "--" in own else len(own)
    own, options = own[:behind], own[behind + 1 :]
    args = parser.parse_args(own)
    if args.samples < 3:
        parser.error("--samples: at least 3, as neither the first nor the last one counts")
    sets = []
    for each in args.reads:
        name, _, files = each.partition("=")
        sets.append(measured(name, files.split(","), args, options))
        print(json.dumps(sets[-1]), flush=True)
    if args.json:
        facts = {"threads": args.threads, "samples": args.samples, "options": options, "sets": sets}
        Path(args.json).write_text(json.dumps(facts, indent=1) + "\n")
    return 0


def measured(name: str, files: list[str], args: argparse.Namespace, options: list[str]) -> dict:
    """The runs of one set of reads on every device, and what they come to."""
    devices = args.devices.split(",")
    runs: dict[str, list[dict]] = {device: [] for device in devices}
    for _ in range(args.rounds):
        for device in devices:
            command = [sys.executable, "-m", "gassst", "map", args.index, "-t", str(args.threads)]
            runs[device].append(run([*command, "--device", device, *options], files, args))
    reads = sum(sum(chunk.count(b"\n") for chunk in chunks(path)) // 4 for path in files)
    warm = {
        # Samples of a few reads may end together.
        device: max(statistics.mean(s for one in own for s in one["warm_seconds"]), 1e-6)
        for device, own in runs.items()
    }
    return {
        "name": name,
        "reads": reads,
        "runs": runs,
        "warm_reads_a_second": {device: round(reads / seconds) for device, seconds in warm.items()},
        "times": {device: round(warm[devices[0]] / seconds, 3) for device, seconds in warm.items()},
    }


def run(command: list[str], files: list[str], args: argparse.Namespace) -> dict:
    """Seconds of the samples of one process, and where they were searched."""
    mates = files[1] if len(files) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        sheet, stats = Path(folder, "sheet.csv"), Path(folder, "stats.json")
        # Rows with one output would be lanes of one sample.
        outputs = [Path(folder, f"{i}.sam") for i in range(args.samples)]
        for output in outputs:
            output.symlink_to(os.devnull)
        rows = [f"{output.stem},L1,{files[0]},{mates},{output}" for output in outputs]
        sheet.write_text("\n".join(["sample,lane,R1,R2,output", *rows]) + "\n")
        more = ["--sheet", str(sheet), "-v", "-v"]
        if args.thread_seconds:
            more += ["--stats", str(stats)]
        began, marks, searched, text = time.perf_counter(), [], [], []
        with subprocess.Popen([*command, *more], stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                text.append(line)
                if BEGINS.match(line.strip()):
                    marks.append(time.perf_counter() - began)
                elif found := SEARCHED.search(line):
                    searched.append(found[0])
        ended = time.perf_counter() - began
        if process.returncode:
            raise SystemExit("".join(text[-20:]))
        counted = json.loads(stats.read_text())["nanoseconds"] if args.thread_seconds else {}
    seconds = [round(b - a, 3) for a, b in zip(marks, [*marks[1:], ended], strict=True)]
    return {
        "first_seconds": seconds[0],
        "warm_seconds": seconds[1:-1],
        "wall_seconds": round(ended, 3),
        "thread_seconds": {name: round(1e-9 * spent, 2) for name, spent in sorted(counted.items())},
        "searched": searched[1:-1],
    }


def chunks(path: str):
    """A file in pieces."""
    with open(path, "rb") as file:
        while piece := file.read(1 << 22):
            yield piece


if __name__ == "__main__":
    raise SystemExit(main())

"""Every way in which writing fails, on every command that writes.

The commands, and the options that name what they write, come from the parser: a new one is tried without a new line
here, or `test_every_command_that_writes_is_tried` says what is missing. Each run is a forked child of the test, which
has imported everything, so that hundreds of failures cost seconds.
"""

from __future__ import annotations

import mmap
import os
import re
import resource
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from fold_parameters import random_parameters
from forked import Ended, run_forked
from hmm_profiles import write_profile

from gassst.cli import main as cli
from gassst.cli.parser import COMMANDS, build_parser, subparser_of
from gassst.errors import EXIT_CODES, READER_GONE
from gassst.files import destination
from gassst.tools import bench, bench_page, report
from gassst.tools.arguments import PATHS, output_path

OLD = b"what was there before"
# What each command needs beside its outputs. {ref} FASTA, {index}, {reads} and {few} FASTQ, {bam} of simulated reads,
# {stats}.
INPUTS = {
    "index": ["-q", "{ref}"],
    "map": ["-q", "-t", "2", "--device", "none", "{index}", "--interleaved", "{reads}"],
    "mem": ["-v", "1", "-t", "2", "{index}", "-p", "{reads}"],
    "insert": ["-q", "-t", "2", "--device", "none", "{index}", "--interleaved", "{reads}"],
    "gather": ["-q", "-t", "2", "{part}", "--part-stats", "{part_stats}"],
    "split": ["-q", "-t", "2", "{reads}"],
    "align": ["-q", "{few}", "{ref}", "--mode", "semiglobal"],
    "fold": ["-q", "{few}", "--parameters", "{energies}"],
    "hmm": ["search", "-q", "-E", "1e99", "{family}", "{few}"],
    "simulate": ["{ref}", "-n", "100", "-l", "80", "-e", "0.02"],
    "evaluate": ["{bam}"],
    "report": ["{stats}"],
    "bench": ["{ref}", "-n", "20", "-t", "1", "--tools", "gassst"],
}
FILES = {
    ("map", "--output"): "x.bam", ("mem", "-f"): "x.sam", ("simulate", "--output"): "x.fq.gz",
    ("align", "--output"): "x.paf", ("map", "--multiqc"): "x_mqc.json", ("gather", "--output"): "x.bam",
    ("gather", "--multiqc"): "x_mqc.json",
}  # fmt: skip
# More ways through a command than one.
SPILLED = ["--sort", "--sort-memory", "1", "--batch-size", "30"]
MARKED = ["--sort", "--markdup"]
PLANTED = ["--snp-rate", "0.01"]
METHYLATED = ["--meth", "0.7,0.1,0.1"]
VARIANTS = {
    "map": [
        (["-t", "2"], "x.sam"),
        (SPILLED, "x.bam"),
        (["--sort"], "x.cram"),
        (MARKED, "x.bam"),
        (MARKED, "x.cram"),
    ],
    "gather": [([*MARKED, "--sort-memory", "1"], "x.bam")],
    "simulate": [(PLANTED, "x.fq.gz"), (METHYLATED, "x.fq.gz")],
}
# Outputs that only some runs have, and the options of these.
ONLY_WITH = {"--markdup-metrics": MARKED, "--truth-vcf": PLANTED, "--meth-truth": METHYLATED}


def outputs_of(command: str) -> dict[str, str]:
    """The options of a command that name what it writes, each with a file name that it takes."""
    found = {}
    for action in subparser_of(build_parser(command), command)._actions:
        if action.type is output_path:
            option = action.option_strings[-1]
            suffix = re.search(r"(\.\w+)+$", str(action.metavar))
            found[option] = FILES.get((command, option), f"x{suffix[0] if suffix else ''}")
    return found


WRITERS = [command for command in COMMANDS if outputs_of(command)]
STREAMS = [(command, option) for command in WRITERS for option in outputs_of(command)]
CASES = [
    pytest.param(command, options, name, id=" ".join([command, *options, name]).strip())
    for command in WRITERS
    for options, name in [([], ""), *VARIANTS.get(command, [])]
]


def test_every_command_that_writes_is_tried():
    assert set(WRITERS) == INPUTS.keys(), "a command that writes needs its inputs in INPUTS"
    for command in COMMANDS:
        for action in subparser_of(build_parser(command), command)._actions:
            says_so = re.match("(also )?(write|draw) ", str(action.help).lower())
            if (says_so or "--output" in action.option_strings) and action.type in PATHS:
                assert action.type is output_path, f"{command} {action.option_strings}: not an output_path"


# --- runs -----------------------------------------------------------------------------------------------------


class World(NamedTuple):
    """The files that commands read."""

    files: dict[str, str]


@pytest.fixture(scope="module", autouse=True)
def mappers_that_were_compared():
    """`gassst bench` without its runs, which take seconds: what it writes is tried here."""
    run = {"right": 0.9, "sensitivity": 0.8, "accuracy": 1.0, "cpu": 1.0, "wall": 1.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "compare", lambda *_: [{"name": "one", "reads": 20, "runs": {"gassst": run}}])
        patch.setattr(bench, "version", lambda *_: "0")
        yield


@pytest.fixture(scope="module")
def world(small_fasta, small_index, tmp_path_factory) -> World:
    """Inputs of all commands; what makes them imports all that the children need."""
    folder = tmp_path_factory.mktemp("world")
    files = {"ref": small_fasta, "index": small_index}
    files |= {
        "simulated": folder / "simulated.fq", "first": folder / "first.fq", "second": folder / "second.fq",
        "reads": folder / "reads.fq", "few": folder / "few.fq", "bam": folder / "reads.bam",
        "stats": folder / "stats.json", "part": folder / "part.bam", "part_stats": folder / "part.json",
        "energies": folder / "x.par", "family": folder / "x.hmm",
    }  # fmt: skip
    named = {name: os.fspath(path) for name, path in files.items()}
    steps = [
        ["simulate", named["ref"], "-n", "100", "-l", "80", "-e", "0.02", "-o", named["simulated"]],
        [
            *["simulate", named["ref"], "-n", "100", "-l", "80", "-e", "0.02", "--pairs", "300,30"],
            *["-o", named["first"], "-o", named["second"]],
        ],
        [
            "map", "-q", "--device", "none", named["index"], named["simulated"], "-o", named["bam"],
            "--stats", named["stats"],
        ],
        [
            *["map", "-q", "--device", "none", named["index"], named["simulated"], "--shard", "1/1"],
            *["-o", named["part"], "--stats", named["part_stats"]],
        ],
        ["gather", "-q", named["part"], "-o", os.fspath(folder / "x.bam")],
        ["report", named["stats"], "-o", os.fspath(folder / "x.html")],
        ["bench", named["ref"], "--tools", "gassst", "-o", os.fspath(folder / "x.html")],
        ["evaluate", named["bam"], "--plot", os.fspath(folder / "x.png")],
        ["align", "-q", named["simulated"], named["simulated"], "-o", os.fspath(folder / "x.paf")],
        [
            *["fold", "-q", named["simulated"], "--parameters", named["energies"]],
            *["-o", os.fspath(folder / "x.tsv")],
        ],
        ["hmm", "search", "-q", named["family"], named["simulated"], "-o", os.fspath(folder / "x.tsv")],
        ["split", "-q", named["simulated"], "-o", os.fspath(folder / "x.fq.gz")],
    ]  # fmt: skip
    random_parameters(files["energies"], 1)
    write_profile(files["family"], "DNA", 20, 1, means=(-99, -99, -99))  # all reads are members
    for argv in steps:
        assert cli.main(argv) == 0
    nowhere = b"@nowhere\n" + b"ACGGT" * 20 + b"\n+\n" + b"I" * 100 + b"\n"
    simulated = files["simulated"].read_bytes()
    mates = [files[name].read_bytes().splitlines(keepends=True) for name in ("first", "second")]
    pairs = (mates[which][i : i + 4] for i in range(0, 400, 4) for which in range(2))
    files["reads"].write_bytes(b"".join(line for record in pairs for line in record) + 2 * nowhere)
    files["few"].write_bytes(b"".join(simulated.splitlines(keepends=True)[: 4 * 20]))
    return World(named)


def command_line(world: World, command: str, options: list[str], folder: Path, name: str = "") -> list[str]:
    """With every output of the command in `folder`; `name` for the first of them."""
    argv = [command, *(part.format(**world.files) for part in INPUTS[command]), *options]
    for i, (option, default) in enumerate(outputs_of(command).items()):
        if not {*ONLY_WITH.get(option, ())} <= {*options}:
            continue
        file = name if name and i == 0 else default
        argv += [option, os.fspath(folder / f"{option.strip('-')}-{file}")]
    return argv


def outputs_in(argv: list[str], folder: Path) -> list[Path]:
    return [Path(part) for part in argv if part.startswith(f"{folder}/")]


def verify(ended: Ended, argv: list[str], folder: Path) -> None:
    """Exit code of the list, one line at most, nothing half-written, nothing left."""
    assert ended.code in EXIT_CODES, ended
    assert "Traceback" not in ended.error, ended
    lines = [line for line in ended.error.splitlines() if line.startswith("gassst: ")]
    if ended.code == 0:
        assert all(path.read_bytes() != OLD for path in outputs_in(argv, folder))
    else:
        assert len(lines) == len(ended.error.splitlines()) == (ended.code != READER_GONE), ended
    assert not hidden(folder)


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def with_old_files(argv: list[str], folder: Path) -> None:
    for path in outputs_in(argv, folder):
        path.write_bytes(OLD)


def untouched(argv: list[str], folder: Path) -> bool:
    paths = outputs_in(argv, folder)
    return all(path.read_bytes() == OLD for path in paths) and len(os.listdir(folder)) == len(paths)


# --- faults ---------------------------------------------------------------------------------------------------


def no_fault() -> None:
    pass


def run(
    argv: list[str],
    folder: Path,
    fault: Callable[[], object] = no_fault,
    stdout: int | None = None,
    *,
    draws: bool = False,
) -> Ended:
    """Run a command in a forked child. A run that `draws` draws one plot; all others of its page, which take most of
    its time, were drawn before.
    """

    def prepare() -> None:
        for module in (report, bench_page):
            module.svg = Plots(module.svg, int(draws))
        fault()

    return run_forked(argv, folder, prepare, stdout)


class Plots:
    """Stands in for `svg`: draws the first `left` plots."""

    def __init__(self, draw: Callable[..., str], left: int):
        self.draw, self.left = draw, left

    def __call__(self, *args, **options) -> str:
        self.left -= 1
        return self.draw(*args, **options) if self.left >= 0 else PLOT


PLOT = '<svg viewBox="0 0 1 1"><path d="%s"/></svg>' % ("M 0 0 L 1 1 " * 1000)


@pytest.mark.parametrize(
    "command, options, name, limit",
    [pytest.param(*c.values, 700 * (i % 2), id=c.id) for i, c in enumerate(CASES)],
)
def test_full_disk(world, tmp_path, command, options, name, limit):
    """The limit of file sizes stands in for it: `write` fails after some bytes."""
    argv = command_line(world, command, options, tmp_path, name)
    with_old_files(argv, tmp_path)
    ended = run(argv, tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit + 200, limit + 200)))
    verify(ended, argv, tmp_path)
    assert ended.code == 1 and untouched(argv, tmp_path)
    assert command != "map" or any(path.name in ended.error for path in outputs_in(argv, tmp_path)), ended


@pytest.mark.parametrize("command", WRITERS)
def test_folder_that_takes_no_new_file(world, tmp_path, command):
    folder = tmp_path / "folder"
    folder.mkdir()
    argv = command_line(world, command, [], folder)
    with_old_files(argv, folder)
    folder.chmod(0o555)
    try:
        ended = run(argv, folder, as_nobody_special)
    finally:
        folder.chmod(0o755)
    verify(ended, argv, folder)
    assert ended.code == 1 and "cannot write" in ended.error and untouched(argv, folder)


def as_nobody_special() -> None:
    """Root may write anywhere: give that right up."""
    if os.geteuid() == 0:
        import ctypes

        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
        assert ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)()) == 0


@pytest.mark.parametrize("command, option", STREAMS)
@pytest.mark.parametrize("fault", ["full", "no reader"])
def test_standard_output_that_takes_nothing(world, tmp_path, command, option, fault):
    argv = [command, *(part.format(**world.files) for part in INPUTS[command])]
    more = ONLY_WITH.get(option, [])
    argv += more
    for name, file in outputs_of(command).items():
        if {*ONLY_WITH.get(name, ())} <= {*more}:
            argv += [name, os.fspath(tmp_path / file)]
    argv[argv.index(option) + 1] = "/dev/stdout"
    if fault == "full":
        stdout = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, stdout = os.pipe()
        os.close(reader)
    ended = run(argv, tmp_path, stdout=stdout)
    os.close(stdout)
    # Not every output may be a stream; a reader that has gone away is none of the reasons.
    assert ended.code in ((1, 2) if fault == "full" else (READER_GONE, 1, 2)), ended
    assert "Broken pipe" not in ended.error
    verify(ended, argv, tmp_path)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("command, options, name", CASES)
def test_kill_at_the_end(world, tmp_path, command, options, name, step):
    """kill -9 when the first, the second, ... file or folder is about to be synced; then once more, undisturbed."""
    argv = command_line(world, command, options, tmp_path, name)
    with_old_files(argv, tmp_path)
    ended = run(argv, tmp_path, lambda: kill_at(step))
    assert ended.code in (0, -signal.SIGKILL), ended
    assert all(re.fullmatch(r"\..+\.gassst-[0-9a-f]{8}\.tmp(\.gone)?", name) for name in hidden(tmp_path))
    if step == 1:
        assert ended.code and hidden(tmp_path)
        assert all(path.read_bytes() == OLD for path in outputs_in(argv, tmp_path))
    if ended.code:
        ended = run(argv, tmp_path, draws=step == 1 and not options)
        assert ended.code == 0, ended
    verify(ended, argv, tmp_path)


def kill_at(step: int) -> None:
    real, calls = destination.sync, []

    def sync(path: str) -> None:
        calls.append(path)
        if len(calls) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        real(path)

    destination.sync = sync


def few_files(spare: int) -> None:
    """Lower numbers than this one are open files of the test."""
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, free + spare))


def few_threads(started: int) -> None:
    """As with `ulimit -u`, from which root is exempt."""
    real, calls = threading._start_new_thread, []

    def start(*arguments):
        calls.append(arguments)
        if len(calls) > started + 1:  # one more for signals
            raise RuntimeError("can't start new thread")
        return real(*arguments)

    threading._start_new_thread = start


def little_memory(megabytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    threads_need_memory()


FEW = [(few_files, 0), (few_files, 6), (few_threads, 0), (little_memory, 1)]


@pytest.mark.parametrize("few, left", FEW)
@pytest.mark.parametrize("command", WRITERS)
def test_little_of_what_it_needs(world, tmp_path, command, few, left):
    is_sorted = command == "map" and few is few_files
    argv = command_line(world, command, ["--sort"] if is_sorted else [], tmp_path)
    with_old_files(argv, tmp_path)
    ended = run(argv, tmp_path, lambda: few(left), draws=command == "report")
    verify(ended, argv, tmp_path)
    assert ended.code in (0, 1)


def threads_need_memory(least: int = 512 << 10) -> None:
    """Without so many bytes no thread starts.

    `Thread.start` waits for ever for a thread that has no memory for its first frame. Elsewhere the stack, of 8 MiB,
    is what fails then. A forked child has the stacks of its parent's threads that have ended.
    """
    name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
    real = getattr(threading, name)

    def start(*arguments, **options):
        try:
            mmap.mmap(-1, least).close()
        except OSError:
            raise RuntimeError("can't start new thread") from None
        return real(*arguments, **options)

    setattr(threading, name, start)


# --- a sheet, whose outputs no option names -------------------------------------------------------------------


def sheet_of(world: World, folder: Path) -> tuple[list[str], list[Path]]:
    """The command line for two samples, and what it writes: two files for each, with what was there before."""
    rows, outputs = ["sample,lane,R1,R2,output,metrics"], []
    for name in "ab":
        pair = folder / f"{name}.bam", folder / f"{name}.txt"
        rows.append(f"{name},1,{world.files['simulated']},,{pair[0]},{pair[1]}")
        outputs += pair
    for path in outputs:
        path.write_bytes(OLD)
    sheet = folder / ".sheet.csv"
    sheet.write_text("\n".join(rows) + "\n")
    options = ["-q", "-t", "2", "--device", "none", "--batch-size", "30", "--sort-memory", "1", *MARKED]
    return ["map", *options, os.fspath(world.files["index"]), "--sheet", os.fspath(sheet)], outputs


@pytest.mark.parametrize("limit", [200, 900, 1 << 20])
def test_full_disk_of_a_sheet(world, tmp_path, limit):
    argv, outputs = sheet_of(world, tmp_path)
    ended = run(argv, tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert ended.code == (limit < 1 << 20), ended
    assert len(ended.error.splitlines()) == ended.code
    assert all((path.read_bytes() == OLD) == bool(ended.code) for path in outputs)
    assert hidden(tmp_path) == [".sheet.csv"]


@pytest.mark.parametrize("step", [1, 6, 7])
def test_kill_within_a_sheet(world, tmp_path, step):
    """What a sample has written stays; the next one leaves what was there, and the next run tidies up."""
    argv, outputs = sheet_of(world, tmp_path)
    ended = run(argv, tmp_path, lambda: kill_at(step))
    assert ended.code == -signal.SIGKILL
    assert [path.read_bytes() == OLD for path in outputs] == [step == 1, step == 1, True, True]
    assert run(argv, tmp_path).code == 0
    assert hidden(tmp_path) == [".sheet.csv"]
    assert all(path.read_bytes() != OLD for path in outputs)

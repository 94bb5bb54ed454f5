"""Progress: one line that renews itself on a terminal, rare plain lines elsewhere, the share done and the time left."""

from __future__ import annotations

import io
import logging

import pytest

from gassst.cli import progress
from gassst.cli.console import ERASE_LINE, STDERR, Console, ConsoleHandler
from gassst.cli.main import main
from gassst.stats import Stats


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class HalfDone:
    """Inputs of 122,000 reads."""

    def share_done(self, reads: int) -> float:
        return reads / 122_000


class Streamed:
    def share_done(self, reads: int) -> None:
        return None


@pytest.fixture
def shown(monkeypatch):
    """What is shown in 61 seconds of 1000 reads each, three quarters of them mapped."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    def shown(stream: io.StringIO, inputs=None, quiet: bool = False) -> str:
        clock = iter(range(100))
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
        with progress.Progress(inputs, quiet, Console(stream)) as update:
            for second in range(1, 62):
                update(Stats(reads=1000 * second, mapped=750 * second))
        return stream.getvalue()

    return shown


def test_terminal_line_renews_itself_and_is_removed(shown):
    text = shown(Terminal(), HalfDone())
    lines = text.split(ERASE_LINE)[1:]
    assert len(lines) == 62 and "\n" not in text
    assert lines[29] == "gassst: 24 %, 1:32 left, 30,000 reads, 1,000 reads/s, 75.00 % mapped"
    assert lines[60:] == ["gassst: 50 %, 1:01 left, 61,000 reads, 1,000 reads/s, 75.00 % mapped", ""]


def test_elsewhere_there_is_a_plain_line_now_and_then(shown):
    text = shown(io.StringIO(), HalfDone())
    assert text.isascii() and text.replace("\n", "").isprintable()
    assert text.splitlines() == [
        "gassst: 24 %, 1:32 left, 30,000 reads, 1,000 reads/s, 75.00 % mapped",
        "gassst: 49 %, 1:02 left, 60,000 reads, 1,000 reads/s, 75.00 % mapped",
    ]


@pytest.mark.parametrize("inputs", [None, Streamed()])
def test_stream_without_a_size_shows_counts_only(shown, inputs):
    lines = shown(io.StringIO(), inputs).splitlines()
    assert lines[0] == "gassst: 30,000 reads, 1,000 reads/s, 75.00 % mapped"


def test_a_run_shows_the_share_that_is_mapped(monkeypatch, capfd, small_index, small_fastq, tmp_path):
    monkeypatch.setattr(progress.Progress, "PLAIN_SECONDS", 0)
    argv = ["map", str(small_index), str(small_fastq), "--device", "none", "-o", str(tmp_path / "o.bam")]
    assert main([*argv, "--batch-size", "200", "-t", "1"]) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if " left, " in line]
    assert [line.split(" left, ")[1].split(" reads, ")[0] for line in lines] == ["200", "400", "401"]
    assert lines[-1].startswith("gassst: 100 %, 0:00 left, ")


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_quiet(shown, stream):
    assert shown(stream, HalfDone(), quiet=True) == ""


def test_dumb_terminal_gets_plain_lines(shown, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert shown(Terminal()).count("\n") == 2


def test_line_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    Console(stream).renew("x" * 100)
    assert stream.getvalue() == ERASE_LINE + 19 * "x"


def test_message_takes_the_place_of_the_line():
    stream = Terminal()
    console = Console(stream)
    console.say("first")
    console.renew("50 %")
    console.say("second")
    console.wipe()
    assert stream.getvalue() == f"first\n{ERASE_LINE}50 %{ERASE_LINE}second\n"


def test_log_goes_through_the_console(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(STDERR, "_stream", stream)
    STDERR.renew("50 %")
    ConsoleHandler().emit(logging.LogRecord("gassst", logging.INFO, "", 0, "%d reads", (7,), None))
    assert stream.getvalue() == f"{ERASE_LINE}50 %{ERASE_LINE}7 reads\n"


def test_nobody_reads_any_more():
    stream = Terminal()
    stream.close()
    Console(stream).say("unheard")


@pytest.mark.parametrize(
    "seconds, text",
    [(0.4, "0:00"), (59.6, "1:00"), (754, "12:34"), (3723, "1:02:03"), (360_000, "100:00:00")],
)
def test_clock(seconds, text):
    assert progress.clock(seconds) == text

"""The parser of the command line: the commands, the style of their help, usage errors of one line."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from gassst.cli import habits
from gassst.cli.paths import check_paths
from gassst.cli.version import PrintVersion
from gassst.errors import UsageError
from gassst.frozen import NamedTuple
from gassst.tools.arguments import output_path

WIDEST_HELP = 100  # columns; longer lines are hard to read


class Command(NamedTuple):
    """A command: its module has `add_arguments(parser)` and `main(args)`, which returns the exit code."""

    module: str
    summary: str

    def load(self) -> ModuleType:
        return import_module(self.module)


COMMANDS = {
    "index": Command("gassst.cli.index", "Index a reference genome, once."),
    "map": Command("gassst.cli.map", "Map reads to a reference genome."),
    "mem": Command("gassst.cli.mem", "Map reads with the command line of `bwa mem`."),
    "insert": Command(
        "gassst.cli.insert", "Learn the errors and insert sizes of a library once, for many machines."
    ),
    "gather": Command("gassst.cli.gather", "Join the parts that several machines have mapped."),
    "split": Command(
        "gassst.cli.split", "Rewrite compressed reads as BGZF, which machines can map in parts."
    ),
    "align": Command("gassst.cli.align", "Align sequences with sequences: the best targets of each query."),
    "fold": Command(
        "gassst.cli.fold", "Fold RNA: structures of least free energy, of sequences or of windows."
    ),
    "hmm": Command("gassst.cli.hmm", "Search reads or proteins for members of a family, by its profile HMM."),
    "simulate": Command("gassst.tools.simulate", "Simulate reads with known origin from a genome."),
    "evaluate": Command("gassst.tools.evaluate", "Measure how well simulated reads were mapped."),
    "report": Command("gassst.tools.report", "Make a web page about a run from its --stats file."),
    "bench": Command("gassst.tools.bench", "Compare gassst with other mappers here, on simulated reads."),
    "info": Command("gassst.cli.info", "Say what an index contains, or which run wrote a file."),
    "devices": Command(
        "gassst.cli.devices", "List the OpenCL devices, and say which one would be used and why."
    ),
    "completion": Command("gassst.cli.completion", "Print a completion script for a shell."),
}


# No text of argparse is translated here. Looking for translations takes 2 % of a short run.
argparse._ = lambda text: text  # type: ignore[attr-defined]


class Help(argparse.HelpFormatter):
    """Adds each default in one style, unless the help names it already; keeps the line ends of an epilog."""

    def __init__(self, prog: str):
        import shutil  # as in argparse: with what it imports, 2 ms that other commands need not spend

        width = min(WIDEST_HELP, shutil.get_terminal_size().columns) - 2
        super().__init__(prog, max_help_position=30, width=width)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment  # argparse forgets that commands are indented

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        is_plain = isinstance(action.default, (str, int, float)) and not isinstance(action.default, bool)
        if action.nargs == 0 or not is_plain or "default" in text:
            return text
        return f"{text.removesuffix('.')} (default: %(default)s)."

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """'-o, --output OUT', with the value once."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Store(argparse._StoreAction):
    """Stores a value; an output that is named twice would not be written, and is refused."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if self.type is output_path and self._given_in is namespace:
            raise argparse.ArgumentError(self, f"given twice: {getattr(namespace, self.dest)} and {values}")
        self._given_in = namespace
        super().__call__(parser, namespace, values, option_string)

    _given_in: argparse.Namespace | None = None


class Parser(argparse.ArgumentParser):
    """Raises UsageError, which is one line with a hint, where argparse would print the whole usage and exit."""

    def __init__(self, **options: Any):
        # An abbreviation may mean another option than the user does: --seed of bowtie2 set --seed-length.
        super().__init__(**{"formatter_class": Help, "add_help": False, "allow_abbrev": False, **options})
        for name in (None, "store"):
            self.register("action", name, Store)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Unlike that of argparse, raises the OSError of a full disk or of a pipe without a reader."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        raise UsageError(_sentences(message, habits.hint_in(message), f"See `{self.prog} --help`."))


def build_parser(*loaded: str, others: bool = True) -> Parser:
    """The parser of all commands. Those named in `loaded` have their arguments; the `others` need no import."""
    parser = Parser(prog="gassst", description="Map short DNA reads to a reference genome.")
    options = parser.add_argument_group("options")  # a parser itself makes a formatter for each argument
    options.add_argument("-h", "--help", action="help", help="Show this help.")
    options.add_argument(
        "--version", action=PrintVersion, help="Show this version, and those of what it uses."
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", required=True, prog=parser.prog
    )
    for name, command in COMMANDS.items():
        if not (others or name in loaded):
            continue
        subparser = commands.add_parser(name, help=command.summary, description=command.summary)
        if name in loaded:
            command.load().add_arguments(subparser)
            last = subparser._action_groups[-1]
            _add_help(last, name)
    return parser


def _add_help(group: Any, command: str) -> None:
    if command != "map":
        flags = ["--help"] if command == "mem" else ["-h", "--help"]  # -h of bwa mem takes a value
        group.add_argument(*flags, action="help", help="Show this help.")
        return
    from gassst.cli.brief import ShowBrief

    group.add_argument("-h", "--help", action=ShowBrief, help="Show the options that most runs need.")
    group.add_argument("--help-all", action="help", help="Show all options.")


def parse(argv: list[str]) -> argparse.Namespace:
    """The arguments of one command, no output of which is an input.

    Raises UsageError; prints and exits for --help and --version.
    """
    command = argv[0] if argv and argv[0] in COMMANDS else ""
    argv = [command, "--help"] if command and argv[1:] == ["-h"] else argv
    parser = build_parser(command, others=not command)  # each takes a quarter of a millisecond
    if argv and not command and argv[0] not in parser._option_string_actions:
        raise UsageError(_no_command(argv[0], parser))
    if command == "map":
        _refuse_level(argv)
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        raise UsageError(_unknown(unknown[0], subparser_of(parser, command) if command else parser))
    args.argv = argv
    check_paths(args, subparser_of(parser, args.command))
    return args


def subparser_of(parser: argparse.ArgumentParser, command: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    found: argparse.ArgumentParser = commands.choices[command]
    return found


def _no_command(token: str, parser: argparse.ArgumentParser) -> str:
    if token.startswith("-"):
        return _unknown(token, parser)
    hint = habits.other_command(token, [*COMMANDS])
    where = f"See `{parser.prog} --help`."
    return _sentences(f"unknown command {token or repr(token)}", hint, where if "--help" not in hint else "")


def _refuse_level(argv: list[str]) -> None:
    """-v takes no number: one behind it would be the reference, or reads. Raises UsageError."""
    for option, value in zip(argv, [*argv[1:], ""], strict=True):
        level = value if option == "-v" else option[2:] if option.startswith("-v") else ""
        if level.isdecimal() and not (option == "-v" and os.path.exists(value)):
            raise UsageError(_sentences(f"-v {level}: {habits.NO_LEVEL}", "See `gassst map --help`."))


def _unknown(token: str, parser: argparse.ArgumentParser) -> str:
    what = "unknown option" if token.startswith("-") else "unexpected argument"
    options = [name for name in parser._option_string_actions if name.startswith("--")]
    command = parser.prog.removeprefix("gassst ")
    hint = habits.hint_for(token, command) or habits.similar(token, options)
    name = token.partition("=")[0]
    if command == "mem" and name in subparser_of(build_parser("map"), "map")._option_string_actions:
        hint = f"`gassst map` has {name}."
    return _sentences(f"{what} {token}", hint, f"See `{parser.prog} --help`.")


def _sentences(message: str, *more: str) -> str:
    return " ".join([f"{message.rstrip('.')}.", *filter(None, more)])

"""Write docs/guide/options.md, every option of every command, and docs/api/parameters.md, the same for Python.

Both come from the table of options (`gassst.model.options`), by way of the parser of the command line or not. The
table of tags in docs/guide/output.md comes from that of the records (`ext/io/own_tags.h`).

python scripts/docs/options_page.py            # writes the pages
python scripts/docs/options_page.py --check    # fails if that would change one
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import OWN_TAGS
from gassst.cli.parser import COMMANDS, build_parser, subparser_of
from gassst.model.options import options_of
from gassst.model.params import MapParams, Scoring
from gassst.reads.selection import Selection
from gassst.reads.tags import TagSources
from gassst.records.options import DuplicateRules, OutputFile, OutputOptions, RecordStyle

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEAD = """\
# All options

`gassst COMMAND --help` prints the options of a command. `gassst map --help` prints those that most runs need, and
`gassst map --help-all` the rest. This page is made from the same texts by `scripts/docs/options_page.py`.
"""
PARAMETERS = """\
# Parameters

What options of `gassst map` are called in Python. An option without a value is the argument as it stands here; of any
other, the default is shown. This page is made by `scripts/docs/options_page.py`.

`Mapper` takes two arguments more: `threads`, and `scoring`, which is a `gassst.Scoring`. `Mapper.map_file` takes
`duplicates`, which is a `gassst.DuplicateRules`, `tags`, which is a `gassst.TagSources`, and `selection`, which is a
`gassst.Selection`. A value out of its range is a `gassst.errors.ParameterError`.
"""
TABLES: dict[str, tuple[type, ...]] = {
    "gassst.Mapper": (MapParams,),
    "gassst.Scoring": (Scoring,),
    "Mapper.map_file": (OutputFile, RecordStyle, OutputOptions),
    "gassst.DuplicateRules": (DuplicateRules,),
    "gassst.TagSources": (TagSources,),
    "gassst.Selection": (Selection,),
}
TABLE_OF_TAGS = re.compile(r"\| tag \| meaning \| option \|\n(\|.*\n)+")
OF_THIS_MACHINE = re.compile(r", here \d+")


def whole_parser() -> argparse.ArgumentParser:
    """The parser with the options of all commands; `make man` makes a manual page of it."""
    return build_parser(*COMMANDS)


def page() -> str:
    """The text of the whole page."""
    parser = whole_parser()
    return "\n".join(
        [HEAD, *(line for name in COMMANDS for line in section(name, subparser_of(parser, name)))]
    )


def parameters() -> str:
    """The text of the page for Python."""
    lines = [PARAMETERS]
    for title, kinds in TABLES.items():
        lines += [f"## Arguments of {title}\n", "| argument | option | what it does |", "|---|---|---|"]
        for field, option in (pair for kind in kinds for pair in options_of(kind)):
            is_flag, flags = field.type == "bool", "<br>".join(map(code, option.flags))
            shown = f"={not field.default}" if is_flag else f": {field.type} = {field.default!r}"
            text = escaped(option.explained(field.default))
            lines.append(f"| {code(field.name + shown)} | {flags} | {text} |")
        lines.append("")
    return "\n".join([*lines, "::: gassst.model.presets.Preset", ""])


def output() -> str:
    """The page on output, with the table of tags that are written."""
    rows = [f"| `{name}` | {meaning} | {option and f'`{option}`'} |" for name, option, meaning in OWN_TAGS]
    table = "\n".join(["| tag | meaning | option |", "|---|---|---|", *rows, ""])
    return TABLE_OF_TAGS.sub(lambda _: table, (DOCS / "guide/output.md").read_text())


def section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """The lines of one command."""
    yield f"## gassst {name}\n"
    yield f"{COMMANDS[name].summary}\n"
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        if not actions:
            continue
        if group.description:
            yield f"### {name}: {group.title}\n"
            yield f"{group.description}\n"
        what = "option" if any(action.option_strings for action in actions) else "argument"
        yield f"| {what} | what it does |"
        yield "|---|---|"
        yield from (f"| {invocation(action)} | {description(action, formatter)} |" for action in actions)
        yield ""


def invocation(action: argparse.Action) -> str:
    """`-o OUT`, `--output OUT`, with a line for each spelling."""
    value = str(action.metavar or "") or "|".join(map(str, action.choices or ()))
    if not action.option_strings:
        return code(value)
    value = "" if action.nargs == 0 else f" {value}"
    return "<br>".join(code(f"{option}{value}") for option in action.option_strings)


def description(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    """The help of an option, without what depends on this machine."""
    return escaped(OF_THIS_MACHINE.sub("", formatter._expand_help(action)))


def code(text: str) -> str:
    return f"<code>{escaped(text)}</code>"


def escaped(text: str) -> str:
    """As text of a cell; a bar would end it."""
    for letter, entity in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;"), ("*", "&#42;"), ("_", "&#95;")):
        text = text.replace(letter, entity)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the page is out of date")
    args = parser.parse_args(argv)
    is_old = False
    pages = {"guide/options.md": page(), "api/parameters.md": parameters(), "guide/output.md": output()}
    for name, text in pages.items():
        path = DOCS / name
        if not args.check:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            print(f"{path.name} is out of date: run scripts/docs/options_page.py", file=sys.stderr)
            is_old = True
    return int(is_old)


if __name__ == "__main__":
    sys.exit(main())

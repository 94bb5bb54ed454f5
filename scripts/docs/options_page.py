"""Write docs/guide/options.md: every option of every command, from the parser of the command line.

python scripts/docs/options_page.py            # writes the page
python scripts/docs/options_page.py --check    # fails if that would change it
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from gassst.cli.parser import COMMANDS, build_parser, subparser_of

TARGET = Path(__file__).resolve().parents[2] / "docs" / "guide" / "options.md"
HEAD = """\
# All options

`gassst COMMAND --help` prints the options of a command. `gassst map --help` prints those that most runs need, and
`gassst map --help-all` the rest. This page is made from the same texts by `scripts/docs/options_page.py`.
"""
OF_THIS_MACHINE = re.compile(r", here \d+")


def page() -> str:
    """The text of the whole page."""
    parser = build_parser(*COMMANDS)
    return "\n".join(
        [HEAD, *(line for name in COMMANDS for line in section(name, subparser_of(parser, name)))]
    )


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
    text = page()
    if not args.check:
        TARGET.write_text(text)
    elif not TARGET.is_file() or TARGET.read_text() != text:
        print(f"{TARGET.name} is out of date: run scripts/docs/options_page.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

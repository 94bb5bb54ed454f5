"""`gassst completion`: shell completion of commands, options, their choices and file names, by shtab."""

from __future__ import annotations

import argparse

from gassst.tools.arguments import PATHS

SHELLS = ("bash", "zsh", "fish", "tcsh")
EXAMPLES = """\
to install it for one user:
  bash  gassst completion bash > ~/.local/share/bash-completion/completions/gassst
  zsh   gassst completion zsh > ~/.zfunc/_gassst
        (with `fpath+=~/.zfunc; autoload -Uz compinit; compinit` in ~/.zshrc)
  fish  gassst completion fish > ~/.config/fish/completions/gassst.fish
  tcsh  gassst completion tcsh > ~/.gassst.completion.csh
        (with `source ~/.gassst.completion.csh` in ~/.tcshrc)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst completion`."""
    parser.epilog = EXAMPLES
    parser.add_argument("shell", choices=SHELLS, help="The shell.")


def main(args: argparse.Namespace) -> int:
    """Run `gassst completion`."""
    import shtab

    from gassst.cli.parser import COMMANDS, build_parser, subparser_of

    parser = build_parser(*COMMANDS)
    for name in COMMANDS:
        for action in subparser_of(parser, name)._actions:
            if action.type in PATHS:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, args.shell))
    return 0

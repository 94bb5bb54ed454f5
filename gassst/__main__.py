"""The program: what the command `gassst` and `python -m gassst` run."""

import _signal  # type: ignore[import-not-found]  # `signal` would make enums, which takes as long as all else here
import gc


def run() -> None:
    """Run the command line; `gassst.cli.main` takes signals over once it is loaded."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(
            _signal.SIGINT, _signal.SIG_DFL
        )  # until then Ctrl-C ends the process without a traceback
    # Arrays are freed by count; cycles are rare, and looking for them takes 3 % of a short run.
    gc.set_threshold(100_000)
    from gassst.cli.main import run as run_command

    try:
        run_command()
    except SystemExit:  # all is well, and flushed
        import atexit
        import os

        atexit._run_exitfuncs()
        os._exit(0)  # the end of the interpreter takes all modules apart, for 25 ms


if __name__ == "__main__":
    run()

"""Types of command-line arguments that commands of `gassst.cli` and `gassst.tools` share."""


def file_path(text: str) -> str:
    """A file that the command reads; shells complete its name."""
    return text


def output_path(text: str) -> str:
    """A file that the command writes; tests/cli/test_faults.py tries every failure on it."""
    return text


PATHS = (file_path, output_path)

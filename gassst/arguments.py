"""Types of command-line arguments that commands of `gassst.cli` and `gassst.tools` share."""


def file_path(text: str) -> str:
    """A file, read or written; shells complete its name."""
    return text

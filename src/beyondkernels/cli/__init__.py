"""The command line, ``bk``."""

import sys
from io import TextIOWrapper

from beyondkernels.cli.app import app


def main() -> None:
    """Entry point of ``bk``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ shows ? rather than an error
    app()


__all__ = ["app", "main"]

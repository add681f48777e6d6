"""The command line, ``bk``."""

from beyondkernels.cli.app import app


def main() -> None:
    """Entry point of ``bk``."""
    app()


__all__ = ["app", "main"]

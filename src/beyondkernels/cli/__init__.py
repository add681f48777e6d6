"""The command line, ``bk``."""

import os
import signal
import sys


def main() -> None:
    """Entry point of ``bk``."""
    # before anything is imported that takes time: whoever types Ctrl-C early gets no traceback
    signal.signal(signal.SIGINT, _leave)
    from beyondkernels.cli.app import app
    from beyondkernels.cli.streams import outlive_readers

    outlive_readers()
    try:
        app(prog_name="bk")
    finally:
        signal.signal(signal.SIGINT, _leave)


def _leave(*_: object) -> None:
    """End at once: nothing has begun yet, or everything is over."""
    try:
        sys.stdout.flush()
        os.write(2, b"bk: interrupted\n")
    except (OSError, AttributeError, RuntimeError, ValueError):
        pass
    finally:
        os._exit(130)


__all__ = ["main"]

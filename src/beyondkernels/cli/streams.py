"""Standard output and error that outlive their readers: a broken pipe or a full disk ends no run."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

from beyondkernels.core import InputError

_CLOSED = OSError(errno.EBADF, "it is closed")


class LastingWriter(io.RawIOBase):
    """Bytes go on to a file until a write fails; what comes after that is dropped, and the reason is kept.

    Arguments:
        raw: the file; None for one that was closed before this process began.
    """

    def __init__(self, raw: io.RawIOBase | None) -> None:
        self.raw = raw
        self.failure: OSError | None = _CLOSED if raw is None else None

    def write(self, data: Any) -> int | None:
        """Write, and after the first failure only say that it was written, so that the caller comes to its end."""
        if self.failure is None and self.raw is not None:
            try:
                return self.raw.write(data)
            except OSError as error:
                self.failure = error
        return len(data)

    def writable(self) -> bool:
        """True, also after a failure: whoever asks is not to stop."""
        return True

    def fileno(self) -> int:
        """The descriptor of the file; refused if it was closed before this process began."""
        if self.raw is None:
            raise io.UnsupportedOperation("fileno")
        return self.raw.fileno()

    def isatty(self) -> bool:
        """Whether a person is reading."""
        return self.raw is not None and self.raw.isatty()


def outlive_readers() -> None:
    """From now on a write to standard output or error never fails."""
    _occupy_closed_descriptors()
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)


def lost_output() -> OSError | None:
    """Why some of standard output did not arrive; None if all did, or if the reader left because it had enough."""
    binary = getattr(sys.stdout, "buffer", None)
    writer = getattr(binary, "raw", binary)
    if sys.stdout is not None:
        sys.stdout.flush()
    failure = writer.failure if isinstance(writer, LastingWriter) else None
    return None if failure is None or failure.errno == errno.EPIPE else failure


def require_printed(what: str = "the answer") -> None:
    """Refuse to go on as if what was printed had arrived."""
    if (failure := lost_output()) is not None:
        raise InputError(f"standard output cannot be written: {why(failure)}; {what} is lost")


def why(failure: OSError) -> str:
    """The system's words for it, as part of a sentence.

    >>> why(OSError(28, "No space left on device"))
    'no space left on device'
    """
    words = failure.strerror or str(failure)
    return words[:1].lower() + words[1:]


def _occupy_closed_descriptors() -> None:
    """Put nothing behind 0, 1 and 2 where they are closed: else the next file opened becomes standard output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _lasting(stream: Any) -> Any:
    """The stream again, with a writer that lasts beneath it; a stand-in of a test stays as it is."""
    binary = getattr(stream, "buffer", None)
    raw = binary if isinstance(binary, io.RawIOBase) else getattr(binary, "raw", None)
    if isinstance(raw, LastingWriter) or (stream is not None and raw is None):
        return stream
    lasting = LastingWriter(raw)
    if stream is not None:
        try:
            stream.flush()
        except OSError as error:
            lasting.failure = error
    # a terminal without ✓ shows ? rather than an error
    return io.TextIOWrapper(
        io.BufferedWriter(lasting),
        encoding=getattr(stream, "encoding", "utf-8"),
        errors="replace",
        line_buffering=stream is not None and (stream.line_buffering or lasting.isatty()),
        write_through=getattr(stream, "write_through", False),
    )

"""Files a command writes for other programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from beyondkernels.cli.streams import require_printed
from beyondkernels.core import InputError
from beyondkernels.lab.report.files import write_atomically


def write_document(path: Path, document: dict[str, Any], else_lost: str) -> None:
    """A document as JSON; the file appears whole or not at all.

    Arguments:
        path: where to.
        document: plain data without non-finite numbers.
        else_lost: what to tell the user if it cannot be written.
    """
    if is_standard_output(path):
        print(json.dumps(document, indent=1, allow_nan=False))
        require_printed("the JSON document")
        return
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    try:
        if path.exists() and not path.is_file():  # /dev/stdout is not to be replaced
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path.resolve(), text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; {else_lost}") from None


def is_standard_output(path: Path | None) -> bool:
    """Whether ``--json -`` was said."""
    return path is not None and str(path) == "-"


def require_writable(path: Path) -> None:
    """Ask before the work that the file can be written after it."""
    if is_standard_output(path):
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise InputError(f"--json takes a file, {path} is a directory")
    if not folder.is_dir():
        raise InputError(f"--json cannot write {path}: its directory does not exist")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"--json cannot write {path}: it is read-only or not yours")

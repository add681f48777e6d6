"""Notes: Markdown beside an experiment's module, with the settings' numbers filled in."""

from __future__ import annotations

import operator
import re
from pathlib import Path
from typing import Any

_PLACE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*(?::([^}]*))?\}\}")


def read_notes(path: Path, facts: Any) -> list[str]:
    """The paragraphs of a Markdown file; a heading belongs to the paragraph below it.

    Arguments:
        path: the file.
        facts: where the names between double braces are looked up: ``{{alpha}}``, ``{{threshold:.4g}}``.
    """
    text = fill(path.read_text(encoding="utf-8"), facts)
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    notes: list[str] = []
    for block in blocks:
        if notes and notes[-1].startswith("#") and "\n" not in notes[-1]:
            notes[-1] = f"{notes[-1]}\n\n{block}"
        else:
            notes.append(block)
    return notes


def fill(text: str, facts: Any) -> str:
    """A text with the names between double braces replaced by what they stand for.

    >>> from types import SimpleNamespace
    >>> fill("kα² = {{threshold:.4g}} at widths {{widths}}", SimpleNamespace(threshold=1.35, widths=(20, 50)))
    'kα² = 1.35 at widths 20, 50'
    """

    def shown(match: re.Match[str]) -> str:
        value = operator.attrgetter(match[1])(facts)
        if isinstance(value, tuple | list):
            return ", ".join(format(item, match[2] or "") for item in value)
        return format(value, match[2] or "")

    return _PLACE.sub(shown, text)

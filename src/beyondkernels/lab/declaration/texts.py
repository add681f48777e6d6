"""Texts: Markdown beside an experiment's module, with the settings' numbers filled in."""

from __future__ import annotations

import operator
import re
from pathlib import Path
from typing import Any, NamedTuple

_PLACE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*(?::([^}]*))?\}\}")


class Text(NamedTuple):
    """What a Markdown file says of an experiment.

    Arguments:
        title: the heading of the first level that the file begins with; nothing if it begins otherwise.
        summary: the paragraph below that heading.
        notes: the other paragraphs; a heading belongs to the paragraph below it.
    """

    title: str
    summary: str
    notes: list[str]


def read_text(path: Path) -> Text:
    """Read a Markdown file. Names between double braces, ``{{alpha}}`` or ``{{threshold:.4g}}``, are left for later.

    Arguments:
        path: the file.
    """
    text = path.read_text(encoding="utf-8")
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    title, summary = "", ""
    if blocks and blocks[0].startswith("# "):
        title, summary, blocks = blocks[0][2:].strip(), " ".join("".join(blocks[1:2]).split()), blocks[2:]
    notes: list[str] = []
    for block in blocks:
        if notes and notes[-1].startswith("#") and "\n" not in notes[-1]:
            notes[-1] = f"{notes[-1]}\n\n{block}"
        else:
            notes.append(block)
    return Text(title, summary, notes)


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

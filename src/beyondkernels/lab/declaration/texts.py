"""Texts: Markdown beside an experiment's module, with the settings' numbers filled in."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

_PLACE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*(?::([^}]*))?\}\}")

_LISTS = re.compile(r"^## (Claims|Remarks|Causes)$", re.MULTILINE)
_ITEM = re.compile(r"^- \*\*([\w.-]+)\*\*(?: \[([^\]\n]*)\])?: ", re.MULTILINE)
_FIGURE = re.compile(r"^## Figure ", re.MULTILINE)
_ALT = "Alt: "


class Text(NamedTuple):
    """What a Markdown file says of an experiment.

    Arguments:
        title: the heading of the first level that the file begins with; nothing if it begins otherwise.
        summary: the paragraph below that heading.
        notes: the other paragraphs; a heading belongs to the paragraph below it.
        figures: what sections ``## Figure NAME: TITLE`` say of figures, by NAME: ``title``, ``caption``, ``alt``.
    """

    title: str
    summary: str
    notes: list[str]
    figures: dict[str, dict[str, str]]


def read_text(path: Path) -> Text:
    """Read a Markdown file. Names between double braces, ``{{alpha}}`` or ``{{threshold:.4g}}``, are left for later.

    Arguments:
        path: the file.
    """
    text, *sections = _FIGURE.split(path.read_text(encoding="utf-8"))
    text, *_ = _LISTS.split(text)
    blocks = _paragraphs(text)
    title, summary = "", ""
    if blocks and blocks[0].startswith("# "):
        title, summary, blocks = blocks[0][2:].strip(), " ".join("".join(blocks[1:2]).split()), blocks[2:]
    notes: list[str] = []
    for block in blocks:
        if notes and notes[-1].startswith("#") and "\n" not in notes[-1]:
            notes[-1] = f"{notes[-1]}\n\n{block}"
        else:
            notes.append(block)
    return Text(title, summary, notes, dict(map(_figure, sections)))


class Item(NamedTuple):
    """An item ``- **NAME** [MARK]: WORDS``.

    Arguments:
        words: what it says.
        mark: of a claim its kind, and before it the place in the paper if the paper states it, such as
            ``Theorem 2, (3.1); bound``; of a cause the word for it.
    """

    words: str
    mark: str


def read_sentences(path: Path) -> dict[str, dict[str, Item]]:
    """The items of the sections ``## Claims``, ``## Remarks`` and ``## Causes``, by section and name.

    Arguments:
        path: the Markdown file. These sections stand before those of figures.
    """
    text, *_ = _FIGURE.split(path.read_text(encoding="utf-8"))
    _, *sections = _LISTS.split(text)
    found: dict[str, dict[str, Item]] = {"Claims": {}, "Remarks": {}, "Causes": {}}
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        parts = _ITEM.split(section)[1:]
        for item, mark, words in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            found[name][item] = Item(" ".join(words.split()), mark or "")
    return found


def _figure(section: str) -> tuple[str, dict[str, str]]:
    """The name of a figure, and its words: the title behind the name, the caption, and the paragraph ``Alt: …``."""
    heading, _, body = section.partition("\n")
    name, _, title = heading.partition(":")
    paragraphs = [" ".join(block.split()) for block in _paragraphs(body)]
    caption = " ".join(block for block in paragraphs if not block.startswith(_ALT))
    alt = " ".join(block.removeprefix(_ALT) for block in paragraphs if block.startswith(_ALT))
    return name.strip(), {"title": title.strip(), "caption": caption, "alt": alt}


def _paragraphs(text: str) -> list[str]:
    return [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]


def fill(text: str, facts: Any, more: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A text with the names between double braces replaced by what they stand for.

    Arguments:
        text: the text.
        facts: the object whose attributes the names are.
        more: what further names stand for; these come first.

    >>> from types import SimpleNamespace
    >>> fill("kα² = {{threshold:.4g}} at widths {{widths}}", SimpleNamespace(threshold=1.35, widths=(20, 50)))
    'kα² = 1.35 at widths 20, 50'
    """

    def shown(match: re.Match[str]) -> str:
        first, _, rest = match[1].partition(".")
        value = more[first] if first in more else getattr(facts, first)
        value = operator.attrgetter(rest)(value) if rest else value
        if isinstance(value, tuple | list):
            return ", ".join(format(item, match[2] or "") for item in value)
        return format(value, match[2] or "")

    return _PLACE.sub(shown, text)

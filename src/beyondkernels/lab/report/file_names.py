"""File names of a report's pages, and which page speaks for its experiment."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from beyondkernels.core import require
from beyondkernels.lab.report.numbers import plain
from beyondkernels.lab.report.pages import SMOKE, ExperimentPage

_RANKS = {"paper": 0, "laptop": 1, SMOKE: 3}  # the larger the scale, the more its page has to say
_OTHER_SCALE = 2


def slug(name: str) -> str:
    """A name as part of a file name: no separator, nothing hidden, nothing a browser would act on.

    >>> slug("features/table1"), slug("../my file.py:MINE")
    ('features__table1', 'my_file.py_MINE')
    """
    made = re.sub(r"[^A-Za-z0-9._-]", "_", name.replace("/", "__")).strip("._-")
    require(bool(made), f"id must hold a letter or a digit, got {name!r}")
    return made[:120]


def file_names(pages: Sequence[ExperimentPage]) -> list[str]:
    """A file name without its ending for each page: its id, its scale, and eight letters for a variant.

    >>> file_names([ExperimentPage("a/b", "", scale="smoke"), ExperimentPage("a/c", "")])
    ['a__b.smoke', 'a__c']
    >>> file_names([ExperimentPage("a/b", "", scale="laptop", variant={"alpha": 0.5})])
    ['a__b.laptop.052eabd7']
    """
    names = [_name(page) for page in pages]
    taken = {"index": "the index"}  # compared in lower case: some file systems do not tell the cases apart
    for page, name in zip(pages, names, strict=True):
        other = taken.get(name.lower())
        require(other is None, f"pages must have different ids, scales and variants, got {page.id!r} beside {other}")
        taken[name.lower()] = repr(page.id)
    for plain_name, page in {slug(page.id): page for page in pages}.items():
        other = taken.setdefault(plain_name.lower(), repr(page.id))
        require(other == repr(page.id), f"pages must have different ids, got {page.id!r} beside {other}")
    return names


def _name(page: ExperimentPage) -> str:
    parts = [slug(page.id)]
    if page.scale:
        parts.append(slug(page.scale) if re.search(r"[A-Za-z0-9]", page.scale) else "scale")
    if page.variant:
        text = json.dumps(plain(dict(page.variant)), sort_keys=True)
        parts.append(hashlib.sha256(text.encode()).hexdigest()[:8])
    return ".".join(parts)


def by_experiment(pages: Sequence[ExperimentPage]) -> dict[str, list[int]]:
    """The positions of each experiment's pages, the one that speaks for it first.

    A finished page comes before an interrupted one, the standard settings before a variant, a larger scale before a
    smaller one.

    >>> by_experiment([ExperimentPage("a", "", scale="smoke"), ExperimentPage("a", "", scale="laptop")])
    {'a': [1, 0]}
    """
    found: dict[str, list[int]] = {}
    for position, page in enumerate(pages):
        found.setdefault(page.id, []).append(position)
    for positions in found.values():
        positions.sort(key=lambda position: _rank(pages[position]))
    return found


def _rank(page: ExperimentPage) -> tuple[bool, bool, bool, int]:
    scale = _RANKS.get(page.scale, _OTHER_SCALE)
    return page.scale == SMOKE, page.missing > 0, bool(page.variant), scale

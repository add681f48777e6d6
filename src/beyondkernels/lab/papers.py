"""Which papers there are: the folders that come with the library, and packages that others publish."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from importlib.metadata import entry_points

from beyondkernels.core import Paper

_OURS = "beyondkernels.papers"
GROUP = "beyondkernels.papers"
"""The group of entry points in which a distribution names its paper, such as ``toy = "toy_paper.paper:PAPER"``."""


def _included() -> dict[str, Paper]:
    # by their names alone: the library imports no paper, it finds what is there
    folders = importlib.import_module(_OURS).__path__
    names = [f"{_OURS}.{module.name}.paper" for module in pkgutil.iter_modules(folders) if module.ispkg]
    return {paper.short: paper for paper in (importlib.import_module(name).PAPER for name in names)}


PAPERS: dict[str, Paper] = _included()
"""The papers that come with the library, by their short names."""


@functools.cache
def paper_of(short: str) -> Paper | None:
    """The paper of that short name; entry points, which take time to read, only where the library has none.

    Arguments:
        short: such as ``features``.
    """
    if short in PAPERS:
        return PAPERS[short]
    return next((point.load() for point in entry_points(group=GROUP, name=short)), None)

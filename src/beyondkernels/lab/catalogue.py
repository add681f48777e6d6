"""All experiments of the library, and how to find one."""

from __future__ import annotations

import importlib
from pathlib import Path

from beyondkernels.core import unknown
from beyondkernels.lab.declaration.experiment import Experiment
from beyondkernels.lab.declaration.user_files import from_file
from beyondkernels.lab.papers import PAPERS, paper_of

CATALOGUE = {name: home for paper in PAPERS.values() for name, home in paper.catalogue.items()}
"""Where each experiment of the library is declared."""


def find(name: str) -> Experiment:
    """The experiment of that id, or the one a user's file defines: ``path/file.py:NAME``."""
    if ".py:" in name or name.endswith(".py"):
        path, _, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
        return from_file(Path(path), attribute)
    home = CATALOGUE.get(name) or _published_elsewhere(name)
    if home is None:
        unknown("experiment", name, CATALOGUE, listed_by="bk list")
    module, _, attribute = home.partition(":")
    return getattr(importlib.import_module(module), attribute)()


def _published_elsewhere(name: str) -> str | None:
    paper = paper_of(name.partition("/")[0])
    return None if paper is None else paper.catalogue.get(name)

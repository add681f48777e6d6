"""All experiments of the package, and how to find one."""

from __future__ import annotations

import importlib
from pathlib import Path

from beyondkernels.core import InputError, load_file, unknown
from beyondkernels.experiments.base import Experiment

CATALOGUE = {
    "features/table1": "beyondkernels.experiments.features.table1:Table1",
    "features/table1-strong": "beyondkernels.experiments.features.table1_strong:Table1Strong",
}
"""Where each experiment is declared."""


def find(name: str) -> Experiment:
    """The experiment of that id, or the one a user's file defines: ``path/file.py:NAME``."""
    if ".py:" in name:
        path, _, attribute = name.rpartition(":")
        return from_file(Path(path), attribute)
    if name not in CATALOGUE:
        unknown("experiment", name, CATALOGUE)
    module, _, attribute = CATALOGUE[name].partition(":")
    return getattr(importlib.import_module(module), attribute)()


def from_file(path: Path, attribute: str) -> Experiment:
    """The experiment a user's file defines, as a class or an instance."""
    module = load_file(path)
    found = getattr(module, attribute, None)
    if isinstance(found, type) and issubclass(found, Experiment):
        found = found()
    if not isinstance(found, Experiment):
        there = [
            name
            for name, value in vars(module).items()
            if value is not Experiment
            and (isinstance(value, Experiment) or (isinstance(value, type) and issubclass(value, Experiment)))
        ]
        raise InputError(
            f"{path.name} defines no experiment {attribute!r}; it defines {', '.join(there) or 'no experiment'}"
        )
    return found


def source_file(name: str) -> tuple[str, ...]:
    """The user's file behind an experiment's name, for workers to load; nothing for the package's own."""
    return (name.rpartition(":")[0],) if ".py:" in name else ()

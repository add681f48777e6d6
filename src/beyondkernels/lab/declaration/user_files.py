"""Experiments that a user's file defines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeGuard

from beyondkernels.core import InputError, load_file
from beyondkernels.core.components import USER_MODULES
from beyondkernels.lab.declaration.experiment import Experiment


def from_file(path: Path, attribute: str) -> Experiment:
    """The experiment a user's file defines, as a class or an instance.

    Arguments:
        path: the file.
        attribute: its name in the file; nothing for the only one.
    """
    try:
        module = load_file(path)
    except SystemExit as error:
        advice = 'what is meant for python alone belongs under if __name__ == "__main__":'
        raise InputError(f"{path} calls sys.exit when it is loaded; {advice}") from error
    there = [
        name
        for name, value in vars(module).items()
        if isinstance(value, Experiment) or (_is_class(value) and value.__module__ == module.__name__)
    ]
    attribute = there[0] if attribute == "" and len(there) == 1 else attribute
    found = getattr(module, attribute, None)
    try:
        found = found() if _is_class(found) else found
    except TypeError as error:  # a method that every experiment needs is not there
        raise InputError(f"{path.name}:{attribute} is not complete: {error}") from error
    if not isinstance(found, Experiment):
        ways = " or ".join(f"{path.name}:{name}" for name in there)
        wanted = f"no experiment {attribute!r}" if attribute else "several experiments"
        none = f"{path.name} defines no experiment; NAME = Audit(model, train, test) would be one"
        raise InputError(f"{path.name} defines {wanted}; say {ways}" if there else none)
    for name in ("id", "title", "summary", "reference"):
        if not hasattr(found, name):
            raise InputError(f"{path.name}:{attribute} is not complete: it has no {name}")
    return found


def name_in_file(path: Path, experiment: Experiment) -> str:
    """What a user's file, which is loaded, calls an experiment or its class.

    Arguments:
        path: the file.
        experiment: the experiment.
    """
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith(f"{USER_MODULES}.") and file and Path(file) == path.resolve():
            for called, value in vars(module).items():
                if value is experiment:  # an instance of a class that stands elsewhere
                    return called
    return type(experiment).__name__


def source_file(name: str, experiment: Experiment) -> tuple[str, ...]:
    """The user's file behind an experiment, for workers to load; nothing for one of an importable module."""
    if ".py:" in name:
        return (name.rpartition(":")[0],)
    module = type(experiment).__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    return (file,) if file and module.startswith(f"{USER_MODULES}.") else ()


def portable(name: str) -> str:
    """An experiment's name as a store may keep it: of a path only the file's name.

    >>> portable("features/table1"), portable("mine/parity.py:Mine"), portable("../../home/ada/parity.py:Mine")
    ('features/table1', 'parity.py:Mine', 'parity.py:Mine')
    """
    return Path(name).name if ".py:" in name else name


def _is_class(value: object) -> TypeGuard[type[Experiment]]:
    return isinstance(value, type) and issubclass(value, Experiment)

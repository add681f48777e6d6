"""Opening a store that is there already."""

from __future__ import annotations

from beyondkernels.core import InputError
from beyondkernels.experiments import store_path
from beyondkernels.runs import Store


def open_store(given: str | None, *, writing: bool = False) -> Store:
    """The store that is named, or the usual one.

    Arguments:
        given: what ``--store`` says.
        writing: whether anything in it may be changed.
    """
    path = store_path(given)
    if not path.exists():
        raise InputError(f"there is no store at {path} yet; bk run makes one, --store DIR names another")
    return Store.open(path, create=False, read_only=not writing)

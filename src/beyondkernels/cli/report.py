"""``bk report``."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

from beyondkernels.cli.display import count
from beyondkernels.cli.guard import MISSING, in_users_file, say_error
from beyondkernels.cli.stores import open_store
from beyondkernels.core import InputError, unknown
from beyondkernels.lab import HOW_TO_SEE_ALL, ExperimentPage, find, is_known, page_from_store, stored, write_report
from beyondkernels.store import Store


def report(names: list[str], store: str | None, out: Path) -> int:
    """Write pages for every scale and variant of the named experiments, or of all, from stored runs."""
    opened = open_store(store)
    requests = opened.requests()
    known = sorted({request["experiment"] for request in requests})
    if not known:
        raise InputError(f"the store {opened.path} holds no experiment yet; bk run makes one")
    files = {find(name).id: name for name in names if ".py" in name}  # where a user's experiment is found today
    chosen = {*files, *(name for name in names if ".py" not in name)} or set(known)
    for name in chosen:
        if name not in known:
            unknown("experiment in this store", name, known)
    pages: dict[tuple[str, str], ExperimentPage] = {}  # by experiment and label: what is the same now is shown once
    left_out = False
    for request in reversed(requests):  # the newest first
        experiment = request["experiment"]
        if experiment not in chosen:
            continue
        try:
            page = _page(request, opened, files)
            if (page.id, page.label) in pages and not (experiment in files or is_known(request)):
                page = dataclasses.replace(page, variant={"request": request["digest"][:8]})
            pages.setdefault((page.id, page.label), page)
        except InputError as error:
            left_out = True
            say_error(f"{experiment} at {request['scale']} scale is left out: {error}")
        except Exception as error:  # an experiment of the user's, which must not cost the others their pages
            if (place := in_users_file(error)) is None:
                raise
            left_out = True
            say_error(f"{experiment} at {request['scale']} scale is left out: {place}")
    if not pages:
        return MISSING
    listed = sorted(pages.values(), key=lambda page: (page.id, page.scale))
    index = write_report(listed, out)
    print(f"report: {index}")
    for experiment in dict.fromkeys(page.id for page in listed):
        if missing := sum(page.missing for page in listed if page.id == experiment):
            print(f"{experiment}: {count(missing, 'run')} missing", file=sys.stderr)
    return MISSING if left_out or any(page.missing for page in listed) else 0


def _page(request: dict[str, Any], store: Store, files: dict[str, str]) -> ExperimentPage:
    """The page of a stored request; no file is loaded that this call did not name."""
    experiment = request["experiment"]
    if experiment in files or is_known(request):
        return stored(request, store, files.get(experiment)).page()
    print(f"{experiment} at {request['scale']} scale is shown as stored. {HOW_TO_SEE_ALL}", file=sys.stderr)
    return page_from_store(request, store)

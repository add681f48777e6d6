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
from beyondkernels.core.tracebacks import whole_traceback
from beyondkernels.lab import HOW_TO_SEE_ALL, ExperimentPage, find, is_known, page_from_store, stored, write_report
from beyondkernels.lab.report.site import require_shown
from beyondkernels.store import Store


def report(names: list[str], store: str | None, out: Path, debug: bool = False) -> int:
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
        except Exception as error:  # what one store or one experiment holds must not cost the others their pages
            left_out = True
            _say_left_out(experiment, request["scale"], error, debug)
    if not pages:
        return MISSING
    listed = sorted(pages.values(), key=lambda page: (page.id, page.scale))
    try:
        index = write_report(listed, out)
    except Exception:
        shown = [page for page in listed if _is_shown(page, debug)]
        if not shown or len(shown) == len(listed):  # it is not the pages that are wrong
            raise
        listed, left_out = shown, True
        index = write_report(listed, out)
    print(f"report: {index}")
    for experiment in dict.fromkeys(page.id for page in listed):
        if missing := sum(page.missing for page in listed if page.id == experiment):
            print(f"{experiment}: {count(missing, 'run')} missing", file=sys.stderr)
    return MISSING if left_out or any(page.missing for page in listed) else 0


def _is_shown(page: ExperimentPage, debug: bool) -> bool:
    """Whether a page can be written; why not is said."""
    try:
        require_shown(page)
    except Exception as error:  # numbers of a store that may come from anybody
        _say_left_out(page.id, page.scale, error, debug)
        return False
    return True


def _say_left_out(experiment: str, scale: str, error: Exception, debug: bool) -> None:
    if debug:
        print(whole_traceback(error), file=sys.stderr)
    why = str(error) if isinstance(error, InputError) else in_users_file(error)
    what = why or f"its stored numbers cannot be shown ({type(error).__name__}: {error}); --debug tells more"
    say_error(f"{experiment} at {scale} scale is left out: {what}")


def _page(request: dict[str, Any], store: Store, files: dict[str, str]) -> ExperimentPage:
    """The page of a stored request; no file is loaded that this call did not name."""
    experiment = request["experiment"]
    if experiment in files or is_known(request):
        return stored(request, store, files.get(experiment)).page()
    print(f"{experiment} at {request['scale']} scale is shown as stored. {HOW_TO_SEE_ALL}", file=sys.stderr)
    return page_from_store(request, store)

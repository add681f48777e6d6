"""``bk report``."""

from __future__ import annotations

import sys
from pathlib import Path

from beyondkernels.cli.display import count
from beyondkernels.cli.guard import MISSING, in_users_file, say_error
from beyondkernels.cli.stores import open_store
from beyondkernels.core import InputError, unknown
from beyondkernels.experiments import HOW_TO_SEE_ALL, find, is_known, page_as_stored, stored
from beyondkernels.reports import ExperimentPage, write_report


def report(names: list[str], store: str | None, out: Path) -> int:
    """Write pages from stored runs for the named experiments, or for all: one for each scale and variant."""
    opened = open_store(store)
    requests = sorted(opened.requests(), key=lambda r: (r["experiment"], r["scale"], -r["written"]))
    known = sorted({request["experiment"] for request in requests})
    if not known:
        raise InputError(f"the store {opened.path} holds no finished experiment yet; bk run makes one")
    files = {find(name).id: name for name in names if ".py" in name}  # where a user's experiment is found today
    chosen = {*files, *(name for name in names if ".py" not in name)} or set(known)
    for name in chosen:
        if name not in known:
            unknown("experiment in this store", name, known)
    wanted = [request for request in requests if request["experiment"] in chosen]
    pages: list[ExperimentPage] = []
    gaps: dict[str, int] = {}
    for request in wanted:
        experiment = request["experiment"]
        try:
            if experiment in files or is_known(request):
                page = stored(request, opened, files.get(experiment)).page()
            else:  # no file is loaded that this call did not name
                page = page_as_stored(request, opened)
                print(f"{experiment} at {request['scale']} scale is shown as stored. {HOW_TO_SEE_ALL}", file=sys.stderr)
            if any((other.id, other.label) == (page.id, page.label) for other in pages):
                raise InputError("a newer request differs in nothing that the store tells")
            pages.append(page)
            gaps[experiment] = gaps.get(experiment, 0) + page.missing
        except InputError as error:
            say_error(f"{experiment} at {request['scale']} scale is left out: {error}")
        except Exception as error:  # an experiment of the user's, which must not cost the others their pages
            if (place := in_users_file(error)) is None:
                raise
            say_error(f"{experiment} at {request['scale']} scale is left out: {place}")
    if not pages:
        return MISSING
    index = write_report(pages, out)
    print(f"report: {index}")
    for experiment, missing in gaps.items():
        if missing:
            print(f"{experiment}: {count(missing, 'run')} missing", file=sys.stderr)
    return MISSING if len(pages) < len(wanted) or any(gaps.values()) else 0

"""``bk report``."""

from __future__ import annotations

import sys
from pathlib import Path

from beyondkernels.cli.display import count
from beyondkernels.cli.guard import MISSING, in_users_file, say_error
from beyondkernels.cli.stores import open_store
from beyondkernels.core import InputError, unknown
from beyondkernels.experiments import Result, find, stored
from beyondkernels.reports import ExperimentPage, write_report


def report(names: list[str], store: str | None, out: Path) -> int:
    """Write pages for the newest requests of the named experiments, or of all, from stored runs."""
    opened = open_store(store)
    requests = {(request["experiment"], request["scale"]): request for request in opened.requests()}
    known = sorted({experiment for experiment, _ in requests})
    if not known:
        raise InputError(f"the store {opened.path} holds no finished experiment yet; bk run makes one")
    files = {find(name).id: name for name in names if ".py" in name}  # where a user's experiment is found today
    chosen = {*files, *(name for name in names if ".py" not in name)} or set(known)
    for name in chosen:
        if name not in known:
            unknown("experiment in this store", name, known)
    wanted = [request for (experiment, _), request in sorted(requests.items()) if experiment in chosen]
    results: list[Result] = []
    pages: list[ExperimentPage] = []
    for request in wanted:
        try:
            result = stored(request, opened, files.get(request["experiment"]))
            pages.append(result.page())
            results.append(result)
        except InputError as error:
            say_error(f"{request['experiment']} at {request['scale']} scale is left out: {error}")
        except Exception as error:  # an experiment of the user's, which must not cost the others their pages
            if (place := in_users_file(error)) is None:
                raise
            say_error(f"{request['experiment']} at {request['scale']} scale is left out: {place}")
    if not results:
        return MISSING
    index = write_report(pages, out)
    print(f"report: {index}")
    for result in results:
        if result.missing:
            print(f"{result.request.experiment.id}: {count(len(result.missing), 'run')} missing", file=sys.stderr)
    return MISSING if len(results) < len(wanted) or any(result.missing for result in results) else 0

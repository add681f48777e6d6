"""``bk report``."""

from __future__ import annotations

import sys
from pathlib import Path

from beyondkernels.cli.guard import MISSING, say_error
from beyondkernels.core import InputError, unknown
from beyondkernels.experiments import Result, store_path, stored
from beyondkernels.reports import write_report
from beyondkernels.runs import Store


def report(names: list[str], store: str | None, out: Path) -> int:
    """Write pages for the newest requests of the named experiments, or of all, from stored runs."""
    path = store_path(store)
    if not path.exists():
        raise InputError(f"no store at {path}; bk run makes one, --store names another")
    opened = Store.open(path, create=False, read_only=True)
    requests = {(request["experiment"], request["scale"]): request for request in opened.requests()}
    known = {experiment for experiment, _ in requests}
    for name in names:
        if name not in known:
            unknown("experiment in this store", name, sorted(known) or ["none yet"])
    wanted = [request for (experiment, _), request in sorted(requests.items()) if not names or experiment in names]
    if not wanted:
        raise InputError(f"the store {path.name} holds no experiment yet; bk run makes one")
    results: list[Result] = []
    for request in wanted:
        try:
            results.append(stored(request, opened))
        except InputError as error:
            say_error(f"{request['experiment']} at {request['scale']} scale is left out: {error}")
    index = write_report([result.page() for result in results], out)
    print(f"report: {index}")
    for result in results:
        if result.missing:
            print(f"{result.request.experiment.id}: {len(result.missing)} runs are missing", file=sys.stderr)
    return MISSING if len(results) < len(wanted) or any(result.missing for result in results) else 0

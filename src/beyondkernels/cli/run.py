"""``bk run``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from beyondkernels.cli.display import console, count, show_result
from beyondkernels.cli.guard import FAILED, MISSING
from beyondkernels.cli.options import Options
from beyondkernels.cli.output import require_writable, write_document
from beyondkernels.cli.progress import Display, duration
from beyondkernels.core import InputError
from beyondkernels.experiments import Request, Result, ask, dry_run, run, store_path
from beyondkernels.runs import Store


def run_all(names: list[str], options: Options, json_file: Path | None, check: bool, dry: bool) -> int:
    """Run experiments one after the other, show them, and say how it went."""
    if not names:
        raise InputError("no experiment is named; bk list shows them, bk run features/table1 runs the first")
    # All of them are understood before the first one runs: a misspelt name or setting costs no hour.
    scale = "laptop" if options.scale is None else options.scale
    requests = [ask(name, scale, options.seeds, dict(options.settings)) for name in names]
    if json_file is not None:
        require_writable(json_file)
    if dry:
        return _dry(requests, options)
    for request in requests:
        _ = request.first_round
    results = [_run_one(request, options) for request in requests]
    if json_file is not None:
        document = {"schema": 1, "results": [result.as_json() for result in results]}
        write_document(json_file, document, "the runs are stored")
    where = f" --store {shlex.quote(options.store)}" if options.store else ""
    print(f"runs are kept in {store_path(options.store)}; bk report{where} writes pages", file=sys.stderr)
    if any(result.missing for result in results):
        return MISSING
    return FAILED if check and not all(result.holds for result in results) else 0


def _run_one(request: Request, options: Options) -> Result:
    with Display(console(stderr=True)) as display:
        result = run(
            request,
            workers=options.workers,
            store=options.store,
            command=shlex.join(["bk", *sys.argv[1:]]),
            observer=display,
        )
    show_result(result, console())
    return result


def _dry(requests: list[Request], options: Options) -> int:
    where = store_path(options.store)
    store = Store.open(where, create=False, read_only=True) if where.exists() else None
    for request in requests:
        cost = dry_run(request, store)
        seconds = cost["core_seconds"]
        expected = "cost unknown" if seconds is None else f"about {duration(seconds)} on one core"
        runs, scale = count(cost["runs"], "run"), request.scale
        print(f"{request.experiment.id}: {runs}, {cost['stored']} stored already, {expected} ({scale} scale)")
    return 0

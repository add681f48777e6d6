"""``bk run``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from beyondkernels.cli.display import console, count, show_result
from beyondkernels.cli.guard import FAILED, MISSING
from beyondkernels.cli.options import Options
from beyondkernels.cli.progress import Display, duration
from beyondkernels.core import InputError
from beyondkernels.experiments import Request, Result, ask, dry_run, run, store_path
from beyondkernels.reports.files import write_atomically
from beyondkernels.runs import Store


def run_all(names: list[str], options: Options, json_file: Path | None, check: bool, dry: bool) -> int:
    """Run experiments one after the other, show them, and say how it went."""
    if not names:
        raise InputError("no experiment is named; bk list shows them, bk run features/table1 runs the first")
    # All of them are understood before the first one runs: a misspelt name or setting costs no hour.
    scale = "laptop" if options.scale is None else options.scale
    requests = [ask(name, scale, options.seeds, dict(options.settings)) for name in names]
    if json_file is not None:
        _require_writable(json_file)
    if dry:
        return _dry(requests, options)
    for request in requests:
        _ = request.first_round
    results = [_run_one(request, options) for request in requests]
    if json_file is not None:
        write_json(json_file, results)
    where = f" --store {shlex.quote(options.store)}" if options.store else ""
    print(f"runs are kept in {store_path(options.store)}; bk report{where} writes pages", file=sys.stderr)
    if any(result.missing for result in results):
        return MISSING
    return FAILED if check and not all(result.holds for result in results) else 0


def write_json(path: Path, results: list[Result]) -> None:
    """The results in the contract's form; the file appears whole or not at all."""
    document = {"schema": 1, "results": [result.as_json() for result in results]}
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    try:
        if path.exists() and not path.is_file():  # /dev/stdout is not to be replaced
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path.resolve(), text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; the runs are stored") from None


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


def _require_writable(path: Path) -> None:
    folder = path.resolve().parent
    if path.is_dir():
        raise InputError(f"--json takes a file, {path} is a directory")
    if not folder.is_dir():
        raise InputError(f"--json cannot write {path}: its directory does not exist")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"--json cannot write {path}: it is read-only or not yours")

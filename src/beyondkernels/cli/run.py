"""``bk run``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from rich.console import Console

from beyondkernels.cli.display import console, count, show_result
from beyondkernels.cli.guard import FAILED, MISSING
from beyondkernels.cli.options import Options
from beyondkernels.cli.output import is_standard_output, require_writable, write_document
from beyondkernels.core import InputError
from beyondkernels.execution import duration
from beyondkernels.execution.executor import processors
from beyondkernels.lab import SCALES, Display, Forecast, Request, Result, ask, dry_run, run, store_path
from beyondkernels.store import PROCESSOR, Store, require_device


def run_experiments(
    names: list[str], options: Options, json_file: Path | None, check: bool, dry: bool, debug: bool = False
) -> int:
    """Run experiments one after the other, show them, and say how it went."""
    if not names:
        raise InputError("no experiment is named; bk list shows them, bk demo runs one that takes a minute")
    for name in names:
        if name in SCALES:
            raise InputError(f"{name} is a scale, not an experiment; say --scale {name}")
    # All of them are understood before the first one runs: a misspelt name or setting costs no hour.
    scale = "laptop" if options.scale is None else options.scale
    requests = [ask(name, scale, options.seeds, dict(options.settings), options.device or PROCESSOR) for name in names]
    if json_file is not None:
        require_writable(json_file)
    if dry:
        return _dry(requests, options)
    require_device(options.device or PROCESSOR)
    for request in requests:
        _ = request.first_round
    shown = console(stderr=is_standard_output(json_file))  # then standard output is for the document alone
    results = [_run_one(request, options, shown, debug) for request in requests]
    if json_file is not None:
        document = {"schema": 1, "results": [result.as_json() for result in results]}
        write_document(json_file, document, "the runs are stored")
    where = f" --store {shlex.quote(options.store)}" if options.store else ""
    print(f"runs are kept in {store_path(options.store)}; bk report{where} writes pages", file=sys.stderr)
    if any(result.missing for result in results):
        return MISSING
    return FAILED if check and not all(result.holds for result in results) else 0


def _run_one(request: Request, options: Options, shown: Console, debug: bool) -> Result:
    with Display(console(stderr=True)) as display:
        result = run(
            request,
            workers=options.workers,
            store=options.store,
            command=shlex.join(["bk", *sys.argv[1:]]),
            observer=display,
        )
    show_result(result, shown, debug=debug)
    return result


def _dry(requests: list[Request], options: Options) -> int:
    where = store_path(options.store)
    store = Store.open(where, create=False, read_only=True) if where.exists() else None
    for request in requests:
        print(f"{request.words()}: {_expected(dry_run(request, store), options.workers or processors())}")
    return 0


def _expected(seen: Forecast, workers: int) -> str:
    """What a request will take, in words that tell what is a guess."""
    guess = "that depend on how these come out (a guess: more if a grid must grow)"
    later = f" and about {seen.guessed} more {guess}" if seen.guessed else ""
    open_end = ", perhaps more after that" if seen.open_ended else ""
    left = seen.runs - seen.stored
    if left == 0:
        time = "nothing left to do"
    elif seen.core_seconds is None:
        time = "how long they take is not known"
    else:
        rough = "" if seen.measured == left else ", a rough guess" if seen.measured == 0 else ", partly a guess"
        on_all = f", {duration(seen.core_seconds / workers)} on {workers}" if workers > 1 else ""
        time = f"about {duration(seen.core_seconds)} on one core{on_all}{rough}"
    return f"{count(seen.certain, 'run')}{later}{open_end}; {seen.stored} stored already; {time}"

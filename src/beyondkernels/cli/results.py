"""``bk results``: results that are kept with the code, made where they are missing or out of date."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from beyondkernels.cli import kept_results as kept
from beyondkernels.cli.display import console, count
from beyondkernels.cli.documents import update_documents
from beyondkernels.cli.guard import FAILED, MISSING
from beyondkernels.cli.options import Options
from beyondkernels.core import InputError
from beyondkernels.execution.costs import Round
from beyondkernels.lab import (
    CATALOGUE,
    Display,
    Request,
    ask,
    judged_again,
    kept_path,
    out_of_date,
    run,
    write_judged,
    write_kept,
)


def keep_results(names: list[str], options: Options, folder: Path | None, check: bool) -> int:
    """Make what is missing or out of date, or only say what is; then the documents beside the folder.

    Arguments:
        names: the experiments; all of the package if none is named.
        options: scale, workers and store.
        folder: where results are kept; by default with this code.
        check: whether to change nothing.
    """
    folder = folder or (kept.FOLDERS[-1] if kept.FOLDERS and kept.FOLDERS[-1].is_dir() else Path("results"))
    scale = "laptop" if options.scale is None else options.scale
    asked = {kept_path(folder, request): request for request in (ask(name, scale) for name in names or CATALOGUE)}
    old = {path: why for path, request in asked.items() if (why := out_of_date(path, request))}
    for path in old if not check else ():
        _ = asked[path].first_round  # what is wrongly declared costs no hour
    complete = True
    for path, request in asked.items():
        why = old.get(path)
        state = f"out of date: {why}" if path.is_file() else why
        print(f"{request.experiment.id}, {scale} scale: {state if why else 'up to date'}", flush=True)
        if why and not check:
            complete = (_judge(path, request) or _make(path, request, options)) and complete
    told = update_documents(folder, write=not check)
    for name, state in told.items():
        print(f"{name}: {state}")
    if check and (old or "out of date" in told.values()):
        print("make results makes them again (bk results with names makes only those)", file=sys.stderr)
        return FAILED
    return 0 if complete else MISSING


class _Counting(Display):
    """A display that knows whether a result needed earlier calls."""

    stored = 0

    def planned(self, request: Request, planned: Round) -> None:
        self.stored += planned.stored
        super().planned(request, planned)


def _judge(path: Path, request: Request) -> bool:
    """Judge a kept result anew from its rows; whether that was enough."""
    document = judged_again(path, request)
    if document is None:
        return False
    write_judged(path, document)
    print(f"  judged again from its rows, in {path}", flush=True)
    return out_of_date(path, request) == ""


def _make(path: Path, request: Request, options: Options) -> bool:
    with _Counting(console(stderr=True)) as display:
        result = run(request, workers=options.workers, store=options.store, observer=display)
    if result.missing:
        print(f"not kept: {count(len(result.missing), 'run')} missing or crashed", file=sys.stderr)
        return False
    if display.stored:  # this call's time says nothing of what it took
        result = dataclasses.replace(result, provenance={**result.provenance, "seconds": None})
    try:
        write_kept(path, result)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; the runs are stored") from None
    print(f"  kept in {path}: {result.verdict}", flush=True)
    return True

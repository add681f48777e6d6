"""``bk store ls``: the runs of a store, one on each line."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from beyondkernels.cli.display import count, plain_table
from beyondkernels.cli.show_json import print_json
from beyondkernels.cli.stores import open_store, printable
from beyondkernels.core import unknown
from beyondkernels.store import ListedRun

_STATUSES = ("finished", "diverged", "damaged")


@dataclass(frozen=True)
class Filters:
    """Which runs are listed; None where it does not matter.

    Arguments:
        experiment: those that a request of this experiment asked for.
        problem: those whose problem has this in its name.
        learner: those whose learner has this in its name.
        status: those that ended so.
        seeds: those with these seeds.
    """

    experiment: str | None = None
    problem: str | None = None
    learner: str | None = None
    status: str | None = None
    seeds: tuple[int, ...] | None = None


def list_runs(store: str | None, filters: Filters, as_json: bool, out: Console) -> None:
    """List runs, the newest first.

    Arguments:
        store: what ``--store`` says.
        filters: which runs.
        as_json: whether to print data for other programs.
        out: where to.
    """
    opened = open_store(store)
    if filters.status is not None and filters.status not in _STATUSES:
        unknown("status", filters.status, _STATUSES)
    asked = None
    if filters.experiment is not None:
        requests = opened.requests()
        known = {request["experiment"] for request in requests}
        if filters.experiment not in known:
            unknown("experiment in this store", filters.experiment, sorted(known))
        mine = [request for request in requests if request["experiment"] == filters.experiment]
        asked = {run["key"] for request in mine for run in request["runs"]}
    every = opened.listed()
    runs = [run for run in every if _fits(run, filters) and (asked is None or run.key in asked)]
    runs.sort(key=lambda run: (-run.written, run.key))
    if as_json:
        print_json({"runs": [_document(run) for run in runs]})
        return
    table = plain_table()
    for heading in ("key", "learner", "problem", "seed", "status", "size", "age"):
        justify = "right" if heading in ("seed", "size", "age") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading not in ("learner", "problem"), overflow="fold")
    for run in runs:
        words = (run.key[:8], _kind(run, "learner"), _kind(run, "problem"), _seed(run), run.status)
        table.add_row(*(Text(printable(word)) for word in (*words, _size(run.bytes), _age(time.time() - run.written))))
    if runs:
        out.print(table)
    of_all = "" if len(runs) == len(every) else f" of {len(every)}"
    print(f"{count(len(runs), 'run')}{of_all}; bk show KEY tells more about one")


def _fits(run: ListedRun, filters: Filters) -> bool:
    named = all(
        word is None or word.lower() in _kind(run, part).lower()
        for part, word in (("problem", filters.problem), ("learner", filters.learner))
    )
    return (
        named
        and filters.status in (None, run.status)
        and (filters.seeds is None or run.fields.get("seed") in filters.seeds)
    )


def _document(run: ListedRun) -> dict[str, Any]:
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.written))
    names = {part: _kind(run, part) for part in ("learner", "problem")}
    numbers = {"seed": run.fields.get("seed"), "bytes": run.bytes, "seconds": run.seconds, "written": written}
    return {"key": run.key, **names, "status": run.status, **numbers}


def _kind(run: ListedRun, part: str) -> str:
    """The class of a part of a run; of a trained network or a kernel machine also what it is made from."""
    return _named(run.fields.get(part)) or "–"


def _named(part: Any) -> str:
    if not isinstance(part, dict) or not isinstance(part.get("class"), str):
        return ""
    fields = part.get("fields") if isinstance(part.get("fields"), dict) else {}
    inside = [_named(fields.get(name)) for name in ("network", "kernel")] if isinstance(fields, dict) else []
    of = ", ".join(filter(None, inside))
    name = part["class"].rpartition(".")[2].rpartition(":")[2]
    return f"{name}({of})" if of else name


def _seed(run: ListedRun) -> str:
    return str(run.fields.get("seed", "–"))


def _size(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"


def _age(seconds: float) -> str:
    """How long ago, roughly.

    >>> _age(30), _age(7200), _age(3e5)
    ('30 s', '2 h', '3 d')
    """
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"

"""Results kept with the code: what a file holds of a result, and whether it still belongs to the code."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from beyondkernels.core import require
from beyondkernels.lab.declaration import Rows, tabulate
from beyondkernels.lab.report.figures import render_svg
from beyondkernels.lab.report.files import write_atomically
from beyondkernels.lab.report.numbers import plain
from beyondkernels.lab.report.tables import columns_of
from beyondkernels.lab.request.request import Request
from beyondkernels.lab.request.result import Result

SCHEMA = 1


def kept_path(folder: Path, request: Request) -> Path:
    """Where a result is kept, such as ``features/table1.laptop.json``; figures are in a folder beside it."""
    name = request.experiment.id
    require(re.fullmatch(r"[\w-]+(/[\w-]+)*", name) is not None, f"id must be words joined by slashes, got {name!r}")
    return folder / f"{name}.{request.scale}.json"


def out_of_date(path: Path, request: Request) -> str:
    """Why a kept result does not belong to what the code asks for; nothing if it does.

    It is asked without a store and without training: the settings, the seeds, the claims, and the keys of the runs to
    begin with must be those of today. (The runs that a search adds follow from these.)

    Arguments:
        path: the kept result.
        request: what the code asks for now.
    """
    if not path.is_file():
        return "no result is kept yet"
    try:
        kept: Any = json.loads(path.read_text(encoding="utf-8"))
        settings, seeds, identity = kept["settings"], kept["seeds"], kept["identity"]
        claims, figures = dict(identity["claims"]), [str(name) for name in kept["figures"]]
    except (OSError, ValueError, KeyError, TypeError):
        return "it cannot be read"
    now = _settings(request)
    for name in dict.fromkeys([*now, *settings]):
        if name not in now or name not in settings:
            return f"the setting {name} is {'gone' if name in settings else 'new'}"
        if now[name] != settings[name]:
            return f"the setting {name} is {now[name]}, and was {settings[name]}"
    if seeds != list(request.seeds):
        return f"the seeds are {list(request.seeds)}, and were {seeds}"
    if identity["runs"] != _runs_digest(request):
        return "the runs it needs are others"
    today = _claims(request)
    for name in dict.fromkeys([*today, *claims]):
        if name not in today or name not in claims:
            return f"the claim {name} is {'gone' if name in claims else 'new'}"
        if today[name] != claims[name]:
            return f"the claim {name} has changed"
    missing = [name for name in figures if not (path.with_suffix("") / f"{name}.svg").is_file()]
    return f"its figure {missing[0]} is not there" if missing else ""


def write_kept(path: Path, result: Result) -> None:
    """Write a result and its figures; the same runs give the same bytes, provenance aside.

    Arguments:
        path: from :func:`kept_path`.
        result: a complete one.
    """
    require(not result.missing, f"only a complete result is kept, {len(result.missing)} runs are missing")
    pictures = path.with_suffix("")
    figures = {f"{figure.name}.svg": render_svg(figure) for figure in result.page().figures_in_order}
    document = kept_document(result)
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.svg"):
        if old.name not in figures:
            old.unlink()
    for name, picture in figures.items():
        write_atomically(pictures / name, picture)
    # the document comes last: whatever is ended before that leaves a result that is still out of date
    write_atomically(path, _written(document))


def judged_again(path: Path, request: Request) -> dict[str, Any] | None:
    """A kept result with table and claims made again from its rows; None if it has no rows or its runs have changed.

    Arguments:
        path: the kept result.
        request: what the code asks for now.
    """
    try:
        kept: Any = json.loads(path.read_text(encoding="utf-8"))
        rows = kept["rows"]
        same = kept["settings"] == _settings(request) and kept["identity"]["runs"] == _runs_digest(request)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not same or kept["seeds"] != list(request.seeds):
        return None
    return kept | {
        "title": request.experiment.title,
        "identity": kept["identity"] | {"claims": _claims(request)},
        **_said(request, _read_rows(rows)),
    }


def write_judged(path: Path, document: Mapping[str, Any]) -> None:
    """Write a result that was judged again; its figures are as they were.

    Arguments:
        path: the kept result.
        document: from :func:`judged_again`.
    """
    write_atomically(path, _written(document))


def kept_document(result: Result) -> dict[str, Any]:
    """What is kept of a result: what a reader sees, what it was made with, and what it belongs to."""
    request, whole = result.request, result.as_json()
    runs = {run.key: run.provenance.get("seconds") or 0.0 for run in result.finished.values()}
    return plain(
        {
            "schema": SCHEMA,
            "experiment": whole["experiment"],
            "title": request.experiment.title,
            "scale": whole["scale"],
            "seeds": whole["seeds"],
            "settings": whole["settings"],
            **_said(request, result.to_frame()),
            "rows": _kept_rows(result.to_frame().to_dict("records")),
            "figures": [figure.name for figure in result.page().figures_in_order],
            "identity": {"runs": _runs_digest(request), "claims": _claims(request)},
            "runs": {"count": len(runs), "digest": _digest(runs)},
            "core_seconds": round(sum(runs.values()), 1),
            "provenance": whole["provenance"],
        }
    )


def _said(request: Request, rows: Rows) -> dict[str, Any]:
    """What the rows say: the table, and claims, each that holds with the wrong tables on which it no longer does."""
    columns, lines = request.table(rows)
    columns, shaken = columns_of(lines, columns), request.noticed(rows)
    claims = (claim.as_dict() for claim in request.judge(rows))
    return {
        "claims": [plain(claim | {"noticed": shaken.get(claim["id"])}) for claim in claims],
        "table": {
            "columns": [column.title for column in columns],
            "lines": [[plain(column.cell(line)) for column in columns] for line in lines],
        },
    }


def _kept_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows as columns and lists of values: names are said once."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": names, "values": [[_kept_cell(row.get(name)) for name in names] for row in rows]}


def _kept_cell(cell: Any) -> Any:
    """A cell as JSON can hold it, which has no infinity: a width may be infinite."""
    return {"float": repr(float(cell))} if isinstance(cell, float) and math.isinf(cell) else cell


def _read_cell(cell: Any) -> Any:
    if isinstance(cell, dict):
        return float(cell["float"])
    return tuple(cell) if isinstance(cell, list) else cell


def _read_rows(kept: Mapping[str, Any]) -> Rows:
    """The table that :func:`_kept_rows` was made of; what was a tuple is one again."""
    values = ([_read_cell(cell) for cell in row] for row in kept["values"])
    return tabulate(dict(zip(kept["columns"], row, strict=True)) for row in values)


def _written(document: Mapping[str, Any]) -> str:
    """A document as JSON: an indented one, but for the rows, which have a line each."""
    rows = document["rows"]
    names, *values = (
        json.dumps(row, allow_nan=False, ensure_ascii=False) for row in (rows["columns"], *rows["values"])
    )
    rest = {name: part for name, part in document.items() if name != "rows"}
    text = json.dumps(rest, indent=1, allow_nan=False, ensure_ascii=False)
    table = f' "rows": {{\n  "columns": {names},\n  "values": [\n   ' + ",\n   ".join(values) + "\n  ]\n }"
    return f"{text[:-2]},\n{table}\n}}\n"


def _settings(request: Request) -> dict[str, Any]:
    return plain(dataclasses.asdict(request.settings))


def _runs_digest(request: Request) -> str:
    """A digest of the keys of the runs that are known before anything was run."""
    return _digest(spec.key for spec in request.first_round.values())


def _claims(request: Request) -> dict[str, str]:
    """By claim, a digest of all that decides what it says."""
    statements, quantities = request.experiment.claims(request.settings), request.experiment.declared
    declared = [statement.declaration(quantities) for statement in statements]
    return {each["id"]: _digest([_rounded(plain(each))])[:16] for each in declared}


def _rounded(part: Mapping[str, Any]) -> str:
    """A declaration as text; the last digits of bounds that are computed are another machine's business."""
    text = json.dumps(part, sort_keys=True, ensure_ascii=False)
    return re.sub(r"\d+\.\d{12,}(?:e-?\d+)?", lambda number: f"{float(number.group()):.10g}", text)


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(set(words))).encode()).hexdigest()

"""``bk list`` and ``bk show``: answers without waiting for torch."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from beyondkernels.cli.display import count, plain_table
from beyondkernels.cli.stores import open_store
from beyondkernels.core import InputError
from beyondkernels.experiments import CATALOGUE, SCALES, Experiment, find, store_path
from beyondkernels.frame import as_word, described, stated
from beyondkernels.runs import Store, StoredRun


def list_experiments(as_json: bool, out: Console) -> None:
    """All experiments with their place in the papers."""
    experiments = [find(name) for name in CATALOGUE]
    if as_json:
        listed = [
            {
                "id": e.id,
                "title": e.title,
                "paper": e.reference.paper,
                "where": e.reference.where,
                "scales": list(SCALES),
            }
            for e in experiments
        ]
        print(json.dumps({"schema": 1, "experiments": listed}, indent=1, ensure_ascii=False))
        return
    table = plain_table()
    for heading in ("experiment", "what it shows, and where it stands"):
        table.add_column(heading, no_wrap=heading == "experiment")
    for e in experiments:
        table.add_row(Text(e.id), Text.assemble(e.title, "\n", (str(e.reference), "dim")))
    out.print(table)
    out.print("\nbk show ID tells more, bk run ID runs it, bk report writes pages.")


def show(name: str | None, store: str | None, out: Console) -> None:
    """An experiment's declaration and latest verdicts, or a stored run."""
    if not name:
        raise InputError(
            "no experiment or run is named; bk list shows the experiments, bk show features/table1 one of them"
        )
    if name not in CATALOGUE and len(name) >= 4 and all(letter in "0123456789abcdef" for letter in name):
        _show_run(name, open_store(store), out)
    else:
        _show_experiment(find(name), store, out)


def _show_experiment(experiment: Experiment, store: str | None, out: Console) -> None:
    path = store_path(store)
    opened = open_store(store) if path.exists() else None
    asked = [r for r in opened.requests() if r["experiment"] == experiment.id] if opened else []
    by_scale = [experiment.settings(scale) for scale in SCALES]
    out.print(Text(f"{experiment.id}: {experiment.title}", style="bold"))
    out.print(Text(str(experiment.reference), style="dim"))
    out.print(Text(f"\n{experiment.summary_of(by_scale[-1])}\n"))
    table = plain_table()
    for heading in ("setting", *SCALES, "whose", "why"):
        # lists of numbers may take several lines; names are never cut
        named = heading in ("setting", "whose")
        table.add_column(heading, justify="right" if heading in SCALES else "left", no_wrap=named, overflow="fold")
    for setting in described(by_scale[-1], by_scale[-1]):
        values = [Text(as_word(getattr(settings, setting.name)).replace(",", ", ")) for settings in by_scale]
        table.add_row(setting.name, *values, setting.origin, Text(setting.why))
    out.print(table)
    verdicts = {claim["id"]: claim["holds"] for claim in asked[-1]["claims"]} if asked else {}
    latest = f" (latest verdicts: {_how(asked[-1])})" if asked else ""
    out.print(Text(f"\nClaims{latest}", style="bold"))
    lines = Table.grid(padding=(0, 1))
    for claim in stated(experiment, by_scale[-1], "paper"):
        lines.add_row({True: "✓", False: "✗", None: "·"}[verdicts.get(claim.id)], Text(claim.text))
    out.print(lines)
    if opened and asked:
        _show_keys(asked[-1], opened, out)


def _how(request: dict[str, Any]) -> str:
    return f"{request['scale']} scale, {count(len(request['seeds']), 'seed')}"


def _show_keys(request: dict[str, Any], store: Store, out: Console) -> None:
    """The keys of the latest request's runs, those of one label but for the seed on one line."""
    by_name: dict[str, list[str]] = {}
    for run in request["runs"]:
        *name, _ = run["label"]
        by_name.setdefault(" ".join(map(str, name)), []).append(run["key"][:8] if store.has(run["key"]) else "missing")
    out.print(Text(f"\nRuns of the latest request ({_how(request)}; bk show KEY tells more)", style="bold"))
    lines = Table.grid(padding=(0, 2))
    for name, keys in by_name.items():
        lines.add_row(Text(name), Text(" ".join(keys)))
    out.print(lines)


def _show_run(prefix: str, opened: Store, out: Console) -> None:
    keys = [key for key in opened.keys() if key.startswith(prefix)]  # noqa: SIM118
    if len(keys) != 1:
        what = "no run in this store begins" if not keys else f"{len(keys)} runs in this store begin"
        raise InputError(f"{what} with {prefix!r}; bk show EXPERIMENT lists the keys")
    run = opened.read(keys[0])
    out.print(Text(f"run {run.key}: {run.outcome.status}", style="bold"))
    for name, text in _facts(run, opened).items():
        lines = textwrap.wrap(text, max(out.width - 14, 30), break_long_words=False) or [""]
        for i, line in enumerate(lines):
            out.print(Text(f"{name if i == 0 else '':12}  {line}"))
    out.print(Text("\nScalars", style="bold"))
    for name, value in run.outcome.scalars.items():
        out.print(Text(f"{name:26}  {value:.6g}"))
    for title, arrays in (("Series", run.outcome.series), ("Arrays", run.outcome.arrays)):
        if arrays:
            out.print(Text(f"\n{title}", style="bold"))
        for name, array in arrays.items():
            out.print(Text(f"{name:26}  {'×'.join(map(str, array.shape)) or 'one'} numbers"))


def _facts(run: StoredRun, store: Store) -> dict[str, str]:
    fields, made = run.description["fields"], run.provenance
    users = [
        f"{request['experiment']} at {request['scale']} scale ({' '.join(map(str, asked['label']))})"
        for request in store.requests()
        for asked in request["runs"]
        if asked["key"] == run.key
    ]
    commit = (
        f", commit {made['commit'][:10]}{' with changes' if made.get('dirty') else ''}" if made.get("commit") else ""
    )
    return {
        "part of": ", ".join(users) or "no experiment's latest request",
        "problem": _written(fields.get("problem")),
        "learner": _written(fields.get("learner")),
        "measured by": ", ".join(map(_written, fields.get("measurements", []))) or "nothing more",
        "samples": "{} to train on, {} to test on, seed {}".format(
            *(fields.get(name) for name in ("samples", "test_samples", "seed"))
        ),
        "made by": f"beyondkernels {made.get('version')}{commit}, in {made.get('seconds') or 0:.1f} s",
    }


def _written(part: Any) -> str:
    """A description as its component would be written in Python."""
    if isinstance(part, list):
        return f"({', '.join(map(_written, part))}{',' if len(part) == 1 else ''})"
    if not isinstance(part, dict):
        return repr(part)
    if not isinstance(part.get("class"), str) or not isinstance(part.get("fields"), dict):
        return _written(next(iter(part.values()))) if len(part) == 1 else repr(part)
    fields = ", ".join(f"{name}={_written(value)}" for name, value in part["fields"].items())
    return f"{part['class'].rpartition(':')[2]}({fields})"

"""``bk list`` and ``bk show``: answers without waiting for torch."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from beyondkernels.core import InputError
from beyondkernels.experiments import CATALOGUE, SCALES, Experiment, described, find, store_path
from beyondkernels.runs import Store


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
    table = Table(header_style="bold")
    for heading in ("experiment", "where", "what"):
        table.add_column(heading, no_wrap=heading == "experiment")
    for e in experiments:
        table.add_row(Text(e.id), Text(e.reference.where), Text(e.title))
    out.print(table)
    out.print("bk show ID tells more, bk run ID runs it, bk report writes pages.")


def show(name: str, store: str | None, out: Console) -> None:
    """An experiment's declaration and latest verdicts, or a stored run."""
    if name in CATALOGUE or ".py:" in name:
        _show_experiment(find(name), store, out)
    elif all(letter in "0123456789abcdef" for letter in name) and len(name) >= 4:
        _show_run(name, store, out)
    else:
        find(name)


def _show_experiment(experiment: Experiment, store: str | None, out: Console) -> None:
    out.print(Text(f"{experiment.id}: {experiment.title}", style="bold"))
    out.print(Text(str(experiment.reference)))
    out.print(Text(f"\n{experiment.summary}\n"))
    table = Table(header_style="bold")
    for heading in ("setting", *SCALES, "whose"):
        table.add_column(heading)
    by_scale = [experiment.settings(scale) for scale in SCALES]
    for setting in described(by_scale[-1], by_scale[-1]):
        values = [str(getattr(settings, setting.name)) for settings in by_scale]
        table.add_row(setting.name, *values, setting.origin)
    out.print(table)
    latest = _latest(experiment.id, store)
    verdicts = {claim["id"]: claim["holds"] for claim in latest["claims"]} if latest else {}
    out.print(Text("claims", style="bold"))
    for claim in experiment.claims(by_scale[-1], [], "paper"):
        mark = {True: "✓", False: "✗", None: "·"}[verdicts.get(claim.id)]
        out.print(Text(f" {mark} {claim.text}"))
    if latest:
        out.print(
            Text(f"verdicts of the latest run: {latest['scale']} scale, {len(latest['seeds'])} seeds", style="dim")
        )


def _latest(name: str, store: str | None) -> dict[str, Any] | None:
    path = store_path(store)
    if not path.exists():
        return None
    requests = [r for r in Store.open(path, create=False, read_only=True).requests() if r["experiment"] == name]
    return requests[-1] if requests else None


def _show_run(prefix: str, store: str | None, out: Console) -> None:
    opened = Store.open(store_path(store), create=False, read_only=True)
    keys = [key for key in opened.keys() if key.startswith(prefix)]  # noqa: SIM118
    if len(keys) != 1:
        what = "no run" if not keys else f"{len(keys)} runs"
        raise InputError(f"{what} in this store begin with {prefix!r}; give an experiment's id or more digits of a key")
    run = opened.read(keys[0])
    fields = run.description["fields"]
    out.print(Text(f"run {run.key}: {run.outcome.status}", style="bold"))
    for part in ("problem", "learner"):
        out.print(Text(f"{part:9} {json.dumps(fields[part], ensure_ascii=False)}"))
    out.print(Text(f"samples {fields['samples']}, test {fields['test_samples']}, seed {fields['seed']}"))
    for name, value in run.outcome.scalars.items():
        out.print(Text(f"  {name:20} {value:.6g}"))
    for name, array in {**run.outcome.series, **run.outcome.arrays}.items():
        out.print(Text(f"  {name:32} array {'×'.join(map(str, array.shape))}", style="dim"))

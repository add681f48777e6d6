"""``bk list`` and ``bk show``: answers without waiting for torch."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from beyondkernels.cli.display import count, plain_table
from beyondkernels.cli.kept_results import Kept, kept_results
from beyondkernels.cli.show_json import experiment_document, experiments_document, print_json, run_document
from beyondkernels.cli.stores import open_store
from beyondkernels.core import InputError, unknown
from beyondkernels.lab import CATALOGUE, SCALES, Experiment, as_word, described, find, stated, store_path
from beyondkernels.lab.report.views import claim_view
from beyondkernels.store import Store, StoredRun

_WIDE = 130
"""From so many columns on there is room for a column of explanations."""

_STYLES = {"holds": "green", "partly": "yellow", "fails": "red", "undecided": "dim", "unfinished": "dim"}


def list_experiments(word: str | None, as_json: bool, out: Console) -> None:
    """The experiments with their place in the papers, and how their claims stand.

    Arguments:
        word: what their id or title contains, such as a paper's name; None lists all.
        as_json: whether to print data for other programs.
        out: where to.
    """
    every = [find(name) for name in CATALOGUE]
    experiments = every if word is None else _matching(every, word)
    if as_json:
        print_json(experiments_document(experiments))
        return
    results = kept_results()
    table = plain_table()
    for heading in ("experiment", "result · in the paper"):
        table.add_column(heading, no_wrap=heading == "experiment")
    for e in experiments:
        lines = [Text(e.title), Text(str(e.reference), style="dim"), *map(_state, results.get(e.id, []))]
        table.add_row(Text(e.id), Text("\n").join(lines))
    out.print(table)
    out.print("\nBegin with bk demo. bk show ID tells more about one, bk run ID runs it.")


def _matching(experiments: list[Experiment], word: str) -> list[Experiment]:
    """The experiments of a paper, or those with a word in their id or title."""
    of_paper = [e for e in experiments if e.id.partition("/")[0] == word]
    found = of_paper or [e for e in experiments if word and word.lower() in f"{e.id} {e.title}".lower()]
    if not found:
        unknown(
            "paper or experiment", word, sorted({e.id.partition("/")[0] for e in experiments} | {*CATALOGUE}), "bk list"
        )
    return found


def _state(kept: Kept) -> Text:
    """How the claims of a kept result stand, and what it took."""
    took = f" ({kept.took})" if kept.took else ""
    return Text.assemble((kept.mark, _STYLES[kept.state]), f" {kept.scale} scale: {kept.sentence}{took}")


def show(name: str | None, store: str | None, keys: bool, as_json: bool, out: Console) -> None:
    """An experiment's declaration and its results in a store, or a stored run.

    Arguments:
        name: an experiment, or the first digits of a run's key.
        store: what ``--store`` says.
        keys: whether to list the keys of an experiment's runs.
        as_json: whether to print data for other programs.
        out: where to.
    """
    if not name:
        raise InputError(
            "no experiment or run is named; bk list shows the experiments, bk show features/table1 one of them"
        )
    if name not in CATALOGUE and len(name) >= 4 and all(letter in "0123456789abcdef" for letter in name):
        _show_run(name, open_store(store), as_json, out)
    else:
        path = store_path(store)
        if name not in CATALOGUE and path.exists():
            own = {request["experiment"] for request in open_store(store).requests()}
            if name in own:
                raise InputError(f"{name} is an experiment of your own: name its file, bk show path/file.py:NAME")
        if as_json:
            print_json(experiment_document(find(name), open_store(store) if path.exists() else None))
            return
        _show_experiment(find(name), store, keys, out)


def _show_experiment(experiment: Experiment, store: str | None, keys: bool, out: Console) -> None:
    path = store_path(store)
    opened = open_store(store) if path.exists() else None
    asked = [r for r in opened.requests() if r["experiment"] == experiment.id] if opened else []
    out.print(Text(f"{experiment.id}: {experiment.title}", style="bold"))
    out.print(Text(str(experiment.reference), style="dim"))
    out.print(Text(f"\n{experiment.summary_of(experiment.settings('paper'))}\n"))
    _show_settings(experiment, out)
    for kept in kept_results().get(experiment.id, []):
        out.print(Text("\nKept with the code: ").append(_state(kept)))
    verdicts = {claim["id"]: claim["holds"] for claim in asked[-1]["claims"]} if asked else {}
    latest = f" (latest verdicts: {_how(asked[-1], experiment)})" if asked else ""
    out.print(Text(f"\nClaims{latest}", style="bold"))
    lines = Table.grid(padding=(0, 1))
    for claim in stated(experiment, experiment.settings("paper"), "paper"):
        where = claim_view(claim)["where"]
        lines.add_row({True: "✓", False: "✗", None: "·"}[verdicts.get(claim.id)], Text(f"{claim.text} ({where})"))
    out.print(lines)
    if opened and asked:
        _show_requests(asked, experiment, out)
        _show_runs(asked[-1], experiment, opened, keys, out)


def _show_settings(experiment: Experiment, out: Console) -> None:
    """The numbers at each scale; why they are so stands in a column if there is room, else beneath the table."""
    wide = out.width >= _WIDE
    by_scale = [experiment.settings(scale) for scale in SCALES]
    listed = described(by_scale[-1], by_scale[-1])
    table = plain_table()
    for heading in ("setting", *SCALES, "source", *(("why",) if wide else ())):
        # lists of numbers may take several lines; names are never cut
        named = heading in ("setting", "source")
        table.add_column(heading, justify="right" if heading in SCALES else "left", no_wrap=named, overflow="fold")
    for setting in listed:
        values = [Text(as_word(getattr(settings, setting.name)).replace(",", ", ")) for settings in by_scale]
        table.add_row(setting.name, *values, setting.origin, *((Text(setting.why),) if wide else ()))
    out.print(table)
    if wide or not any(setting.why for setting in listed):
        return
    out.print()
    lines = Table.grid(padding=(0, 2))
    for setting in listed:
        if setting.why:
            lines.add_row(setting.name, Text(setting.why, style="dim"))
    out.print(lines)


def _how(request: dict[str, Any], experiment: Experiment) -> str:
    words = [f"{request['scale']} scale", count(len(request["seeds"]), "seed")]
    return ", ".join([*words, *_changes(request, experiment)])


def _changes(request: dict[str, Any], experiment: Experiment) -> list[str]:
    """The settings in which a stored request differs from its scale, as ``--set`` takes them."""
    usual = dataclasses.asdict(experiment.settings(request["scale"]))
    different = {
        name: value
        for name, value in request["settings"].items()
        if name != "seeds" and name in usual and as_word(usual[name]) != as_word(value)
    }
    return [f"{name}={as_word(value)}" for name, value in different.items()]


def _show_requests(asked: list[dict[str, Any]], experiment: Experiment, out: Console) -> None:
    """Each scale and variant that the store holds, the newest first."""
    out.print(Text("\nIn this store", style="bold"))
    lines = Table.grid(padding=(0, 2))
    for request in reversed(asked):
        verdicts = [claim["holds"] for claim in request["claims"] if claim["holds"] is not None]
        if not request.get("complete", True):
            state = "interrupted; the same bk run goes on"
        else:
            state = f"{sum(verdicts)} of {len(verdicts)} claims hold" if verdicts else "no claim decided"
        lines.add_row(Text(_how(request, experiment)), Text(state))
    out.print(lines)


def _show_runs(request: dict[str, Any], experiment: Experiment, store: Store, keys: bool, out: Console) -> None:
    """The latest request's runs: how many of each kind, or their keys, those that differ in their seed on one line."""
    there = {run["key"] for run in request["runs"] if store.has(run["key"])}
    by_name: dict[str, list[str]] = {}
    for run in request["runs"]:
        *words, _ = map(str, run["label"])
        name = " ".join(words if keys else (word for word in words if "=" not in word)) or "runs"
        by_name.setdefault(name, []).append(run["key"])
    advice = "bk show KEY tells more" if keys else "--keys lists their keys"
    out.print(Text(f"\nRuns of the latest request ({_how(request, experiment)}; {advice})", style="bold"))
    lines = Table.grid(padding=(0, 2))
    for name, mine in by_name.items():
        missing = sum(key not in there for key in mine)
        counted = count(len(mine), "run") + (f", {missing} missing" if missing else "")
        listed = " ".join(key[:8] if key in there else "missing" for key in mine)
        lines.add_row(Text(name), Text(listed if keys else counted))
    out.print(lines)


def _show_run(prefix: str, opened: Store, as_json: bool, out: Console) -> None:
    keys = [key for key in opened.keys() if key.startswith(prefix)]  # noqa: SIM118
    if len(keys) != 1:
        what = "no run in this store begins" if not keys else f"{len(keys)} runs in this store begin"
        raise InputError(f"{what} with {prefix!r}; bk show EXPERIMENT --keys lists the keys")
    run = opened.read(keys[0])
    if as_json:
        print_json(run_document(run, _users(run, opened)))
        return
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


def _users(run: StoredRun, store: Store) -> list[str]:
    """The experiments that asked for a run."""
    return [
        f"{request['experiment']} at {request['scale']} scale ({' '.join(map(str, asked['label']))})"
        for request in store.requests()
        for asked in request["runs"]
        if asked["key"] == run.key
    ]


def _facts(run: StoredRun, store: Store) -> dict[str, str]:
    fields, made = run.description["fields"], run.provenance
    commit = (
        f", commit {made['commit'][:10]}{' with changes' if made.get('dirty') else ''}" if made.get("commit") else ""
    )
    witness = run.description.get("witness") or {}
    known = "its code and by what that does on a few points" if "digest" in witness else "its code only"
    alone = f", but for {', '.join(witness['by_code'])}: by its code only" if witness.get("by_code") else ""
    return {
        "part of": ", ".join(_users(run, store)) or "no experiment's latest request",
        "problem": _written(fields.get("problem")),
        "learner": _written(fields.get("learner")),
        "measured by": ", ".join(map(_written, fields.get("measurements", []))) or "nothing more",
        "samples": "{} to train on, {} to test on, seed {}".format(
            *(fields.get(name) for name in ("samples", "test_samples", "seed"))
        ),
        **({"known by": known + (alone if "digest" in witness else "")} if witness else {}),
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

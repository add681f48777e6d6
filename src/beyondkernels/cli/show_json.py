"""``bk list --json`` and ``bk show --json``: the same answers as data for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from beyondkernels.cli.kept_results import Kept, kept_results
from beyondkernels.lab import SCALES, Experiment, described, stated
from beyondkernels.lab.report.numbers import plain
from beyondkernels.store import Store, StoredRun


def print_json(document: Mapping[str, Any]) -> None:
    """A document on standard output; non-finite numbers are null."""
    print(json.dumps(plain({"schema": 1, **document}), indent=1, ensure_ascii=False, allow_nan=False))


def experiments_document(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """Some experiments with their place in the papers, and how their claims stand."""
    results = kept_results()
    return {"experiments": [_listed(experiment, results.get(experiment.id, [])) for experiment in experiments]}


def experiment_document(experiment: Experiment, opened: Store | None) -> dict[str, Any]:
    """An experiment's declaration and what a store holds of it.

    Arguments:
        experiment: the experiment.
        opened: the store; None where there is none.
    """
    paper = experiment.settings("paper")
    requests = [request for request in opened.requests() if request["experiment"] == experiment.id] if opened else []
    there = set(opened.keys()) if opened and requests else set()
    return {
        **_listed(experiment, kept_results().get(experiment.id, [])),
        "summary": experiment.summary_of(paper),
        "settings": [
            {
                "name": setting.name,
                "values": {scale: getattr(experiment.settings(scale), setting.name) for scale in SCALES},
                "source": setting.origin,
                "why": setting.why,
            }
            for setting in described(paper, paper)
        ],
        "claims": [
            {name: getattr(claim, name) for name in ("id", "text", "source", "kind", "place", "paper")}
            for claim in stated(experiment, paper, "paper")
        ],
        "requests": [_request(request, there) for request in reversed(requests)],
    }


def run_document(run: StoredRun, part_of: Sequence[str]) -> dict[str, Any]:
    """A stored run: what was run, and what came of it.

    Arguments:
        run: the run.
        part_of: the experiments that asked for it.
    """
    outcome = run.outcome
    return {
        "key": run.key,
        "status": outcome.status,
        "part_of": part_of,
        "description": run.description,
        "scalars": dict(outcome.scalars),
        "series": {name: values.tolist() for name, values in outcome.series.items()},
        "arrays": {
            name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in outcome.arrays.items()
        },
        "provenance": run.provenance,
    }


def _listed(experiment: Experiment, results: Sequence[Kept]) -> dict[str, Any]:
    paper = experiment.reference.paper
    return {
        "id": experiment.id,
        "title": experiment.title,
        "paper": None if paper is None else paper.short,
        "where": experiment.reference.where,
        "scales": list(SCALES),
        "results": [
            {
                "scale": kept.scale,
                "state": kept.state,
                "claims": {source: dict(verdicts) for source, verdicts in kept.verdicts.items()},
                "core_seconds": kept.core_seconds,
            }
            for kept in results
        ],
    }


def _request(request: Mapping[str, Any], there: set[str]) -> dict[str, Any]:
    names = ("scale", "seeds", "settings", "complete", "claims")
    runs = [{**run, "stored": run["key"] in there} for run in request["runs"]]
    return {**{name: request[name] for name in names}, "runs": runs}

"""What an experiment says of rows made by hand, or of runs made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Claim, Experiment, Reading, render_svg, specs_of, tabulate
from beyondkernels.store import RunSpec, StoredRun


def claims_of(experiment: Experiment, settings: Any, records: Iterable[dict[str, Any]]) -> dict[str, Claim]:
    """The claims by id, at a scale where they speak."""
    rows = tabulate(records)
    return {each.id: each.claim(rows, True, experiment.symbols) for each in experiment.claims(settings)}


def failing(claims: dict[str, Claim]) -> list[str]:
    return [name for name, claim in claims.items() if claim.holds is False]


def undecided(claims: dict[str, Claim]) -> list[str]:
    return [name for name, claim in claims.items() if claim.holds is None]


def stored(outcome: Outcome) -> StoredRun:
    return StoredRun("0" * 32, {}, outcome, {})


def finish(
    experiment: Experiment, settings: Any, seeds: Sequence[int], outcome: Callable[[At, RunSpec], Outcome]
) -> Reading:
    """All rounds of an experiment with made-up outcomes, by place and specification."""
    finished: dict[Any, StoredRun] = {}
    while True:
        places = places_of(experiment, settings, seeds, finished)
        new = {label: each for label, each in places.items() if label not in finished}
        if not new:
            return Reading(experiment, settings, seeds, finished, "laptop")
        finished |= {label: stored(outcome(*each)) for label, each in new.items()}


def places_of(experiment: Experiment, settings: Any, seeds: Sequence[int], finished: Any) -> dict[Any, Any]:
    """Where each planned run stands, and its specification."""
    found: dict[Any, Any] = {}
    specs = specs_of(experiment, settings, seeds, finished)
    for runs in experiment.runs(settings):
        spec = runs.spec
        noted = type(runs)(**{**vars(runs), "spec": lambda s, at, spec=spec: (at, spec(s, at))})
        found |= noted.specs(settings, seeds, finished)  # type: ignore[arg-type]
    assert set(found) == set(specs)
    return found


def check_figures(reading: Reading, names: Sequence[str]) -> None:
    assert [figure.name for figure in reading.figures] == list(names)
    for figure in reading.figures:
        ET.fromstring(render_svg(figure))
    empty = Reading(reading.experiment, reading.settings, reading.seeds, {}, reading.scale)
    assert empty.figures == []

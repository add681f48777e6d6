"""What an experiment says of rows made by hand, or of runs made by hand."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from beyondkernels.core import InputError, Outcome
from beyondkernels.lab import At, Claim, Experiment, Reading, changed, render_svg, specs_of, tabulate
from beyondkernels.lab.declaration.power import noticed
from beyondkernels.lab.declaration.rows import Rows
from beyondkernels.store import RunSpec, StoredRun


def claims_of(experiment: Experiment, settings: Any, records: Iterable[dict[str, Any]]) -> dict[str, Claim]:
    """The claims by id, at a scale where they speak."""
    rows = tabulate(records)
    return {each.id: each.claim(rows, True, experiment.declared) for each in experiment.claims(settings)}


def claims_in(reading: Reading) -> dict[str, Claim]:
    """The claims of a reading by id."""
    return {claim.id: claim for claim in reading.claims}


def failing(found: Reading | dict[str, Claim]) -> list[str]:
    return [name for name, claim in _by_id(found).items() if claim.holds is False]


def undecided(found: Reading | dict[str, Claim]) -> list[str]:
    return [name for name, claim in _by_id(found).items() if claim.holds is None]


def _by_id(found: Reading | dict[str, Claim]) -> dict[str, Claim]:
    return claims_in(found) if isinstance(found, Reading) else found


def refuted(found: Reading | dict[str, Claim]) -> list[str]:
    """The claims that fail, where every other one holds."""
    claims = _by_id(found)
    assert undecided(claims) == []
    return failing(claims)


def unshaken(experiment: Experiment, settings: Any, rows: Rows) -> list[str]:
    """The claims that do not hold, or that hold on numbers that are wrong on purpose as well."""
    statements = experiment.claims(settings)
    found = noticed(statements, rows, experiment.declared)
    return [each.id for each in statements if not found.get(each.id)]


def cases(*made_and_wanted: tuple[Any, list[str]]) -> pytest.MarkDecorator:
    """A test for each pair: numbers that are made up, and the claims that fail on them."""
    return pytest.mark.parametrize(("made", "wanted"), made_and_wanted)


def refuse(settings: Any, changes: dict[str, Any], sentence: str) -> None:
    """Settings with these changes are refused, in words that match the sentence."""
    with pytest.raises(InputError, match=sentence):
        changed(settings, changes)


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

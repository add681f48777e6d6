"""Every column that an experiment speaks of is declared, with a label and what it can be."""

from __future__ import annotations

import math

import pytest

from beyondkernels.lab import CATALOGUE, Over, Quantities, Quantity, ask
from beyondkernels.lab.declaration.quantities import STANDARD


class Noting(Quantities):
    """Quantities that note which columns nobody has declared."""

    def __init__(self, known: Quantities) -> None:
        super().__init__(known)
        self.missing: set[str] = set()

    def __missing__(self, column: str) -> Quantity:
        if column not in STANDARD:
            self.missing.add(column)
        return super().__missing__(column)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_column_is_declared(name: str) -> None:
    request = ask(name, "laptop")
    experiment, settings = request.experiment, request.settings
    known = Noting(experiment.declared)
    for statement in experiment.claims(settings):
        statement.claim(None, True, known)
        _ = known[statement.value.free] if statement.value.free else None
    if (table := experiment.table(settings)) is not None:
        table.headed([], known)
    for picture in experiment.figures(settings):
        axes = [picture.x, picture.y] if isinstance(picture, Over) else []
        _ = [known[column] for column in axes if column]
    assert known.missing == set()


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_quantity_is_well_declared(name: str) -> None:
    for column, quantity in ask(name, "smoke").experiment.quantities.items():
        assert quantity.label and not quantity.label.endswith("."), column
        assert quantity.about == "" or quantity.about.endswith("."), column
        assert (quantity.unit == "%") <= (not math.isinf(quantity.within[1])), column
        assert not (quantity.log and quantity.within[0] < 0 < quantity.within[1] < math.inf), column

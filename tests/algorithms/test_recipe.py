"""Training in words."""

import pytest

from beyondkernels.algorithms import Recipe
from beyondkernels.algorithms.optimisers import Momentum, Rate, chain
from refusals import refused


@pytest.mark.parametrize(
    ("words", "n", "steps"),
    [
        ({"epochs": 20, "batch": 64}, 127, 40),
        ({"epochs": 20, "batch": 64}, 128, 40),
        ({"epochs": 1, "batch": 64}, 65, 1),
        ({"epochs": 0.01}, 100, 1),
        ({"epochs": 3}, 10, 3),
        ({}, 640, 200),
        ({"steps": 7}, 1000, 7),
    ],
)
def test_each_point_is_used_as_often_as_there_are_epochs(words, n, steps):
    assert Recipe(**words).steps_on(n) == steps


@pytest.mark.parametrize("optimiser", ["adam", "adamw", chain(Momentum(0.5), Rate(0.1))])
def test_momentum_belongs_to_sgd(optimiser):
    assert Recipe(optimiser="sgd").momentum is None
    assert Recipe(optimiser="sgd", momentum=0).momentum == 0
    refused(r"momentum belongs to the optimiser 'sgd', got 0\.9 with ", Recipe, optimiser=optimiser, momentum=0.9)

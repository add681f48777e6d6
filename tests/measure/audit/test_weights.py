"""How far weights turn and move, neuron by neuron."""

import math

import numpy as np
import pytest
import torch

import naive
from beyondkernels.measure.audit import relative_move, weight_correlation

RNG = np.random.default_rng(0)


def tensors(*shapes: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {f"p{i}": torch.from_numpy(RNG.normal(size=shape)) for i, shape in enumerate(shapes)}


SHAPES = ((4, 3), (5, 2, 3, 3), (6,), (2, 7))


def test_correlation_is_the_mean_over_all_neurons():
    start, now = tensors(*SHAPES), tensors(*SHAPES)
    cosines = [
        naive.cosine(start[name][i].flatten().tolist(), now[name][i].flatten().tolist())
        for name, shape in zip(start, SHAPES, strict=True)
        if len(shape) > 1
        for i in range(shape[0])
    ]
    assert len(cosines) == 4 + 5 + 2
    assert weight_correlation(start, now) == pytest.approx(np.mean(cosines))


def test_correlation_knows_directions_alone():
    start = tensors(*SHAPES)
    assert weight_correlation(start, start) == pytest.approx(1)
    assert weight_correlation(start, {name: -3e-20 * value.float() for name, value in start.items()}) == pytest.approx(
        -1
    )


def test_neurons_without_a_direction_are_left_out():
    start = {"W": torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), "b": torch.ones(3)}
    now = {"W": torch.tensor([[1.0, 1.0], [5.0, 0.0], [0.0, 0.0]]), "b": -torch.ones(3)}
    assert weight_correlation(start, now) == pytest.approx((1 / math.sqrt(2) + 0) / 2)
    assert weight_correlation({"b": torch.ones(3)}, {"b": torch.ones(3)}) is None
    assert weight_correlation({"W": torch.zeros(2, 2)}, {"W": torch.ones(2, 2)}) is None
    assert weight_correlation({"W": torch.ones(2, 2)}, {"W": torch.ones(3, 2)}) is None


def test_move_is_that_of_all_parameters_together():
    start, now = tensors(*SHAPES), tensors(*SHAPES)
    old, new = ([v for value in part.values() for v in value.flatten().tolist()] for part in (start, now))
    moved = math.sqrt(sum((a - b) ** 2 for a, b in zip(new, old, strict=True)))
    assert relative_move(start, now) == pytest.approx(moved / math.sqrt(sum(a * a for a in old)))
    assert relative_move(start, start) == 0
    assert relative_move({"b": torch.zeros(3)}, {"b": torch.ones(3)}) is None

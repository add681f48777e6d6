"""The measurement of Rademacher complexity, against all signs."""

import itertools

import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms.losses import Squared
from beyondkernels.execution.outcomes import perform
from beyondkernels.papers.overparam import RademacherComplexity, ThreeLayerLearner, TwoLayerLearner
from beyondkernels.papers.overparam.problems import TwoLayerTruth, UnitInputs
from beyondkernels.store import RunSpec

TRUTH = TwoLayerTruth(UnitInputs(4), "sin", terms=2, outputs=2, instance=100)
POINTS = 6


class Kept(bk.measure.Measurement):
    """Keeps the sample."""

    def measure(self, run):
        return bk.core.Measured(arrays={"x": run.case.train.x.numpy()})


def trained(network, names, samples=POINTS, draws=2):
    learner = bk.engine.TrainedNetwork(
        network,
        bk.algorithms.GradientDescent(5, 0.5 / network.width, loss=Squared()),
        snapshot_at=(0, 5),
        snapshot_names=names,
    )
    outcome = perform([RunSpec(TRUTH, learner, samples, 10, 100, (RademacherComplexity(draws), Kept()))])[0]
    kept = {name: torch.from_numpy(array).double() for name, array in outcome.arrays.items()}
    return outcome, kept


def test_two_layers():
    outcome, kept = trained(TwoLayerLearner(20), ("W", "buffers/b1", "buffers/a"))
    x, W, a = kept["x"], kept["snapshot/0/W"], kept["snapshot/0/buffers/a"][0]
    opened = (x @ W.T + kept["snapshot/0/buffers/b1"] >= 0).double()
    radius = float((kept["snapshot/5/W"] - W).norm(dim=1).max())
    total = 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=POINTS):
        for j in range(20):
            each = torch.stack([signs[i] * opened[i, j] * x[i] for i in range(POINTS)])
            total += float(a[j].abs() * each.sum(0).norm())
    unit = total / 2**POINTS / POINTS
    assert outcome.scalars["radius"] == pytest.approx(radius)
    assert outcome.scalars["complexity"] == pytest.approx(radius * unit)
    assert outcome.scalars["unit_complexity"] == pytest.approx(unit / 20)
    assert outcome.scalars["complexity_bound"] == pytest.approx(float(a.abs().max()) * 20 * radius / POINTS**0.5)
    assert outcome.scalars["largest_readout"] == pytest.approx(float(a.abs().max()))
    assert 0 < outcome.scalars["real_complexity"] < outcome.scalars["complexity_bound"]


def test_three_layers():
    names = ("W", "V", "buffers/b1", "buffers/b2", "buffers/a")
    outcome, kept = trained(ThreeLayerLearner(8), names)
    x, found = kept["x"], outcome.scalars
    W, V, b1, b2 = (kept[f"snapshot/0/{name}"] for name in ("W", "V", "buffers/b1", "buffers/b2"))
    a = kept["snapshot/0/buffers/a"][0]
    hidden = torch.relu(x @ W.T + b1)
    outputs = torch.relu(hidden @ V.T + b2) @ a
    D_w, D_v = (x @ W.T + b1 >= 0).double(), (hidden @ V.T + b2 >= 0).double()
    start = bilinear = 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=POINTS):
        start += abs(float(torch.tensor(signs).double() @ outputs)) / 2**POINTS
        fourth = 0.0
        for q in range(8):
            A = sum(signs[i] * D_w[i, q] * torch.outer(D_v[i] * a, x[i]) for i in range(POINTS))
            fourth += float(torch.linalg.matrix_norm(A, ord=2)) ** 4
        bilinear += fourth**0.25 / 2**POINTS
    radii = found["first_radius"] * found["second_radius"]
    assert found["start_complexity"] == pytest.approx(start / POINTS, rel=1e-5)
    assert found["complexity"] == pytest.approx((start + radii * bilinear) / POINTS, rel=1e-5)
    assert found["increment_complexity"] == pytest.approx(radii * bilinear / POINTS, rel=1e-5)
    output_std = float(a.square().mean()) ** 0.5
    assert found["unit_complexity"] == pytest.approx(8**-0.75 * bilinear / POINTS / output_std, rel=1e-5)
    literal = output_std * (radii * 8**0.25 * 8**0.5 + 1) / POINTS**0.5
    assert found["complexity_bound"] == pytest.approx(literal, rel=1e-5)
    assert found["second_radius"] == pytest.approx(float((kept["snapshot/5/V"] - V).norm()))


def test_draws_are_close_to_all_signs_and_say_how_close():
    names = ("W", "buffers/b1", "buffers/a")
    few, many = (trained(TwoLayerLearner(20), names, 40, draws)[0].scalars for draws in (30, 3000))
    assert abs(few["complexity"] - many["complexity"]) < 4 * few["complexity_error"]
    assert many["complexity_error"] == pytest.approx(few["complexity_error"] / 10, rel=0.4)

"""Audits of models whose answers are known."""

import numpy as np
import pytest
import torch

import beyondkernels as bk


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def drawn(*shape, seed=0):
    return bk.core.Stream(seed).child("points").normal(*shape)


def test_a_parity_is_learnt_by_features_that_emerge_at_step_two():
    """Theorem 26: the first two steps make the features, and no kernel beats the best linear classifier, 84.4 %."""
    problem = bk.problems.DictionaryParity(dim=30, patterns=30, relevant=5)
    network = bk.networks.TwoLayer(pairs=100)
    rule = bk.algorithms.FeatureLearning(bk.theory.theorem26(problem, network, steps=400, readout_rate=200.0))
    found = bk.audit(
        network,
        problem,
        1000,
        n=2500,
        algorithm=rule,
        parts=("ladder", "when", "what"),
        without=("Laplace kernel", "feature machine"),
        points=400,
        seeds=2,
        progress=False,
    )
    scores = found.ladder.set_index("rung")["score"]
    assert scores["model"] > 99
    assert scores["trained tangent kernel"] > 99
    fixed = found.ladder.loc[found.ladder["kind"] == "fixed features", "score"]
    assert set(fixed.index) and fixed.max() < 100 * problem.linear_accuracy + 2
    assert {each.id: each.holds for each in found.claims} == {"features": True, "carried": True}
    assert [run.scalars["tangent/emergence_step"] for run in found._models.values()] == [2, 2]
    assert "are features: a kernel that is frozen at the end of training has them" in found.sentence
    assert "From step 2 of 402 on" in found.sentence
    truth = problem.patterns_matrix if hasattr(problem, "patterns_matrix") else None
    assert truth is None or truth.shape[0] == 30


def test_a_linear_target_needs_no_features():
    x = drawn(300, 8)
    y = (x @ drawn(8, 1, seed=1)).numpy()
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    found = bk.audit(model, (x, y), seeds=2, epochs=60, parts=("ladder", "where"), rate=3e-3, progress=False)
    assert found.sentence.startswith("No gain from learning features shows")
    assert {each.id: each.holds for each in found.claims}["features"] is False
    assert found.ladder.set_index("rung")["score"]["linear"] == pytest.approx(100, abs=0.1)


class Lazy(torch.nn.Module):
    """A network whose output is scaled up, less that of its start, so that its parameters hardly have to move."""

    def __init__(self, scale: float):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        self.scale = scale

    def forward(self, x):
        return self.scale * self.inner(x)


def test_a_lazy_model_learns_no_features():
    """The output scaled by a hundred, the rate divided by its square: the tangent kernel stays that of the start."""
    x = drawn(200, 6)
    y = (x[:, :1] * x[:, 1:2]).numpy()
    options = {"optimiser": "sgd", "momentum": 0.0, "steps": 400, "batch": 50, "seeds": 2, "points": 150}
    parts = {"parts": ("ladder", "when", "where"), "most_blocks": 1, "progress": False}
    lazy = bk.audit(Lazy(100.0), (x, y), rate=5e-2 / 100**2, **options, **parts)
    assert lazy.sentence.startswith("No gain from learning features shows")
    assert lazy.when["tangent/start"].min() > 0.99
    assert lazy.layers["correlation"].min() > 0.99
    rich = bk.audit(Lazy(1.0), (x, y), rate=5e-2, **options, **parts)
    assert rich.when["tangent/start"].min() < 0.97
    assert rich.layers["correlation"].min() < lazy.layers["correlation"].min()


def test_where_names_the_layer_that_learns():
    """The first layer requires no gradient, so that all is learnt in the second."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 40), torch.nn.ReLU(), torch.nn.Linear(40, 1))
    model[0].requires_grad_(False)
    x = drawn(200, 6)
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    found = bk.audit(model, (x, y), seeds=2, epochs=20, rate=1e-2, parts=("where",), progress=False)
    assert found.frozen["block"].tolist() == ["2"]
    layers = found.layers.groupby("block").mean()
    assert layers.loc["0", "similarity"] == pytest.approx(1)
    assert layers.loc["2", "correlation"] < 0.99
    assert "Block 2 has to learn most" in found.sentence
    assert "The model itself keeps 0 frozen." in found.sentence

"""Audits of models whose answers are known."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import beyondkernels as bk
from beyondkernels.auditing import Audit, AuditSettings
from beyondkernels.auditing.ladder import BANDWIDTHS, MACHINE, SQUARED_BANDWIDTHS, ladder
from beyondkernels.data.given import DataWarning

HEALTHY = "The model is trained well enough to compare."


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def drawn(*shape, seed=0):
    return bk.core.Stream(seed).child("points").normal(*shape)


def scores(found) -> dict[str, float]:
    return dict(zip(found.ladder["rung"], found.ladder["score"], strict=True))


KERNELS = ("Laplace kernel", "Gaussian kernel", MACHINE, "feature machine")


def holds(found) -> dict[str, bool | None]:
    return {each.id: each.holds for each in found.claims}


def test_a_parity_is_learnt_by_features_that_emerge_at_step_two():
    """Theorem 26: the first two steps make the features, and no kernel beats the best linear classifier, 87.5 %."""
    problem = bk.features.DictionaryParity(dim=20, patterns=20, relevant=3)
    network = bk.networks.TwoLayer(pairs=100)
    rule = bk.algorithms.FeatureLearning(bk.features.theorem26(problem, network, steps=400, readout_rate=200.0))
    parts = {"parts": ("ladder", "when", "what"), "without": KERNELS, "points": 400}
    found = bk.audit(network, problem, 1000, n=1200, algorithm=rule, seeds=3, progress=False, **parts)
    assert problem.linear_accuracy == pytest.approx(0.875)
    assert scores(found)["model"] > 99
    assert scores(found)["trained tangent kernel"] > 99
    fixed = found.ladder[found.ladder["kind"] == "fixed features"]
    assert {"linear", "conjugate kernel", "tangent kernel"} == set(fixed["rung"])
    assert 82 < max(fixed["score"]) < 87.5 + 2  # three standard errors of 2000 test points
    assert holds(found) == {"features": True, "carried": True}
    for run in found._models.values():
        assert run.scalars["tangent/emergence_step"] == 2
    assert "are features: a kernel that is frozen at the end of training has them" in found.sentence
    assert "From step 2 of " in found.sentence


def test_a_linear_target_needs_no_features():
    x = drawn(200, 8)
    y = (x @ drawn(8, 1, seed=1)).numpy()
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    found = bk.audit(model, (x, y), seeds=4, epochs=150, parts=("ladder",), learning_rate=3e-3, progress=False)
    assert found.sentence.startswith(f"{HEALTHY} No gain from learning features shows")
    assert holds(found)["features"] is False
    assert scores(found)["linear"] == pytest.approx(100, abs=0.1)
    assert scores(found)["model"] > 80


def balanced(scale: float) -> torch.nn.Module:
    """Pairs of equal neurons with opposite outputs, so that the output starts at zero and can be scaled up."""

    class Scaled(torch.nn.Sequential):
        def forward(self, input):  # noqa: A002 - PyTorch's name
            return scale * super().forward(input)

    model = Scaled(torch.nn.Linear(6, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1, bias=False))
    with torch.no_grad():
        for value, sign in ((model[0].weight, 1), (model[0].bias, 1), (model[2].weight.T, -1)):
            value[32:] = sign * value[:32]  # pyright: ignore[reportIndexIssue]
    return model


def lazy_network(in_dim, out_dim):
    return balanced(100.0)


def rich_network(in_dim, out_dim):
    return balanced(1.0)


def test_a_lazy_model_learns_no_features():
    """The output scaled by a hundred, the rate divided by its square: the tangent kernel stays that of the start."""
    x = drawn(150, 6)
    y = (x[:, :1] * x[:, 1:2]).numpy()
    options: dict[str, Any] = {"optimiser": "sgd", "momentum": 0.0, "steps": 200, "batch": 50, "seeds": 2}
    options |= {"points": 80, "parts": ("ladder", "when", "where"), "most_blocks": 1, "progress": False}
    lazy = bk.audit(lazy_network, (x, y), learning_rate=5e-2 / 100**2, **options)
    assert "As it is trained, the model" in lazy.sentence  # 200 steps of plain descent are not the end
    assert "are features" not in lazy.sentence and "still falling at the end" in lazy.sentence
    assert min(lazy.when["tangent/start"]) > 0.999
    assert min(lazy.layers["correlation"]) > 0.999
    assert min(lazy.layers["similarity"].iloc[::2]) > 0.999  # the first block; the second is the output itself
    assert abs(scores(lazy)["model"] - scores(lazy)["linearised network"]) < 1.5
    options["parts"] = ("when", "where")
    rich = bk.audit(rich_network, (x, y), learning_rate=5e-2, **options)
    assert min(rich.when["tangent/start"]) < 0.97
    assert min(rich.layers["correlation"]) < 0.97


def test_where_names_the_layer_that_learns():
    """The first layer requires no gradient, so that all is learnt in the second."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 40), torch.nn.ReLU(), torch.nn.Linear(40, 1))
    model[0].requires_grad_(False)
    x = drawn(200, 6)
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    found = bk.audit(model, (x, y), seeds=2, epochs=20, learning_rate=1e-2, parts=("where",), progress=False)
    assert "All that is learnt is learnt in block 2. The model itself keeps 0 frozen." in found.sentence
    first, second = (found.layers[found.layers["block"] == name] for name in ("0", "2"))
    assert list(first["similarity"]) == pytest.approx([1, 1])
    assert max(second["correlation"]) < 0.99


def test_where_names_the_block_that_has_to_move():
    """A fixed first layer of four neurons cannot show the one direction that matters among 20, a learnt one can."""
    x = drawn(600, 20)
    y = np.where(x[:, 0].abs() > 0.67, "out", "in")
    model = torch.nn.Sequential(torch.nn.Linear(20, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    found = bk.audit(model, (x, y), seeds=2, epochs=60, learning_rate=1e-2, parts=("where",), progress=False)
    cost = dict(zip(found.frozen["block"], found.frozen["score"], strict=True))
    assert cost["0"] < cost["2"] - 5
    assert "Freezing block 0 at its start costs" in found.sentence  # two seeds do not make it clearly more than block 2


def test_no_lead_is_one_that_a_default_machine_takes_away():
    """Large inputs hide a sphere from kernels on raw points, and a network of three steps misses it."""
    x = drawn(300, 6, seed=100) * torch.tensor([1.0, 1.0, 1.0, 100.0, 100.0, 100.0])
    y = (x[:, :3].square().sum(1) > 2.4).long()
    parts = ((x[:200], y[:200]), (x[200:], y[200:]))
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    few = ("last layer", "linearised network", "layer by layer", "early features", "feature machine")
    found = bk.audit(model, *parts, seeds=1, steps=3, parts="ladder", without=few, progress=False)
    library = make_pipeline(StandardScaler(), SVC()).fit(x[:200].numpy(), y[:200].numpy())
    default = 100 * library.score(x[200:].numpy(), y[200:].numpy())
    assert scores(found)[MACHINE] >= default - 1
    assert default > scores(found)["Laplace kernel"] + 5
    assert "are features" not in found.sentence


def test_bandwidths_are_in_units_of_the_distance_of_two_points():
    x = drawn(30, 5) * torch.arange(1.0, 6.0)
    pairs = [float((a - b).square().sum()) for a in x for b in x]
    squared = sum(pairs) / len(pairs)
    data = (x, (x[:, 0] > 0).long())
    with pytest.warns(DataWarning):  # the test points are those of the training
        audited = Audit(torch.nn.Linear(5, 2), data, data, steps=1).subject
    made: dict[str, Any] = {rung.name: rung.make() for rung in ladder(audited, AuditSettings()) if rung.make}
    for name, unit, factors in (("Laplace", squared**0.5, BANDWIDTHS), ("Gaussian", squared, SQUARED_BANDWIDTHS)):
        bandwidths = [kernel.bandwidth for kernel in made[f"{name} kernel"].kernels]
        assert bandwidths == pytest.approx([factor * unit for factor in factors])

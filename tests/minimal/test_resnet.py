"""The one-file version agrees with the library: data, network, kernel, and the effect."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import infinite_tangent, ridge_path
from beyondkernels.networks import FullyConnected, ThreeLayerResNet, popular_initialisation
from beyondkernels.papers.resnet.problems import CompositeParity


def test_labels_are_those_of_the_problem(minimal):
    x, y = minimal.sample(50, torch.Generator().manual_seed(1))
    problem = CompositeParity()
    base = problem.base_signal(x)
    torch.testing.assert_close(y.double(), base + problem.alpha * problem.composite_signal(base), atol=1e-6, rtol=0)


def test_the_network_is_the_librarys(minimal):
    network = minimal.ResNet(torch.Generator().manual_seed(1))
    ours = ThreeLayerResNet(minimal.WIDTH, "bottleneck", parameterisation=popular_initialisation(minimal.WIDTH))
    names = {"W.weight": "W", "W.bias": "b1", "V.weight": "V", "V.bias": "b2", "A.weight": "A"}
    params = {name: getattr(network, theirs).detach() for name, theirs in names.items()}
    drawn, _ = ours.init(minimal.D, minimal.K, Stream(0))
    assert {name: value.shape for name, value in drawn.items()} == {name: value.shape for name, value in params.items()}
    for name, value in drawn.items():  # both start from N(0, 1/m)
        assert float(value.std()) == pytest.approx(float(params[name].std()), rel=0.25)
    x, _ = minimal.sample(20, torch.Generator().manual_seed(2))
    torch.testing.assert_close(network(x), ours.apply(params, {}, x)[0])


def test_the_kernel_is_the_librarys(minimal):
    x, _ = minimal.sample(20, torch.Generator().manual_seed(2))
    theirs = infinite_tangent(FullyConnected(width=1, depth=3))(x)
    torch.testing.assert_close(minimal.tangent_kernel(x.double(), x.double()), theirs, atol=1e-6, rtol=0)


def test_the_best_ridge_is_the_librarys(minimal):
    (x, y), (x_test, y_test) = (minimal.sample(n, torch.Generator().manual_seed(n)) for n in (60, 40))
    x, y, x_test, y_test = (part.double() for part in (x, y, x_test, y_test))
    gram, block = minimal.tangent_kernel(x, x), minimal.tangent_kernel(x_test, x)
    path = ridge_path(gram, y, torch.logspace(-8, 3, 45, dtype=torch.float64))
    best = path.validation_errors(block, y_test).sum(1).min().item()
    assert minimal.best_kernel_error(gram, block, y, y_test) == pytest.approx(best, rel=1e-9)


def test_the_effect(minimal):
    errors = minimal.main(seed=3)
    assert errors["ResNet"] < 0.5 * errors["only the products of two"]
    assert errors["tangent kernel"] > 2 * errors["only the products of two"]

"""Features of a network after some steps, and the classifiers on them."""

import pytest
import torch

from beyondkernels.activations import TruncatedReLU
from beyondkernels.algorithms import FeatureLearning, GradientDescent, Squared
from beyondkernels.core import Case
from beyondkernels.engine import NetworkFeatures, train
from beyondkernels.kernels import FixedFeatureClassifier
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features import DictionaryParity, theorem26
from fitting import case_of
from refusals import refused
from stepping import started

PROBLEM, NETWORK = DictionaryParity(dim=12, patterns=8, relevant=3), TwoLayer(pairs=6)
PROCESS = FeatureLearning(theorem26(PROBLEM, NETWORK, steps=6, batch=20))


def case(seed: int = 0) -> Case:
    return case_of(PROBLEM, 200, 100, seed)


@pytest.mark.parametrize("after", [0, 1, 2, 6])
def test_neurons_are_those_of_the_networks_own_run(after):
    where = case()
    member = started(NETWORK, PROCESS, where.train, where.stream)
    train([member], [frozenset()], lambda _: None, until=after)
    features = NetworkFeatures(NETWORK, PROCESS, after).feature_map(where)(where.test.x)
    W, b = member.params["hidden.weight"].double(), member.params["hidden.bias"].double()
    neurons = TruncatedReLU().value(where.test.x.double() @ W.T + b)
    matrix = features.matrix()
    assert matrix is not None
    torch.testing.assert_close(matrix @ matrix.T, neurons @ neurons.T)  # equal pairs are merged, products stay


def test_tangent_features_are_gradients():
    where = case()
    params, _ = PROCESS.initialise(NETWORK, 12, 1, where.stream.child("initial"))
    params = {name: value.double() for name, value in params.items()}
    x = where.test.x[:5].double()

    def out(at):
        return NETWORK.apply(at, {}, x)[0].squeeze(-1)

    rows = torch.cat([part.flatten(1) for part in torch.func.jacrev(out)(params).values()], dim=1)
    operator = NetworkFeatures(NETWORK, PROCESS, kind="tangent").feature_map(where)(where.test.x[:5])
    gram = torch.stack([operator.forward(operator.adjoint(unit)) for unit in torch.eye(5, dtype=torch.float64)])
    torch.testing.assert_close(gram, rows @ rows.T, rtol=1e-5, atol=1e-8)


def test_a_diverged_network_gives_a_diverged_run():
    wild = GradientDescent(steps=40, learning_rate=1e6, batch=10, loss=Squared())
    outcome = FixedFeatureClassifier(NetworkFeatures(NETWORK, wild, after=30)).fit(case(), lambda _: None)
    assert outcome.status == "diverged"


def test_bad_input():
    refused("not exceed the 6 steps of training, got 7", NetworkFeatures(NETWORK, PROCESS, after=7).feature_map, case())
    refused("after must not be negative, got -1", NetworkFeatures, NETWORK, PROCESS, after=-1)
    refused("kind must be 'neurons' or 'tangent', got 'deep'", NetworkFeatures, NETWORK, PROCESS, kind="deep")


def test_golden_numbers_of_this_revision():
    """A change here is a new revision of a component, or a mistake."""
    sources = (
        NetworkFeatures(NETWORK, PROCESS),
        NetworkFeatures(NETWORK, PROCESS, kind="tangent"),
        NetworkFeatures(NETWORK, PROCESS, after=1),
    )
    scalars = [FixedFeatureClassifier(source).fit(case(), lambda _: None).scalars for source in sources]
    assert [round(200 * found["train_accuracy"]) for found in scalars] == pytest.approx(GOLDEN_TRAIN, abs=1)
    assert [found["ridge"] for found in scalars] == pytest.approx(GOLDEN_RIDGES)


GOLDEN_TRAIN = [133, 191, 124]
GOLDEN_RIDGES = [0.1, 10**-3.5, 1.0]

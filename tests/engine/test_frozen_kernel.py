"""A network's own kernel, at its start and after training."""

import pytest
import torch

import beyondkernels as bk
from beyondkernels.engine import FrozenKernel
from beyondkernels.execution.outcomes import cases_of, perform
from beyondkernels.kernels import ConjugateAt, FunctionKernel, KernelAt, TangentAt, TunedKernel
from refusals import refused


def parity(learner, seed=0):
    problem = bk.features.DictionaryParity(dim=8, patterns=6, relevant=3)
    return bk.store.RunSpec(problem, learner, 120, 200, seed)


NETWORK = bk.networks.TwoLayer(pairs=20)
RULE = bk.algorithms.GradientDescent(steps=40, learning_rate=0.3, batch=30)


def jacobian_gram(network, params, buffers, x1, x2):
    """The traced tangent kernel, point by point and output by output."""
    rows = []
    for x in (x1, x2):
        mine = []
        for point in x:
            leaves = {name: value.double().clone().requires_grad_() for name, value in params.items()}
            out = network.apply(leaves, {n: b.double() for n, b in buffers.items()}, point[None].double())[0][0]
            grads = [torch.autograd.grad(o, list(leaves.values()), retain_graph=True) for o in out]
            mine.append(torch.stack([torch.cat([g.flatten() for g in each]) for each in grads]))
        rows.append(torch.stack(mine))
    return torch.einsum("iop,jop->ij", *rows) / rows[0].shape[1]


def test_frozen_at_the_start_is_the_tangent_kernel_of_the_drawn_network():
    spec = parity(FrozenKernel(NETWORK, RULE))
    (case,) = cases_of([spec])
    params, buffers = NETWORK.init(8, 1, case.stream.child("initial"))
    literal = FunctionKernel(lambda x1, x2: jacobian_gram(NETWORK, params, buffers, x1, x2), "literal")
    expected = TunedKernel((literal,)).fit(case, lambda _: None)
    (outcome,) = perform([spec])
    assert outcome.predictor is not None and expected.predictor is not None
    assert outcome.predictor(case.test.x) == pytest.approx(expected.predictor(case.test.x), rel=1e-6, abs=1e-8)
    strength = "penalty" if "penalty" in expected.scalars else "ridge"
    assert outcome.scalars[strength] == pytest.approx(expected.scalars[strength])


@pytest.mark.parametrize("kind", ["tangent", "conjugate"])
def test_frozen_later_has_the_kernel_of_the_network_that_trains_alone(kind):
    step = 25
    trained = bk.engine.TrainedNetwork(NETWORK, RULE, snapshot_at=(step,), snapshot_names=("all",))
    (run,) = perform([parity(trained)])
    params = {name: torch.from_numpy(run.arrays[f"snapshot/{step}/{name}"]) for name in NETWORK.init(8, 1, STREAM)[0]}
    buffers = NETWORK.init(8, 1, STREAM)[1]
    spec = parity(FrozenKernel(NETWORK, RULE, step, kind))
    (case,) = cases_of([spec])
    kernel = KernelAt(KINDS[kind](NETWORK, params, buffers), (8,))
    direct = TunedKernel((kernel,)).fit(case, lambda _: None)
    (outcome,) = perform([spec])
    start = perform([parity(FrozenKernel(NETWORK, RULE, 0, kind))])[0]
    assert outcome.predictor is not None and direct.predictor is not None and start.predictor is not None
    assert outcome.predictor(case.test.x) == pytest.approx(direct.predictor(case.test.x), rel=1e-6, abs=1e-8)
    assert outcome.scalars["test_accuracy"] != start.scalars["test_accuracy"]


def test_images_reach_the_network_in_their_shape():
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 3))
    network = bk.networks.FromCopy.of(module)
    params, buffers = network.init((1, 6, 6), 3, STREAM)
    x = torch.rand(5, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    kernel = KernelAt(TangentAt(network, params, buffers), (1, 6, 6))
    assert kernel(x) == pytest.approx(jacobian_gram(network, params, buffers, x, x), rel=1e-9)
    assert kernel.diagonal(x) == pytest.approx(kernel(x).diagonal(), rel=1e-9)


def test_a_network_that_diverges_has_no_kernel():
    wild = bk.algorithms.GradientDescent(steps=40, learning_rate=1e30, loss=bk.algorithms.Squared())
    (outcome,) = perform([parity(FrozenKernel(NETWORK, wild, 40))])
    assert outcome.status == "diverged"


def test_a_step_beyond_the_training_is_refused():
    refused("step must be at most 40, the steps of the training, got 41", FrozenKernel, NETWORK, RULE, 41)


STREAM, KINDS = bk.core.Stream(0), {"tangent": TangentAt, "conjugate": ConjugateAt}


def test_the_kernel_may_take_the_memory_that_the_learner_has(monkeypatch):
    """The matrix of 20,000 points alone has 3.2 GB, more than a kernel takes unless it is told."""
    given = []

    def tangent(*args, memory, **options):
        given.append(memory)
        return TangentAt(*args, memory=memory, **options)

    monkeypatch.setattr("beyondkernels.engine.frozen_kernel.TangentAt", tangent)
    perform([parity(FrozenKernel(NETWORK, RULE, memory=2**32))])
    assert given == [2**32]

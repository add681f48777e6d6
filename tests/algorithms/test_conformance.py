"""What every algorithm owes the engine."""

from dataclasses import replace

import pytest
import torch

from beyondkernels.algorithms import (
    Batch,
    Blockwise,
    Corrected,
    FeatureLearning,
    GradientDescent,
    Hinge,
    ProcessSettings,
    Squared,
    Staged,
    StepSettings,
)
from beyondkernels.core import Stream
from beyondkernels.networks import Linearised, Symmetric, TwoLayer

PROCESS = ProcessSettings(
    initial=Symmetric(0.5, 0.3, 1.5),
    first=StepSettings(0.01, 0.01, 0.0, 1.0, 0.2),
    second=StepSettings(1.0, 1.0, 0.0, 0.0, 0.2),
    later=StepSettings(0.05, 0.5),
    steps=4,
    batch=6,
    fading=True,
)
PLAIN = GradientDescent(steps=4, learning_rate=0.1, batch=6, momentum=0.9)
ALGORITHMS = {
    "network": FeatureLearning(PROCESS),
    "drawn": FeatureLearning(PROCESS, noise_kind="drawn"),
    "weighted": FeatureLearning(replace(PROCESS, first=replace(PROCESS.first, class_weights=(2.5, 0.625)))),
    "two step": FeatureLearning(PROCESS, freeze_hidden_after=2),
    "random features": FeatureLearning(PROCESS, freeze_hidden_after=0),
    "descent": GradientDescent(steps=4, learning_rate=0.1, batch=6, momentum=0.9, weight_decay=0.01),
    "descent last": GradientDescent(steps=4, learning_rate=0.1, group="last", loss=Squared()),
    "frozen after": Staged.frozen_after(PLAIN, 2),
    "blockwise": Blockwise(PLAIN, ("hidden", "last")),
    "released": Corrected(PLAIN, "hidden"),
    "fixed": Corrected(PLAIN, "hidden", "hidden"),
}
LAST_ALONE = ("two step", "random features", "descent last", "frozen after", "blockwise", "fixed")
"""Those whose last stage trains the readout alone."""
NETWORKS = {"two layer": TwoLayer(8), "linearised": Linearised(TwoLayer(8))}
IN_DIM, POINTS = 5, 12
PAIRS = [
    pytest.param(algorithm, network, id=f"{rule}-{name}")
    for rule, algorithm in ALGORITHMS.items()
    for name, network in NETWORKS.items()
    if not (isinstance(algorithm, Blockwise | Corrected) and isinstance(network, Linearised))  # it has no blocks
]
pairs = pytest.mark.parametrize(("algorithm", "network"), PAIRS)


@pytest.fixture(params=ALGORITHMS, ids=str)
def algorithm(request):
    return ALGORITHMS[request.param]


def inputs(algorithm, network, stage, seed):
    stream = Stream(seed)
    params, buffers = algorithm.initialise(network, IN_DIM, 1, stream)
    params = {name: value + 0.1 * stream.child("move", name).normal(*value.shape) for name, value in params.items()}
    x = stream.child("x").normal(POINTS, IN_DIM)
    batch = Batch(x, torch.where(x[:, 0] > 0, 1.0, -1.0))
    hyper = {name: torch.tensor(value) for name, value in algorithm.hyper(stage, 3).items()}
    noise = algorithm.noise(stage, network, params, POINTS, stream.child("noise"))
    return params, buffers, algorithm.optimiser_state(stage, params), batch, noise, hyper


def stack(parts):
    if isinstance(parts[0], Batch):
        return Batch(*(torch.stack(part) for part in zip(*parts, strict=True)))
    return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}


@pairs
def test_vmapped_step_gives_bitwise_what_a_member_alone_gives(algorithm, network):
    for stage in algorithm.stages():
        members = [inputs(algorithm, network, stage, seed) for seed in range(3)]
        step = torch.func.vmap(lambda *args, stage=stage: algorithm.step(stage, network, *args))
        together = step(*(stack(part) for part in zip(*members, strict=True)))
        for i, member in enumerate(members):
            alone = step(*(stack([part]) for part in member))
            assert torch.equal(together.loss[i], alone.loss[0])
            for name in together.params:
                assert torch.equal(together.params[name][i], alone.params[name][0]), (stage.name, name)


@pairs
def test_step_is_pure(algorithm, network):
    for stage in algorithm.stages():
        given = inputs(algorithm, network, stage, 0)
        again = inputs(algorithm, network, stage, 0)
        first = algorithm.step(stage, network, *given)
        second = algorithm.step(stage, network, *given)
        assert torch.equal(first.loss, second.loss)
        for before, after in zip(given, again, strict=True):
            pairs = (
                zip(before, after, strict=True)
                if isinstance(before, Batch)
                else [(before[k], after[k]) for k in before]
            )
            assert all(torch.equal(p, q) for p, q in pairs)


@pairs
def test_only_trained_parameters_move(algorithm, network):
    stage = algorithm.stages()[-1]
    given = inputs(algorithm, network, stage, 0)
    after = algorithm.step(stage, network, *given).params
    moved = {name for name in after if not torch.equal(after[name], given[0][name])}
    frozen = algorithm in [ALGORITHMS[name] for name in LAST_ALONE]
    heads = {"head:weight", "head:bias"}
    assert moved == ({"output.weight"} if frozen else set(given[0]) - heads)


def test_program_is_hashable_and_tells_algorithms_apart(algorithm):
    programs = [algorithm.program(stage) for stage in algorithm.stages()]
    assert len(set(programs)) == len(programs)
    for other in ALGORITHMS.values():
        theirs = [other.program(stage) for stage in other.stages()]
        assert (programs == theirs) == (algorithm == other)


def test_program_ignores_the_numbers():
    faster = replace(PROCESS, later=replace(PROCESS.later, output_rate=9.0))
    stage = ALGORITHMS["network"].stages()[-1]
    assert FeatureLearning(faster).program(stage) == ALGORITHMS["network"].program(stage)
    descent = GradientDescent(steps=4, learning_rate=0.7, batch=6, momentum=0.5)
    assert descent.program(descent.stages()[0]) == ALGORITHMS["descent"].program(descent.stages()[0])


def test_blocks_do_not_change_the_gradient(monkeypatch):
    from beyondkernels.algorithms import gradient, loss_and_gradient

    network, rule = TwoLayer(6), ALGORITHMS["descent"]
    params, buffers, _, batch, _, _ = inputs(rule, network, rule.stages()[0], 0)
    noise = {"noise": 0.1 * Stream(4).normal(POINTS, 12)}
    whole = loss_and_gradient(network, params, buffers | noise, batch, Hinge(), tuple(params))
    monkeypatch.setattr(gradient, "BLOCK", 5)
    parts = loss_and_gradient(network, params, buffers | noise, batch, Hinge(), tuple(params))
    torch.testing.assert_close(whole[0], parts[0])
    for name in params:
        torch.testing.assert_close(whole[1][name], parts[1][name], rtol=1e-5, atol=1e-7)

"""Layers that join, against plain PyTorch with a fresh optimiser for every stage, and through the engine."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.algorithms import Algorithm, Descent, Squared
from beyondkernels.algorithms.optimisers import Adam, GradientNoise, Linear, Rate, adam, chain
from beyondkernels.core import Case, Sample, Stream, digest
from beyondkernels.engine import TrainedNetwork, train
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.bfc.algorithms import Joining
from beyondkernels.papers.bfc.networks import QuadraticDenseNet
from fitting import Sized
from refusals import refused
from stepping import started

D, POINTS = 4, 24
NETWORK: Any = QuadraticDenseNet(((1,), (2, 0), (3, 1)), (3, 2, 2), (1.0, 0.3, 0.1), scale=0.5)
RULE = Joining(adam(0.02), (6, 5, 4))


@dataclass(frozen=True)
class Given(Sized):
    in_dim = D

    def sample(self, n, stream):
        x = stream.normal(n, D, dtype=torch.float64)
        return Sample(x, x.square().sum(1, keepdim=True) + x[:, :1] ** 4)


def sample(seed=0):
    return Given().sample(POINTS, Stream(seed).child("train"))


def member(rule, seed=0, network=NETWORK):
    return started(network, rule, sample(seed), Stream(seed).child("learner"))


def trained(rule, seed=0, network=NETWORK, stops=()):
    one, seen = member(rule, seed, network), {}
    train([one], [frozenset(stops)], lambda m: seen.__setitem__(m.step, dict(m.params)))
    return one, seen


def literal(frozen, steps, seed=0, rate=0.02, network=NETWORK):
    """The parameters at the end, trained by ``torch.optim.Adam``."""
    drawn = network.init(D, 1, Stream(seed).child("learner").child("initial"))[0]
    x, y = sample(seed).x, sample(seed).y[:, 0]
    layers = [[name for name in drawn if name.startswith(f"M{layer}")] for layer in (2, 3, 4)]
    present: dict[str, torch.Tensor] = {}
    outer: dict[int, torch.Tensor] = {}
    waiting = len(layers) - len(steps)
    groups = [[*itertools.chain(*layers[: waiting + 1])], *layers[waiting + 1 :]]
    for new, count in zip(groups, steps, strict=True):
        present = {n: v.detach() for n, v in present.items()} | {n: drawn[n].clone() for n in new}
        G_all = range(2, 2 + waiting + groups.index(new) + 1)
        outer = {layer: torch.ones(len(drawn[f"M{layer}.{layer - 1}"]), dtype=torch.float64) for layer in G_all}
        moving = [present[n].requires_grad_() for n in (new if frozen else present)]
        moving += [u.requires_grad_() for u in outer.values()] if network.readout else []
        optimiser = torch.optim.Adam(moving, lr=rate)
        for _ in range(count):
            G: dict[int, Any] = {0: x, 1: x**2 - 1}
            out = torch.zeros_like(y)
            for layer, sources in enumerate(NETWORK.graph, 2):
                if f"M{layer}.{sources[0]}" in present:
                    G[layer] = sum(G[j] @ present[f"M{layer}.{j}"].T for j in sources) ** 2
                    out = out + NETWORK.alphas[layer - 2] * G[layer] @ outer[layer]
            optimiser.zero_grad()
            (out - y).square().mean().backward()
            optimiser.step()
    found = present | {f"u{layer}": u for layer, u in outer.items() if network.readout}
    return {name: value.detach() for name, value in found.items()}


@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("steps", [(6, 5, 4), (6, 5), (6,)])
def test_against_plain_pytorch(frozen, steps, readout):
    network = replace(NETWORK, readout=readout)
    end = trained(replace(RULE, steps=steps, frozen=frozen), network=network)[0].params
    for name, value in literal(frozen, steps, network=network).items():
        torch.testing.assert_close(end[name], value, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("frozen", [False, True])
def test_layers_wait_join_and_stay(frozen):
    drawn = NETWORK.init(D, 1, Stream(0).child("learner").child("initial"))[0]
    one, seen = trained(replace(RULE, frozen=frozen), stops=range(16))
    assert one.step == 15
    for step, params in seen.items():
        zero = {name[:2] for name, value in params.items() if not value.any()}
        assert zero == ({"M3", "M4"} if step < 6 else {"M4"} if step < 11 else set()), step
    assert all(torch.equal(seen[6][name], drawn[name]) for name in ("M3.2", "M3.0"))
    assert all(torch.equal(seen[11][name], drawn[name]) for name in ("M4.3", "M4.1"))
    moved = {name for name in drawn if not torch.equal(seen[11][name], one.params[name])}
    assert moved == ({"M4.3", "M4.1"} if frozen else set(drawn))
    assert RULE.stage_ends == (5, 10, 15)


def test_one_stage_is_plain_descent():
    together, _ = trained(Joining(adam(0.02), (9,), batch=8))
    descent, _ = trained(Descent(9, adam(0.02), batch=8, loss=Squared()))
    assert all(torch.equal(value, descent.params[name]) for name, value in together.params.items())


@pytest.mark.parametrize("frozen", [False, True])
def test_alone_and_in_company(frozen):
    """Over enough steps that the ensemble repeats a recorded one."""
    rules = [Joining(adam(rate), (30, 30, 30), frozen, batch=8) for rate in (0.01, 0.02, 0.005)]
    together = [member(rule, seed) for seed, rule in enumerate(rules)]
    train(together, [frozenset({33})] * 3, lambda _: None)
    for seed, rule in enumerate(rules):
        alone, _ = trained(rule, seed)
        assert all(torch.equal(value, together[seed].params[name]) for name, value in alone.params.items())
        assert all(value.dtype == torch.float64 for value in (alone.params | alone.optimiser).values())


def test_a_run():
    names = tuple(NETWORK.init(D, 1, Stream(0))[0])
    learner = TrainedNetwork(NETWORK, RULE, RULE.stage_ends, snapshot_at=RULE.stage_ends, snapshot_names=names)
    learner.check(Given(), POINTS, POINTS)
    outcome = learner.fit(Case(Given(), sample(), sample(1), Stream(0).child("learner")), lambda _: None)
    assert outcome.status == "finished"
    assert outcome.series["step"].tolist() == [5, 10, 15]
    assert outcome.series["train_loss"][-1] == outcome.scalars["train_loss"]
    assert all(array.dtype == np.float64 for array in outcome.arrays.values())
    assert not outcome.arrays["snapshot/5/M3.2"].any()
    assert outcome.arrays["snapshot/10/M3.2"].any()


def test_steps_are_counted_from_the_start_of_a_stage():
    rule = Joining((Rate(Linear(1.0, steps=4)), Rate(0.5)), (4, 3))
    first, second = rule.stages()
    assert rule.hyper_of(first, range(1, 5))["rate"] == Rate(Linear(1.0, steps=4)).hyper_of(range(1, 5))["rate"]
    again = replace(rule, rule=Rate(Linear(1.0, steps=4)))
    assert again.hyper_of(second, range(5, 8))["rate"] == again.hyper_of(first, range(1, 4))["rate"]
    assert rule.hyper(second, 5) == {"rate": 0.5}


def test_noise_is_drawn_for_what_is_trained():
    rule = Joining(chain(GradientNoise(0.1), Rate(0.001)), (2, 2, 2), frozen=True)
    params = NETWORK.init(D, 1, Stream(0))[0]
    drawn = [set(rule.noise(stage, NETWORK, params, 4, Stream(0))) for stage in rule.stages()]
    assert drawn == [{"noise/M2.1"}, {"noise/M3.2", "noise/M3.0"}, {"noise/M4.3", "noise/M4.1"}]
    assert trained(rule)[0].step == 6


def test_identity():
    assert digest(Joining(chain(Adam(), Rate(0.02)), (6, 5, 4))) == digest(RULE)
    programs = [rule.program(stage) for rule in (RULE, replace(RULE, frozen=True)) for stage in rule.stages()]
    assert len(set(programs)) == 6
    assert RULE.program(RULE.stages()[0]) == Joining(adam(0.5), (6, 5, 4)).program(RULE.stages()[0])


def test_refused():
    refused("rule must be one optimiser or one for each of the 2 stages, got 3", Joining, (Rate(0.1),) * 3, (4, 4))
    refused(r"rule must end with its learning rate.*got a last rule Adam", Joining, Adam(), (4,))
    refused("Joining is for a QuadraticDenseNet, got a TwoLayer", member, RULE, network=TwoLayer(3))
    assert isinstance(RULE, Algorithm)

"""Layerwise training through the engine: stages, records, and its numbers."""

from dataclasses import dataclass, replace

import pytest
import torch

from beyondkernels.algorithms import Algorithm, GradientDescent, Layerwise, Squared
from beyondkernels.core import Case, Stream, digest
from beyondkernels.engine import Member, TrainedNetwork, train
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation
from beyondkernels.papers.resnet.problems import CompositeParity
from stepping import started

PROBLEM = CompositeParity(8, 4, 0.3)
SAMPLE = PROBLEM.sample(40, Stream(0))
FIRST = GradientDescent(8, 0.05, 10, 0.9, 0.01, "all", Squared())
RULE = Layerwise(FIRST, replace(FIRST, steps=6))


def network_of(form):
    return ThreeLayerResNet(12, form, parameterisation=popular_initialisation(12))


def member(network, rule, seed=2):
    return started(network, rule, SAMPLE, Stream(seed))


@pytest.mark.parametrize("form", ["full", "bottleneck"])
def test_stages_in_the_engine(form):
    network = network_of(form)
    drawn = network.init(8, 4, Stream(2).child("initial"))[0]
    second = [name for name in drawn if name[0] not in "WA"]
    one, seen = member(network, RULE), {}
    train([one], [frozenset(range(14))], lambda m: seen.__setitem__(m.step, dict(m.params)))
    assert one.step == 14
    assert not one.active
    assert one.params.keys() == drawn.keys()
    assert all(not seen[t][name].any() for t in range(1, 8) for name in second)
    assert all(torch.equal(seen[8][name], drawn[name]) for name in second)
    assert all(torch.equal(seen[8][name], one.params[name]) for name in drawn.keys() - {*second})
    assert all(not torch.equal(drawn[name], one.params[name]) for name in drawn)


def test_a_run_records_both_stages():
    learner = TrainedNetwork(
        network_of("bottleneck"), RULE, record_at=(8, 14), snapshot_at=(7, 8, 14), snapshot_names=("V.weight",)
    )
    outcome = learner.fit(Case(PROBLEM, SAMPLE, PROBLEM.sample(50, Stream(1)), Stream(5)), lambda *_: None)
    assert outcome.status == "finished"
    assert outcome.series["step"].tolist() == [8, 14]
    assert outcome.scalars["steps"] == 14
    assert outcome.series["train_loss"][-1] == pytest.approx(outcome.scalars["train_loss"])
    assert not outcome.arrays["snapshot/7/V.weight"].any()
    assert outcome.arrays["snapshot/14/V.weight"].any()


@dataclass(frozen=True)
class PutAside(Layerwise):
    """As the rule was written at first: the second layer's start waits among the parameters."""

    def initialise(self, network, in_dim, out_dim, stream):
        params, buffers = super().initialise(network, in_dim, out_dim, stream)
        drawn = network.init(in_dim, out_dim, stream)[0]
        second = network.trained("hidden-W", drawn)
        return params | {f"start.{name}": drawn[name] for name in second}, buffers

    def optimiser_state(self, stage, params):
        return super().optimiser_state(
            stage, {name: value for name, value in params.items() if not name.startswith("start.")}
        )

    def transition(self, view):
        after = Algorithm.transition(self, view)
        if after.stage == view.stage:
            return after
        kept = {name: value for name, value in view.params.items() if not name.startswith("start.")}
        put = {name: view.params[f"start.{name}"] for name in kept if f"start.{name}" in view.params}
        return after._replace(params=kept | put)


@pytest.mark.parametrize("backend", ["eager", "compiled"])
@pytest.mark.parametrize("form", ["full", "bottleneck"])
def test_the_numbers_of_this_revision(form, backend):
    """To the bit those of the rule as it was written at first: stored runs of it are still served."""
    now, then = (
        Member(network_of(form), rule, SAMPLE, Stream(2), backend) for rule in (RULE, PutAside(FIRST, RULE.second))
    )
    for each in (now, then):
        each.start(8, 4)
        train([each], [frozenset({3, 8, 11})], lambda _: None)
    assert now.step == then.step == 14
    for part in ("params", "optimiser"):
        ours, theirs = getattr(now, part), getattr(then, part)
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert RULE.revision == 1
    assert digest(RULE) == "f263e6e47222fdecd6dc34995f846a5a"


GOLDEN = {"full": 68.905303717, "bottleneck": 48.627959490}


@pytest.mark.parametrize("form", GOLDEN)
def test_golden_numbers_of_this_revision(form):
    trained = member(network_of(form), RULE)
    train([trained], [frozenset()], lambda _: None)
    assert sum(float(value.abs().sum()) for value in trained.params.values()) == pytest.approx(GOLDEN[form], rel=1e-5)

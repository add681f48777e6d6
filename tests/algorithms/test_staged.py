"""Training in stages of groups: the same as the rule where nothing is fixed, and fixed where it says so."""

import pytest
import torch

from beyondkernels.algorithms import Descent, GradientDescent, Squared, Staged
from beyondkernels.algorithms.optimisers import Cosine, GradientNoise, Rate, adamw, chain
from beyondkernels.core import Stream
from beyondkernels.engine import train
from beyondkernels.networks import FromCopy, FullyConnected, with_blocks
from beyondkernels.papers.resnet.problems import CompositeParity
from refusals import refused
from stepping import started

PROBLEM = CompositeParity(8, 4, 0.3)
SAMPLE = PROBLEM.sample(25, Stream(0))
RULE = Descent(30, adamw(Cosine(0.01, 30)), batch=6, loss=Squared())
NOISY = Descent(30, chain(GradientNoise(0.1), Rate(0.01)), batch=6, loss=Squared())


def trained(network, rule, seed=3, stops=(), until=None):
    member = started(network, rule, SAMPLE, Stream(seed))
    seen = {0: dict(member.params)}
    train([member], [frozenset(stops)], lambda m: seen.__setitem__(m.step, dict(m.params)), until)
    return member, seen


def module():
    layers = torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(6, 4)
    return with_blocks(FromCopy.of(torch.nn.Sequential(*layers)), 8, 4)


@pytest.mark.parametrize("rule", [RULE, NOISY, GradientDescent(30, 0.02, 6, 0.9, 0.01, loss=Squared(), drops=(17,))])
@pytest.mark.parametrize("network", [FullyConnected(10, 3), module()], ids=["package", "module"])
def test_stages_of_all_parameters_are_the_rule_bit_by_bit(network, rule):
    plain, _ = trained(network, rule)
    staged, _ = trained(network, Staged(rule, ("all", "all", "all"), (7, 3, 20)))
    assert staged.step == plain.step == 30
    for part in ("params", "buffers", "optimiser"):
        ours, theirs = getattr(staged, part), getattr(plain, part)
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(("network", "last"), [(FullyConnected(10, 3), "output"), (module(), "3")])
def test_frozen_after_some_steps(network, last):
    rule = Staged.frozen_after(RULE, 12)
    assert (rule.groups, rule.steps) == (("all", "last"), (12, 18))
    member, seen = trained(network, rule, stops=(12, 13))
    plain, theirs = trained(network, RULE, stops=(12, 13))
    assert all(torch.equal(value, theirs[12][name]) for name, value in seen[12].items())
    for name, value in member.params.items():
        assert torch.equal(value, seen[12][name]) == (not name.startswith(f"{last}."))
        if name.startswith(f"{last}."):  # one step later the gradient is still that of the plain rule
            assert torch.equal(seen[13][name], theirs[13][name])
            assert not torch.equal(value, plain.params[name])


def test_stages_that_begin_anew_are_rules_one_after_the_other():
    rule = Staged(RULE, ("hidden", "last"), (7, 3), fresh=True)
    stages = rule.stages()
    assert rule.hyper(stages[1], 9) == RULE.hyper(stages[1], 2)
    assert rule.hyper_of(stages[1], range(8, 11)) == RULE.hyper_of(stages[1], range(1, 4))
    going_on = Staged(RULE, ("hidden", "last"), (7, 3))
    assert going_on.hyper(going_on.stages()[1], 9) == RULE.hyper(stages[1], 9)
    member, seen = trained(FullyConnected(10, 3), rule, stops=(7,))
    moved = {t: {n for n in seen[0] if not torch.equal(one[n], other[n])} for t, one, other in
             ((0, seen[0], seen[7]), (7, seen[7], member.params))}  # fmt: skip
    assert moved == {0: {"layer1.weight", "layer2.weight"}, 7: {"output.weight"}}


def test_a_group_that_is_none_is_refused():
    sentence = r"unknown parameter group 'lst', did you mean last\?"
    refused(sentence, trained, FullyConnected(10, 3), Staged(RULE, ("all", "lst"), (3, 4)))

"""Training block by block and backward feature correction, against loops in plain PyTorch."""

import functools
from typing import Any, cast

import pytest
import torch
from torch import nn

from beyondkernels.algorithms import Batch, Blockwise, Corrected, Descent, Squared
from beyondkernels.algorithms.optimisers import Cosine, adam, sgd
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import train
from beyondkernels.networks import FromCopy, FullyConnected, Prefix, with_blocks
from beyondkernels.papers.resnet.problems import CompositeParity
from module_cases import CLASSES, SHAPE, ResNet
from stepping import started as begun

PROBLEM = CompositeParity(8, 4, 0.3)
SAMPLE = PROBLEM.sample(25, Stream(0))
RULE = Descent(6, sgd(Cosine(0.05, 6), momentum=0.9, weight_decay=0.01), batch=6, loss=Squared())
PACKAGE, NAMES = FullyConnected(10, 3), ("layer1", "layer2", "output")


@functools.cache
def module():
    layers = nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4)
    return with_blocks(FromCopy.of(nn.Sequential(*layers)), 8, 4)


def started(network, rule, seed=3):
    return begun(network, rule, SAMPLE, Stream(seed))


def trained(network, rule, seed=3, stops=()):
    member = started(network, rule, seed)
    seen = {0: dict(member.params)}
    train([member], [frozenset(stops)], lambda m: seen.__setitem__(m.step, dict(m.params)))
    return member, seen


def moved(before, after):
    return {name for name in before.keys() & after.keys() if not torch.equal(before[name], after[name])}


def test_blockwise_is_a_loop():
    """Two blocks: the first with a head of its own, then the second on what the first has become."""
    network = with_blocks(FromCopy.of(nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4))), 8, 4)
    member = started(network, Blockwise(RULE, ("0", "2")))
    stream = Stream(3)
    head = nn.Linear(6, 4)
    model = cast(nn.Sequential, network.fresh(8, 4, stream.child("initial")))
    with torch.no_grad():
        for name in ("weight", "bias"):
            drawn = stream.child("initial", "head", name).uniform(*getattr(head, name).shape)
            getattr(head, name).copy_((2 * drawn - 1) / 6**0.5)
    assert torch.equal(member.params["head:weight"], head.weight)

    def go(parameters, out, entered):
        optimiser = torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.01)
        orders = stream.child("batches", str(entered))
        for step in range(6):
            epoch, i = divmod(step, 25 // 6)
            rows = orders.permutations(25, range(epoch, epoch + 1))[0][6 * i : 6 * i + 6]
            optimiser.param_groups[0]["lr"] = RULE.hyper(RULE.stages()[0], step + 1)["rate"]
            optimiser.zero_grad()
            (out(SAMPLE.x[rows]) - SAMPLE.y[rows]).square().sum(1).mean().backward()
            optimiser.step()

    go([*model[0].parameters(), *head.parameters()], lambda x: head(model[:2](x)), 0)
    go([*model[2].parameters()], model, 6)
    train([member], [frozenset({4})], lambda _: None)
    assert member.step == 12
    assert member.params.keys() == dict(model.named_parameters()).keys()
    for name, value in model.named_parameters():
        torch.testing.assert_close(member.params[name], value.detach(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("network", [PACKAGE, "module"], ids=["package", "module"])
def test_each_stage_trains_its_block_alone(network):
    network, names = (module(), ("0", "2", "4")) if network == "module" else (network, NAMES)
    member, seen = trained(network, Blockwise(RULE, names), stops=(1, 6, 7, 12, 13, 18))
    weights, head = [f"{name}.weight" for name in names], {"head:weight", "head:bias"}
    every = {name: {each for each in seen[0] if each.startswith(f"{name}.")} for name in names}
    assert moved(seen[0], seen[1]) == every[names[0]] | head
    assert moved(seen[0], seen[6]) - head == every[names[0]]
    assert moved(seen[6], seen[7]) == every[names[1]] | head
    assert moved(seen[12], seen[13]) == every[names[2]]
    assert torch.equal(member.params[weights[0]], seen[6][weights[0]])
    assert torch.equal(member.params[weights[1]], seen[12][weights[1]])
    assert head <= seen[7].keys()
    if network is PACKAGE:  # its blocks have features of one width, and heads that are drawn by themselves
        assert not torch.isin(seen[6]["head:weight"], seen[0]["head:weight"]).any()
        assert seen[6]["head:weight"].abs().max() <= 10**-0.5
    assert not head & member.params.keys()
    assert seen[0].keys() - head == member.params.keys()


@pytest.mark.parametrize("fixed", [None, "layer1", "layer2"])
def test_corrected_fixes_or_releases(fixed):
    member, seen = trained(PACKAGE, Corrected(RULE, "layer2", fixed), stops=(6, 7))
    start = PACKAGE.init(8, 4, Stream(3).child("initial"))[0]
    assert torch.equal(seen[6]["output.weight"], start["output.weight"])
    free = {"layer1", "layer2", "output"} - {None: set(), "layer1": {"layer1"}, "layer2": {"layer1", "layer2"}}[fixed]
    assert moved(seen[6], seen[7]) == moved(seen[6], member.params) == {f"{name}.weight" for name in free}
    assert moved(start, seen[6]) == {"layer1.weight", "layer2.weight"}


def test_released_goes_on_as_the_plain_rule_would():
    rule = Corrected(RULE, "2")
    member, _ = trained(module(), rule)
    network, stage = module(), RULE.stages()[0]
    first = started(network, rule)
    train([first], [frozenset({6})], lambda _: None, until=6)
    params, buffers, state = first.params, first.buffers, RULE.optimiser_state(stage, first.params)
    for t in range(6):
        rows: Any = first.rows(t, 1)
        hyper = {name: torch.tensor(value) for name, value in RULE.hyper(stage, t + 1).items()}
        batch = Batch(SAMPLE.x[rows[0]], SAMPLE.y[rows[0]])
        params, buffers, state, _ = RULE.step(stage, network, params, buffers, state, batch, {}, hyper)
    for name, value in params.items():
        torch.testing.assert_close(member.params[name], value, rtol=0, atol=1e-6)


def test_a_fixed_block_keeps_its_parameters_while_its_statistics_go_on():
    network = with_blocks(FromCopy.of(ResNet()), SHAPE, CLASSES)
    x = Stream(1).normal(12, *SHAPE)
    sample = Sample(x, torch.eye(CLASSES)[torch.arange(12) % CLASSES])
    rule = Corrected(Descent(3, adam(0.01), batch=6, loss=Squared()), "layer1.0", "layer1.0")
    member = begun(network, rule, sample, Stream(0))
    later = member.buffers["layer2.0.bn1.running_mean"].clone()
    train([member], [frozenset({3})], lambda _: None, until=3)
    assert torch.equal(member.buffers["layer2.0.bn1.running_mean"], later)
    before = dict(member.params), member.buffers["bn.running_mean"].clone()
    train([member], [frozenset()], lambda _: None)
    kept = {name for block in network.blocks[:2] for name in block.parameters}
    assert not kept & moved(before[0], member.params)
    assert moved(before[0], member.params) == member.params.keys() - kept
    assert not torch.equal(member.buffers["bn.running_mean"], before[1])


GOLDEN = {"blockwise": 184.004246, "fixed": 181.981873, "prefix": 165.628347}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_numbers_of_this_revision(name):
    rules = {"blockwise": Blockwise(RULE, NAMES), "fixed": Corrected(RULE, "layer2", "layer1"), "prefix": RULE}
    member, _ = trained(Prefix(PACKAGE, "layer2") if name == "prefix" else PACKAGE, rules[name])
    assert sum(float(value.abs().sum()) for value in member.params.values()) == pytest.approx(GOLDEN[name], rel=1e-5)


def test_the_first_stage_is_the_rule_for_a_prefix():
    _, seen = trained(PACKAGE, Corrected(RULE, "layer2"), stops=(5,))
    _, theirs = trained(Prefix(PACKAGE, "layer2"), RULE, stops=(5,))
    assert theirs[5].keys() < seen[5].keys()
    assert all(torch.equal(seen[5][name], value) for name, value in theirs[5].items())

"""The memory that training takes, known before: against what is really allocated, and in sentences."""

from __future__ import annotations

import gc
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import FeatureLearning, GradientDescent, Layerwise, OnePass, Squared
from beyondkernels.core import Case, InputError, Stream
from beyondkernels.engine import TrainedNetwork, budget
from beyondkernels.engine.budget import Sizes, bytes_needed, initial_shapes, members_within, readable
from beyondkernels.kernels.finite.memory import peak_bytes
from beyondkernels.learning import fit
from beyondkernels.networks import (
    FromModule,
    FullyConnected,
    Linearised,
    ThreeLayerResNet,
    TwoLayer,
    popular_initialisation,
)
from beyondkernels.papers.bfc import QuadraticDenseNet, QuadraticTarget
from beyondkernels.papers.features import DictionaryParity, theorem26
from beyondkernels.papers.resnet.problems import CompositeParity
from fitting import Sized, case_of
from refusals import refused

COMPOSITE = CompositeParity(dim=30, outputs=15)
PARITY = DictionaryParity(dim=100, patterns=20, relevant=5)
RULE = GradientDescent(22, 1e-4, 50, momentum=0.9, loss=Squared())
PROCESS = theorem26(PARITY, TwoLayer(pairs=200), steps=24, batch=100)
POPULAR = popular_initialisation(300)
GRAPH = ((1,), (2, 0))
QUADRATIC = QuadraticTarget(2, (1, 1), GRAPH, (1.0, 0.1))
TINY = QuadraticDenseNet(GRAPH, (2, 1), (1.0, 0.1))
SMALL_STEPS = GradientDescent(22, 1e-6, 50, momentum=0.9, loss=Squared())


def make_module(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(in_dim, 500), torch.nn.ReLU(), torch.nn.Linear(500, out_dim))


def make_stubborn_module(in_dim: int, out_dim: int) -> torch.nn.Module:
    return Stubborn(in_dim, out_dim)


class Stubborn(torch.nn.Module):
    """Looks at a number on its way."""

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(in_dim, out_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert float(x.detach().sum()) < 1e30
        return self.layer(x)


RESNET = ThreeLayerResNet(300, "full", parameterisation=POPULAR)
LEARNERS = {
    "full": (COMPOSITE, TrainedNetwork(RESNET, RULE), 500),
    "last layer": (COMPOSITE, TrainedNetwork(RESNET, replace(RULE, group="last")), 500),
    "bottleneck": (COMPOSITE, TrainedNetwork(replace(RESNET, form="bottleneck"), RULE), 500),
    "wide bottleneck": (COMPOSITE, TrainedNetwork(ThreeLayerResNet(20_000, "bottleneck"), RULE), 60),
    "tangent": (COMPOSITE, TrainedNetwork(Linearised(FullyConnected(300, 3)), RULE), 500),
    "whole sample": (COMPOSITE, TrainedNetwork(FullyConnected(200, 2), replace(RULE, batch=None)), 4000),
    "stages": (PARITY, TrainedNetwork(TwoLayer(200), FeatureLearning(PROCESS)), 2500),
    "one pass": (COMPOSITE, TrainedNetwork(ThreeLayerResNet(5000, "bottleneck"), OnePass(40, 1e-4, 1e-4)), 60),
    "layerwise": (COMPOSITE, TrainedNetwork(replace(RESNET, form="bottleneck"), Layerwise(RULE, RULE)), 500),
    "module": (COMPOSITE, TrainedNetwork(FromModule(make_module, "mine"), RULE), 500),
    "double": (QUADRATIC, TrainedNetwork(QuadraticDenseNet(GRAPH, (300, 300), (1.0, 0.1)), SMALL_STEPS), 500),
    "many in double": (QUADRATIC, TrainedNetwork(TINY, replace(SMALL_STEPS, steps=3, batch=1)), 200_000),
}


@dataclass(frozen=True)
class Unwilling(Sized):
    """Must not be asked for a sample."""

    in_dim = 8

    def sample(self, n, stream):
        raise AssertionError("drawn")


def case(problem, n: int, test: int = 50) -> Case:
    return case_of(problem, n, test, seed=100)


def sizes(problem, n: int, test: int = 50) -> Sizes:
    return Sizes(n, test, problem.in_dim, problem.out_dim)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_expected_is_what_torch_allocates(name):
    problem, learner, n = LEARNERS[name]
    where = case(problem, n)
    taken = peak_bytes(lambda: learner.fit(where, lambda _: None))
    needed: Any = bytes_needed(learner, sizes(problem, n))
    assert taken <= needed <= 1.65 * taken
    rough = budget._rough(learner, sizes(problem, n))
    assert rough is None or rough >= needed


def memory_of_process(line: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(each.split()[1]) * 1024 for each in lines if each.startswith(line))


@pytest.mark.parametrize(
    "learner",
    [
        TrainedNetwork(replace(RESNET, width=1600), replace(RULE, steps=1), backend="compiled"),
        TrainedNetwork(replace(RESNET, form="bottleneck", width=40_000), replace(RULE, steps=1), backend="compiled"),
    ],
    ids=["full", "bottleneck"],
)
def test_what_is_expected_of_the_compiled_backend(learner):
    where = case(COMPOSITE, 60, 5)
    needed = bytes_needed(learner, sizes(COMPOSITE, 60, 5))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_of_process("VmRSS")
    learner.fit(where, lambda _: None)
    taken = memory_of_process("VmHWM") - before  # memory that is held back from before makes it less
    assert needed is not None
    assert taken <= needed
    # literally: state and packed state (values and velocities), gradients, transposed weights, a batch's numbers
    m, network = learner.network.width, learner.network
    count = sum(value.numel() for value in initial_shapes(network, RULE, 30, 15)[0].values())
    inner = m * m if network.form == "full" else 16 * m
    batch = 50 * (2 * m + 2 * m + (m if network.form == "full" else 0))
    assert 4 * (4 * count + count + inner + 16 * m + batch) <= needed <= 1.6 * 4 * (5 * count + inner + 16 * m + batch)


@pytest.mark.parametrize(("group", "kept"), [("all", 0), ("last", 2), ("hidden-W", 2)])
def test_kept_values_of_layers_that_stand_still_are_counted(group, kept):
    few, many = (
        bytes_needed(TrainedNetwork(RESNET, replace(RULE, steps=steps, group=group), backend="compiled"), given)
        for given in (sizes(COMPOSITE, 500),)
        for steps in (1000 - 1, 1000)  # of 50 points, so that a hundred epochs are not quite, or just reached
    )
    assert few is not None
    assert many is not None
    assert many - few == pytest.approx(1.1 * 4 * 500 * kept * RESNET.width, abs=2000)  # the order of points grows too


def test_nothing_is_allocated_to_find_out():
    huge = TrainedNetwork(ThreeLayerResNet(2_000_000, parameterisation=POPULAR), RULE)
    assert (
        peak_bytes(lambda: initial_shapes(huge.network, RULE, 30, 15)) > 2_000_000**2 * 4
    )  # of tensors without numbers
    before = memory_of_process("VmPeak")
    needed: Any = bytes_needed(huge, sizes(COMPOSITE, 500))
    assert needed > 2_000_000**2 * 4 * 6
    assert memory_of_process("VmPeak") - before < 2**30


def test_shapes_are_those_of_the_start():
    for problem, learner, _ in LEARNERS.values():
        drawn = learner.algorithm.initialise(learner.network, problem.in_dim, problem.out_dim, Stream(0))
        shapes = initial_shapes(learner.network, learner.algorithm, problem.in_dim, problem.out_dim)
        for real, shape in zip(drawn, shapes, strict=True):
            assert {name: (value.shape, value.dtype) for name, value in real.items()} == {
                name: (value.shape, value.dtype) for name, value in shape.items()
            }
            assert all(value.device.type == "meta" for value in shape.values())


@pytest.mark.parametrize("backend", ["eager", "compiled"])
@pytest.mark.parametrize("form", ["full", "bottleneck"])
def test_the_sentence_names_a_width_that_fits(backend, form):
    network = ThreeLayerResNet(5_000_000, form, parameterisation=POPULAR)
    learner = TrainedNetwork(network, RULE, backend=backend)
    with pytest.raises(InputError) as caught:
        learner.check(COMPOSITE, 500, 1000)
    sentence = str(caught.value)
    found = re.fullmatch(r"width=5000000 needs (\S+) (GiB|TiB), memory allows 8 GiB: width (\d+) would fit", sentence)
    assert found, sentence
    fitting = int(found.group(3))
    replace(learner, network=replace(network, width=fitting)).check(COMPOSITE, 500, 1000)
    with pytest.raises(InputError, match="memory allows"):
        replace(learner, network=replace(network, width=int(1.15 * fitting) + 1)).check(COMPOSITE, 500, 1000)
    replace(learner, memory=2**60).check(COMPOSITE, 500, 1000)


def test_other_sentences():
    two = TrainedNetwork(Linearised(TwoLayer(10**7)), GradientDescent(5, 0.1, 10))
    refused(r"pairs=10000000 needs .* GiB, memory allows 8 GiB: pairs \d+ would fit", two.check, PARITY, 500, 100)
    mine = TrainedNetwork(FromModule(make_module, "mine"), RULE, memory=1000)
    refused(r"needs .* KiB, memory allows 0.977 KiB: smaller batches than 50 points", mine.check, COMPOSITE, 500, 100)
    wide = TrainedNetwork(FullyConnected(10**12, 3), RULE)
    refused(r"weights of shape \(1000000000000, 1000000000000\) fit into no memory", wide.check, COMPOSITE, 500, 100)


def test_a_network_that_wants_numbers_is_not_judged():
    learner = TrainedNetwork(FromModule(make_stubborn_module, "stubborn"), GradientDescent(3, 0.1, 10), memory=1)
    assert bytes_needed(learner, sizes(PARITY, 50)) is None
    learner.check(PARITY, 50, 50)
    assert learner.fit(case(PARITY, 50), lambda _: None).status == "finished"


def test_fit_refuses_before_anything_is_drawn():
    problem = Unwilling()
    refused("pairs=1000000000 needs", fit, TwoLayer(10**9), problem, n=50, algorithm=GradientDescent(5, 0.1))
    refused("50 points of the sample, got 60", fit, TwoLayer(5), problem, n=50, algorithm=GradientDescent(5, 0.1, 60))
    with pytest.raises(InputError, match="unknown parameter in snapshot_names 'W'"):
        fit(TwoLayer(5), problem, n=50, algorithm=GradientDescent(5, 0.1), snapshot_names=("W",))


def test_company_is_bounded_by_memory_too():
    learner = TrainedNetwork(ThreeLayerResNet(20_000, "bottleneck"), OnePass(100, 1e-4, 1e-4))
    at_once = learner.members_at_once(100, 30, 15)
    assert at_once == 200_000 // (20_000 * 2 + 30)
    needed: Any = bytes_needed(learner, Sizes(100, 100, 30, 15))
    samples = 2 * 100 * 45 * 8  # they may be in double precision
    tight = replace(learner, memory=2 * (needed + samples) + 1)
    assert tight.members_at_once(100, 30, 15) == 2
    assert replace(learner, memory=1).members_at_once(100, 30, 15) == 1
    small = TrainedNetwork(FullyConnected(20, 3), RULE)
    many = replace(small, memory=3 * bytes_needed(small, Sizes(10**6, 10**6, 30, 15)))  # pyright: ignore
    assert members_within(many, Sizes(10**6, 10**6, 30, 15), 60) < 3  # each may have a sample of its own
    given, double = Sizes(10**6, 10**6, 2, 1), TrainedNetwork(TINY, SMALL_STEPS)
    three = 3 * (bytes_needed(double, given) + 2 * 10**6 * 3 * 8)  # pyright: ignore
    assert members_within(replace(double, memory=three), given, 60) == 3


def test_readable():
    found = [readable(n) for n in (999, 1000, 2**20, 2**60)]
    assert found == ["999 bytes", "0.977 KiB", "1 MiB", "1048576 TiB"]

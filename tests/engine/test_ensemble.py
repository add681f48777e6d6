"""A step written down and repeated: the same bits as the step itself, alone and in company, or the step itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from beyondkernels.activations import FromFunction
from beyondkernels.algorithms import (
    FeatureLearning,
    GradientDescent,
    OnePass,
    ProcessSettings,
    Squared,
    Stage,
    StepSettings,
)
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, ensemble, tape, train
from beyondkernels.networks import (
    FromModule,
    FullyConnected,
    Linearised,
    Parameterisation,
    Symmetric,
    ThreeLayerResNet,
    TwoLayer,
)

IGNORE = lambda _: None  # noqa: E731
STEPS, D, N = 22, 5, 30

NOISY = StepSettings(0.05, 0.05, 0.0, 0.0, 0.2)
PROCESS = ProcessSettings(Symmetric(0.5, 0.3, 1.5), NOISY, NOISY, NOISY, steps=STEPS, batch=6)
DESCENT = GradientDescent(STEPS, 0.001, 6, momentum=0.9, weight_decay=0.01, drops=(9, 17))
SQUARES = replace(DESCENT, loss=Squared())
BIASED = Parameterisation("standard", bias_variance=0.1)
ResNet = ThreeLayerResNet

CASES: dict[str, tuple[Any, Any, int]] = {
    "feature learning": (FeatureLearning(PROCESS), TwoLayer(7), 1),
    "drawn noise": (FeatureLearning(PROCESS, noise_kind="drawn"), TwoLayer(7), 1),
    "frozen": (FeatureLearning(PROCESS, freeze_hidden_after=2), TwoLayer(8), 1),
    "tangent features": (FeatureLearning(PROCESS), Linearised(TwoLayer(7)), 1),
    "hinge": (DESCENT, TwoLayer(16), 1),
    "whole sample": (replace(DESCENT, batch=None), TwoLayer(7), 1),
    "blocks": (replace(SQUARES, group="last"), FullyConnected(20), 3),
    "one pass": (OnePass(STEPS, 0.01, 0.02, tail=0.5), ResNet(9, "bottleneck", parameterisation=BIASED), 3),
    "average": (OnePass(STEPS, 0.01, 0.02, end="average"), ResNet(9, "bottleneck", parameterisation=BIASED), 1),
    "expansion": (SQUARES, Linearised(ResNet(9, "bottleneck", parameterisation=BIASED)), 3),
    **{
        f"{form} {group} {scales.kind} {width}": (
            replace(SQUARES, group=group), ResNet(width, form, parameterisation=scales), 3
        )
        for form in ("full", "bottleneck")
        for group, scales, width in [("all", BIASED, 9), ("hidden", Parameterisation(), 20), ("last", BIASED, 16)]
    },
    **{
        f"{name} depth {depth}": (SQUARES, FullyConnected(10, depth, name, BIASED), 2)
        for name, depth in [("relu", 2), ("relu", 4), ("gelu", 3), ("tanh", 3), ("erf", 3), ("sine", 3)]
    },
}  # fmt: skip


def members(rule, network, outputs, seeds=(), shared=False) -> list[Member]:
    made: list[Member] = []
    for seed in seeds:
        stream = Stream(7 if shared else seed)
        x = stream.child("x").normal(N, D)
        y = torch.where(x[:, 0] > 0, 1.0, -1.0) if outputs == 1 else stream.child("y").normal(N, outputs)
        sample = made[0].sample if shared and made else Sample(x, y)
        made.append(Member(network, rule, sample, Stream(seed)))
        made[-1].start(D, outputs)
    return made


def trained(some: list[Member], stops: Iterable[int] = ()) -> list[Member]:
    train(some, [frozenset(stops)] * len(some), IGNORE)
    return some


def same(a: Member, b: Member) -> None:
    assert (a.step, a.diverged) == (b.step, b.diverged)
    for part in ("params", "buffers", "optimiser"):
        p, q = getattr(a, part), getattr(b, part)
        assert p.keys() == q.keys()
        for name in p:
            assert p[name].dtype == q[name].dtype
            assert torch.equal(p[name], q[name]), (part, name)


def all_same(some: list[Member], others: list[Member]) -> None:
    for one, other in zip(some, others, strict=True):
        same(one, other)


@pytest.fixture
def ways(monkeypatch):
    """How every ensemble took its steps in the end."""
    seen = []
    original = ensemble.Ensemble.advance

    def advance(self, *args):
        losses = original(self, *args)
        seen.append(self.replays)
        return losses

    monkeypatch.setattr(ensemble.Ensemble, "advance", advance)
    return seen


@pytest.fixture
def plain(monkeypatch):
    """Train without writing anything down."""

    def run(some: list[Member]) -> list[Member]:
        with monkeypatch.context() as patch:
            patch.setattr(ensemble, "_WORTH", 10**9)
            return trained(some)

    return run


@pytest.mark.parametrize("name", CASES)
def test_bit_by_bit(name, ways, plain):
    """By vmap and from the record, alone and in company, with stops between and without, on one sample and on many."""
    case = CASES[name]
    exact = plain(members(*case, range(3)))
    assert not any(ways)
    assert not any(member.diverged for member in exact)
    ways.clear()
    together = trained(members(*case, range(3)))
    assert ways[-1]
    all_same(exact, together)
    same(exact[1], trained(members(*case, [1]), stops=[1, 2, 11, 20])[0])
    all_same(plain(members(*case, range(2), True)), trained(members(*case, range(2), True)))


def test_steps_are_written_down_once(monkeypatch):
    """Neither for every stretch between two stops, nor for rates that change."""
    times = []
    original = ensemble.record
    monkeypatch.setattr(ensemble, "record", lambda *args: times.append(1) or original(*args))
    trained(members(replace(SQUARES, steps=60), FullyConnected(10), 2, range(2)), stops=range(0, 60, 7))
    assert len(times) == 1


def test_each_rule_has_a_record_of_its_own(plain):
    """Two rules on networks of one shape, side by side."""
    network = FullyConnected(10)

    def both() -> list[Member]:
        return [members(replace(SQUARES, group=group), network, 2, [0])[0] for group in ("all", "hidden")]

    exact, ours = plain(both()), trained(both(), stops=[1, 2])
    all_same(exact, ours)
    assert not torch.equal(ours[0].params["output.weight"], ours[1].params["output.weight"])


def test_a_few_steps_are_not_worth_it(ways):
    trained(members(replace(DESCENT, steps=5), TwoLayer(4), 1, range(2)))
    member = members(DESCENT, TwoLayer(4), 1, [0])[0]
    train([member], [frozenset()], IGNORE, until=5)
    assert ways == [False, False]


def test_members_that_leave_do_not_disturb_the_others():
    """A diverged member is frozen, and the rest goes on from another record."""
    wild, tame = replace(SQUARES, learning_rate=1e6), SQUARES
    network = FullyConnected(10)
    group = [*members(tame, network, 2, [0]), *members(wild, network, 2, [1]), *members(tame, network, 2, [2])]
    trained(group, stops=[8, 16])
    assert [member.diverged for member in group] == [False, True, False]
    for member, seed in ((group[0], 0), (group[2], 2)):
        same(member, trained(members(tame, network, 2, [seed]))[0])
    assert group[1].step == trained(members(wild, network, 2, [1]))[0].step


@dataclass(frozen=True)
class Staged(GradientDescent):
    """A second stage, which those whose readout is small enter early."""

    enough: float = 0.0

    def stages(self):
        return Stage("first", 4, None, check_every=2), Stage("second", STEPS, None)

    def transition(self, view):
        small = view.params["output.weight"].norm() < self.enough
        return view.enter(1) if view.stage == 0 and small else super().transition(view)


def test_two_groups_that_take_the_same_steps_in_turns(ways, plain):
    """At different steps of the same stage, on different samples: one record serves both."""
    network = FullyConnected(10)

    def pair() -> list[Member]:
        rules = (Staged(STEPS, 0.001, loss=Squared(), enough=enough) for enough in (0.0, 1e9))
        return [members(rule, network, 2, [seed])[0] for seed, rule in enumerate(rules)]

    exact, ours = plain(pair()), trained(pair(), stops=[5, 10, 15, 20])
    assert [member.step for member in ours] == [STEPS + 4, STEPS + 2]
    assert ways[-1]
    all_same(exact, ours)


def swish(z: torch.Tensor) -> torch.Tensor:
    return z * torch.sigmoid(z)


def changed_in_place(z: torch.Tensor) -> torch.Tensor:
    return (z * 2).tanh_()


@pytest.mark.parametrize(("function", "recorded"), [(swish, True), (changed_in_place, False)])
def test_a_users_own_activation(function, recorded, ways, plain):
    """Written down where it can be, taken as it is where not."""
    case = SQUARES, FullyConnected(10, activation=FromFunction(function, torch.ones_like, "own")), 2
    exact = plain(members(*case, range(2)))
    all_same(exact, trained(members(*case, range(2))))
    assert ways[-1] == recorded


@dataclass(frozen=True)
class Looks(GradientDescent):
    """A step that asks Python for something on the way: what it answers is not in the record."""

    def step(self, stage, network, params, buffers, optimiser, batch, noise, hyper):
        drift = torch.zeros(()) if torch.zeros(1).item() else torch.ones(())
        result = super().step(stage, network, params, buffers, optimiser, batch, noise, hyper)
        return result._replace(loss=result.loss * drift)


def test_a_number_read_back_is_not_repeated(ways, plain):
    case = Looks(STEPS, 0.01, 6, loss=Squared()), FullyConnected(10), 2
    exact = plain(members(*case, range(2)))
    all_same(exact, trained(members(*case, range(2))))
    assert not ways[-1]


def test_a_record_that_comes_out_otherwise_is_thrown_away(monkeypatch, ways, plain):
    """The last line of defence: an operation bound wrongly."""
    from beyondkernels.engine import replay

    case = SQUARES, FullyConnected(10), 2
    exact = plain(members(*case, range(2)))
    wrong = {**replay._INTO, torch.ops.aten.add.Tensor: torch.sub}
    monkeypatch.setattr(replay, "_INTO", wrong)
    all_same(exact, trained(members(*case, range(2))))
    assert not ways[-1]


def test_a_step_too_large_to_be_kept_is_not_written_down(monkeypatch, ways):
    monkeypatch.setattr(tape, "_BYTES", 1000)
    trained(members(SQUARES, FullyConnected(10), 2, range(2)))
    assert not ways[-1]


def test_modules_are_not_written_down(ways):
    """They may look at numbers, or keep some, and nobody can see it from outside."""
    network = FromModule(lambda d, k: torch.nn.Sequential(torch.nn.Linear(d, 4), torch.nn.Linear(4, k)), "small")
    trained(members(SQUARES, network, 2, range(2)))
    assert not any(ways)


@dataclass(frozen=True)
class Remembering(GradientDescent):
    """Keeps the parameters it came from, or lets two parts of the state change places."""

    swap: bool = False

    def optimiser_state(self, stage, params):
        old = {f"old.{name}": torch.zeros_like(value) for name, value in params.items()}
        return old | ({"a": torch.zeros(3), "b": torch.ones(3)} if self.swap else {})

    def step(self, stage, network, params, buffers, optimiser, batch, noise, hyper):
        velocity = {name: torch.zeros_like(value) for name, value in params.items()}
        result = super().step(stage, network, params, buffers, velocity, batch, noise, hyper)
        old = {f"old.{name}": value + 0 for name, value in params.items()}
        return result._replace(optimiser=old | ({"a": optimiser["b"], "b": optimiser["a"]} if self.swap else {}))


@pytest.mark.parametrize("swap", [False, True])
def test_state_that_is_needed_to_the_end(swap, plain, ways):
    case = Remembering(STEPS, 0.01, 6, loss=Squared(), swap=swap), FullyConnected(10), 2
    exact = plain(members(*case, range(2)))
    for one, other in zip(exact, trained(members(*case, range(2))), strict=True):
        same(one, other)
        assert not torch.equal(other.params["output.weight"], other.optimiser["old.output.weight"])
    assert ways[-1] != swap  # one part cannot be written over the other

"""What every optimiser owes the engine, and what the usual ones owe to torch.optim."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import optimisers
from beyondkernels.algorithms.optimisers import (
    Adam,
    Chain,
    Change,
    ClipNorm,
    Constant,
    Cosine,
    Decay,
    Drops,
    GradientNoise,
    Linear,
    Momentum,
    Optimiser,
    Power,
    Rate,
    Shrink,
    WarmUp,
    adam,
    adamw,
    chain,
    descend,
    sgd,
)
from beyondkernels.core import Stream

OPTIMISERS: dict[str, Optimiser] = {
    "rate": Rate(Drops(0.3, (4,))),
    "decay": Decay(0.1),
    "shrink": Shrink(0.9),
    "clip": ClipNorm(0.5),
    "noise": GradientNoise(Power(0.1, 0.55)),
    "momentum": Momentum(0.9),
    "nesterov": Momentum(0.9, nesterov=True),
    "decayed momentum": Momentum(0.9, decay=0.01),
    "adam": Adam((0.8, 0.95)),
    "sgd": sgd(0.1, 0.9, 0.01, nesterov=True),
    "adam with a rate": adam(Cosine(0.1, 20)),
    "adamw": adamw(WarmUp(3, Linear(0.1, 9)), 0.05),
    "all": chain(
        chain(ClipNorm(0.5), GradientNoise(0.1), Decay(0.1), Momentum(0.5, decay=0.2), Momentum(0.3)),
        chain(Adam(), Decay(0.01), Shrink(0.99), GradientNoise(0.2), Rate(0.1)),
    ),
}
SHAPES = {"W": (9, 17), "b": (9,), "a": (3, 9)}
TRAINED = ("W", "a")


@pytest.fixture(params=OPTIMISERS, ids=str)
def rule(request) -> Optimiser:
    return OPTIMISERS[request.param]


def given(rule: Optimiser, seed: int, dtype: torch.dtype = torch.float32, step: int = 5) -> tuple[Any, ...]:
    """Gradient, state, parameters, numbers and noise of a step in the middle."""
    stream = Stream(seed).at(step)
    params = {name: stream.child("p", name).normal(*shape, dtype=dtype) for name, shape in SHAPES.items()}
    gradient = {name: stream.child("g", name).normal(*SHAPES[name], dtype=dtype) for name in TRAINED}
    state = {name: value + 0.5 for name, value in rule.state(params).items()}
    numbers = {name: torch.tensor(v[0], dtype=dtype) for name, v in rule.hyper_of(range(step, step + 1)).items()}
    noise = rule.noise({name: params[name] for name in TRAINED}, stream.child("noise"))
    return gradient, state, params, numbers, noise


def test_members_take_the_same_step_alone_and_in_company(rule):
    members = [given(rule, seed) for seed in range(9)]
    step = torch.func.vmap(functools.partial(descend, rule))

    def stacked(parts):
        return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}

    together = step(*(stacked(part) for part in zip(*members, strict=True)))
    for i, member in enumerate(members):
        alone = step(*(stacked([part]) for part in member))
        for ours, theirs in zip(together, alone, strict=True):
            assert ours.keys() == theirs.keys()
            assert all(torch.equal(ours[name][i], theirs[name][0]) for name in ours)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_names_shapes_and_kinds_stay(rule, dtype):
    gradient, state, params, numbers, noise = given(rule, 0, dtype)
    moved, after = descend(rule, gradient, state, params, numbers, noise)
    for before, later in ((params, moved), (state, after | {n: v for n, v in state.items() if n not in after})):
        kinds = [{n: (v.shape, v.dtype) for n, v in each.items()} for each in (before, later)]
        assert kinds[0] == kinds[1]
    assert torch.equal(moved["b"], params["b"])  # not trained
    assert all(not torch.equal(moved[name], params[name]) for name in TRAINED)


def test_numbers_of_many_steps_are_those_of_each(rule):
    for steps in (range(1, 13), range(4, 6), range(5, 6), range(9, 30)):
        many, one_by_one = rule.hyper_of(steps), [rule.hyper_of(range(step, step + 1)) for step in steps]
        assert many == {name: [each[name][0] for each in one_by_one] for name in one_by_one[0]}


def test_every_optimiser_is_here():
    used = {type(part) for rule in OPTIMISERS.values() for part in chain(rule).parts}
    known = {each for name in dir(optimisers) if isinstance(each := getattr(optimisers, name), type)}
    assert used | {Chain, Optimiser} == {each for each in known if issubclass(each, Optimiser)}


def quadratic(params: dict[str, torch.Tensor], step: int) -> torch.Tensor:
    """A loss with another curvature in every direction and another centre in every step."""
    total = torch.zeros((), dtype=torch.float64)
    for name, value in params.items():
        scales = torch.linspace(0.1, 3, value.numel(), dtype=torch.float64).reshape(value.shape)
        total = total + (scales * (value - torch.cos(torch.tensor(step + len(name), dtype=torch.float64))) ** 2).sum()
    return total


TORCH: dict[str, tuple[Chain, Callable[..., torch.optim.Optimizer]]] = {
    "plain": (sgd(0.05), lambda p: torch.optim.SGD(p, 0.05)),
    "momentum": (sgd(0.02, 0.9, 0.1), lambda p: torch.optim.SGD(p, 0.02, 0.9, weight_decay=0.1)),
    "nesterov": (
        sgd(0.02, 0.9, 0.1, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.02, 0.9, weight_decay=0.1, nesterov=True),
    ),
    "decay inside": (
        chain(Momentum(0.9, decay=0.1), Rate(0.02)),
        lambda p: torch.optim.SGD(p, 0.02, 0.9, weight_decay=0.1),
    ),
    "nesterov, decay inside": (
        chain(Momentum(0.9, nesterov=True, decay=0.1), Rate(0.02)),
        lambda p: torch.optim.SGD(p, 0.02, 0.9, weight_decay=0.1, nesterov=True),
    ),
    "adam": (adam(0.03), lambda p: torch.optim.Adam(p, 0.03)),
    "adam with other averages": (adam(0.03, (0.5, 0.9), 1e-3), lambda p: torch.optim.Adam(p, 0.03, (0.5, 0.9), 1e-3)),
    "adam with L2": (chain(Decay(0.2), Adam(), Rate(0.03)), lambda p: torch.optim.Adam(p, 0.03, weight_decay=0.2)),
    "adamw": (adamw(0.03, 0.2), lambda p: torch.optim.AdamW(p, 0.03, weight_decay=0.2)),
    "adamw by shrinking": (
        chain(Adam(), Rate(0.03), Shrink(1 - 0.03 * 0.2)),
        lambda p: torch.optim.AdamW(p, 0.03, weight_decay=0.2),
    ),
}
SCHEDULES: dict[str, tuple[Any, Any]] = {
    "constant": (Constant(0.04), lambda o: torch.optim.lr_scheduler.ConstantLR(o, 1.0)),
    "drops": (Drops(0.04, (50, 90)), lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [50, 90], 0.1)),
    "cosine": (Cosine(0.04, 200, 0.001), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 200, 0.001)),
    "linear": (Linear(0.04, 150, 0.01), lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.25, 150)),
    "power": (Power(0.04, 0.5), lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda t: (t + 1) ** -0.5)),
    "warm-up": (
        WarmUp(20, Cosine(0.04, 100)),
        lambda o: torch.optim.lr_scheduler.LambdaLR(
            o,
            lambda t: (t + 1) / 20 if t < 20 else 0.5 * (1 + torch.cos(torch.tensor(torch.pi * min(t - 20, 100) / 100,
                                                         dtype=torch.float64)).item()),
        ),
    ),
}  # fmt: skip


def compared(rule: Optimiser, theirs: Callable[..., Any], schedule: Any = None, clip: float | None = None) -> None:
    """Both for 200 steps in double precision, from one start."""
    params = {name: Stream(3).child(name).normal(*shape, dtype=torch.float64) for name, shape in SHAPES.items()}
    leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
    optimiser = theirs(list(leaves.values()))
    following = schedule(optimiser) if schedule is not None else None
    state = rule.state(params)
    for t in range(200):
        numbers = {n: torch.tensor(v[0], dtype=torch.float64) for n, v in rule.hyper_of(range(t + 1, t + 2)).items()}
        gradient = torch.func.grad(lambda p, t=t: quadratic(p, t))(params)
        params, after = descend(rule, gradient, state, params, numbers, {})
        state |= after
        optimiser.zero_grad()
        quadratic(leaves, t).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(list(leaves.values()), clip)
        optimiser.step()
        if following is not None:
            following.step()
        for name, value in leaves.items():
            torch.testing.assert_close(params[name], value.detach(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", TORCH)
def test_against_torch(name):
    compared(*TORCH[name])


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_against_torch(name):
    ours, theirs = SCHEDULES[name]
    compared(adam(ours), lambda p: torch.optim.Adam(p, 0.04), theirs)
    assert ours.over(range(7, 160)) == [ours.at(step) for step in range(7, 160)]


def test_clipping_against_torch():
    compared(chain(ClipNorm(1.5), sgd(0.05, 0.9)), lambda p: torch.optim.SGD(p, 0.05, 0.9), clip=1.5)
    small, zero = ({"W": torch.full((2, 2), value)} for value in (0.1, 0.0))
    for gradient in (small, zero):
        change, _ = ClipNorm(1.0).update(Change(gradient), {}, {}, {"most": torch.tensor(1.0)}, {})
        assert torch.equal(change.direction["W"], gradient["W"])


def test_noise_is_that_of_its_stream():
    rule, params = chain(GradientNoise(0.5), GradientNoise(0.25), Rate(1.0)), {"W": torch.zeros(40, 50)}
    drawn = rule.noise(params, Stream(1).at(3))
    one, two = (Stream(1).at(3).child(str(i), "W").normal(40, 50) for i in (0, 1))
    assert drawn.keys() == {"noise/W", "1:noise/W"}
    assert torch.equal(drawn["noise/W"], one)
    numbers = {name: torch.tensor(v[0]) for name, v in rule.hyper_of(range(3, 4)).items()}
    moved, _ = descend(rule, {"W": torch.ones(40, 50)}, {}, params, numbers, drawn)
    torch.testing.assert_close(moved["W"], -(1 + 0.5 * one + 0.25 * two))
    assert float((one * two).mean()) == pytest.approx(0, abs=0.1)


def test_parts_with_the_same_names_are_kept_apart():
    rule, params = chain(Momentum(0.9), Momentum(0.5), Rate(1.0)), {"W": torch.zeros(2)}
    state = rule.state(params)
    assert state.keys() == {"W", "1:W"}
    numbers = {name: torch.tensor(v[0]) for name, v in rule.hyper_of(range(1, 2)).items()}
    v, u, w = 0.0, 0.0, 0.0
    for g in (1.0, -2.0, 3.0):
        params, state = descend(rule, {"W": torch.full((2,), g)}, state, params, numbers, {})
        v = 0.9 * v + g
        u = 0.5 * u + v
        w -= u
        assert params["W"].tolist() == pytest.approx([w, w])


def test_shrinking_to_nothing_is_exact():
    rule, params = chain(Rate(1.0), Shrink(0.0)), {"W": torch.tensor([1e20])}
    moved, _ = descend(
        rule, {"W": torch.tensor([1.5])}, {}, params, {"rate": torch.tensor(1.0), "keep": torch.tensor(0.0)}, {}
    )
    assert moved["W"].tolist() == [-1.5]


@pytest.mark.parametrize(
    "rule",
    [
        chain(Adam(), Rate(0.1)),
        chain(Decay(0.3), Adam(), Rate(0.1)),
        chain(Adam(), Decay(0.3, (("a", 1.0), ("b", 0.5))), Rate(0.1)),
        chain(Decay(0.3), Momentum(0.9), Rate(0.1)),
        chain(Momentum(0.9, nesterov=True, decay=0.1), Rate(0.1)),
        chain(Adam(), ClipNorm(0.5), Shrink(0.9), Rate(0.1)),
        chain(Rate(0.1), Decay(0.2)),
    ],
    ids=repr,
)
def test_steps_in_place_are_the_same_steps(rule):
    params = {name: Stream(0).child(name).normal(3, 2) for name in ("a", "b", "c.bias")}
    pure, state = dict(params), rule.state(params)
    own, held = {name: value.clone() for name, value in params.items()}, rule.state(params)
    for step in range(1, 6):
        gradient = {name: Stream(1).child(name).at(step).normal(3, 2) for name in params}
        numbers = {name: torch.tensor(values[0]) for name, values in rule.hyper_of(range(step, step + 1)).items()}
        kept = {name: value.clone() for name, value in gradient.items()}
        pure, state = descend(rule, gradient, state, pure, numbers, {})
        held = descend(rule, gradient, held, own, numbers, {}, alone=True)[1]
        assert all(torch.equal(value, kept[name]) for name, value in gradient.items())  # others may hold a gradient
    assert set(held) == set(state)
    for ours, theirs in ((own, pure), (held, state)):
        assert all(torch.allclose(ours[name], theirs[name], rtol=1e-5, atol=1e-6) for name in theirs)
    assert not torch.equal(pure["a"], params["a"])


def test_updates_are_pure(rule):
    first, again = given(rule, 0), given(rule, 0)
    ours, theirs = descend(rule, *first), descend(rule, *first)
    for one, other in (*zip(ours, theirs, strict=True), *zip(first, again, strict=True)):
        assert all(torch.equal(one[name], other[name]) for name in one)

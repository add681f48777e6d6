"""Streams: pure functions of (seed, name, step), wide keys, right moments."""

import itertools
import math

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream, seeded_globally

SEEDS = (0, 1, -1, 5, 5 + 2**32, 5 + 2**33, 5 + 2**64, 5 + 2**200, 2**32 - 1)
NAMES = ((), ("a",), ("b",), ("a", "b"), ("ab",), ("a/b",), ("a, b",), ("", "ab"), ("b", "a"))
STEPS = (0, 1, 2, 2**32, 2**64, 2**100)
DRAWS = {
    "normal": lambda stream: stream.normal(3, 4),
    "normal64": lambda stream: stream.normal(3, 4, dtype=torch.float64),
    "uniform": lambda stream: stream.uniform(12),
    "bernoulli": lambda stream: stream.bernoulli(0.5, 64),
    "integers": lambda stream: stream.integers(10**9, 2, 6),
    "permutation": lambda stream: stream.permutation(30),
}

GOLDEN_UNIFORM = [0.7108282027398449, 0.6493296332620214]
GOLDEN_NORMAL = [-1.705837368965149, 0.8359251618385315, -0.4589587152004242]
GOLDEN_INTEGERS = [842, 710, 184, 649, 602]
GOLDEN_PERMUTATION = [5, 1, 2, 7, 4, 6, 3, 0]
GOLDEN_BERNOULLI = [0, 0, 0, 1, 0, 1, 1, 1]
GOLDEN_GLOBAL = [781551464, 1658071177]


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_asked_twice_gives_the_same(draw):
    """Also after other streams were asked, and through another way to the same (seed, name, step)."""
    stream = Stream(7).child("noise").at(3)
    first = draw(stream)
    draw(Stream(8))
    draw(stream.child("below"))
    assert torch.equal(draw(stream), first)
    assert torch.equal(draw(Stream(7).at(3).child("noise")), first)
    assert torch.equal(draw(Stream(7, ("noise",), 3)), first)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_every_part_of_the_identity_matters(draw):
    streams = [
        *(Stream(seed) for seed in SEEDS),
        *(Stream(0, name) for name in NAMES[1:]),
        *(Stream(0, step=step) for step in STEPS[1:]),
        *(Stream(0, ("a",), step) for step in STEPS[1:]),
    ]
    for one, other in itertools.combinations(streams, 2):
        assert not torch.equal(draw(one), draw(other)), f"{one} and {other} draw the same"


def test_seeds_that_torch_would_confuse():
    """A torch generator keeps 32 bits of its seed; these agree in them."""
    drawn = [Stream(5 + k * 2**32).uniform(8, dtype=torch.float64) for k in range(4)]
    assert len({tuple(each.tolist()) for each in drawn}) == 4
    with seeded_globally(Stream(5)):
        one = torch.rand(8)
    with seeded_globally(Stream(5 + 2**32)):
        assert not torch.equal(torch.rand(8), one)


def test_any_kind_of_integer_is_a_seed_and_nothing_else():
    assert torch.equal(Stream(np.int64(4)).normal(3), Stream(4).normal(3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        Stream(4.5).normal(3)  # pyright: ignore[reportArgumentType]


def test_moments_of_normal_numbers():
    """Mean, variance, third and fourth moment within four standard errors."""
    n = 200_000
    for dtype in (torch.float32, torch.float64):
        z = Stream(11).child("moments").normal(n, dtype=dtype).double()
        assert z.mean().item() == pytest.approx(0, abs=4 / math.sqrt(n))
        assert (z**2).mean().item() == pytest.approx(1, abs=4 * math.sqrt(2 / n))
        assert (z**3).mean().item() == pytest.approx(0, abs=4 * math.sqrt(15 / n))
        assert (z**4).mean().item() == pytest.approx(3, abs=4 * math.sqrt(96 / n))


def test_moments_of_uniform_numbers():
    n = 200_000
    u = Stream(12).uniform(n, dtype=torch.float64)
    assert u.min() >= 0 and u.max() < 1
    assert u.mean().item() == pytest.approx(0.5, abs=4 * math.sqrt(1 / 12 / n))
    assert (u**2).mean().item() == pytest.approx(1 / 3, abs=4 * math.sqrt(4 / 45 / n))


def test_bernoulli_follows_each_probability():
    n = 50_000
    p = torch.tensor([0.0, 0.1, 0.5, 0.75, 1.0])
    draws = Stream(13).bernoulli(p, n, 5)
    assert draws.dtype == torch.int8
    assert set(draws.unique().tolist()) == {0, 1}
    error = (draws.double().mean(0) - p.double()).abs()
    assert (error <= 4 * (p.double() * (1 - p.double()) / n).sqrt()).all()


def test_integers_are_uniform():
    """The χ² statistic with six degrees of freedom: 35 has probability 4e-6."""
    n = 70_000
    counts = torch.bincount(Stream(14).integers(7, n), minlength=7)
    assert len(counts) == 7
    assert ((counts - n / 7) ** 2 / (n / 7)).sum().item() < 35


def test_permutation_is_a_uniform_permutation():
    order = Stream(15).permutation(1000)
    assert sorted(order.tolist()) == list(range(1000))
    assert order.dtype == torch.int64
    seen: dict[tuple[int, ...], int] = {}
    n = 3000
    for step in range(n):
        drawn = tuple(Stream(15).at(step).permutation(3).tolist())
        seen[drawn] = seen.get(drawn, 0) + 1
    assert len(seen) == 6
    assert sum((count - n / 6) ** 2 / (n / 6) for count in seen.values()) < 32  # χ² with 5 degrees: 6e-6


def test_streams_are_not_correlated():
    n = 100_000
    base = Stream(16).child("a")
    others = (base.at(1), Stream(17).child("a"), Stream(16).child("b"), Stream(16 + 2**32).child("a"))
    z = base.normal(n).double()
    for other in others:
        assert (z * other.normal(n).double()).mean().item() == pytest.approx(0, abs=4 / math.sqrt(n))


def test_golden_numbers():
    """These may change only together with the revision of every component that draws."""
    stream = Stream(1, ("golden",), 2)
    assert stream.uniform(2, dtype=torch.float64).tolist() == GOLDEN_UNIFORM
    assert stream.normal(3).tolist() == GOLDEN_NORMAL
    assert stream.integers(1000, 5).tolist() == GOLDEN_INTEGERS
    assert stream.permutation(8).tolist() == GOLDEN_PERMUTATION
    assert stream.bernoulli(0.5, 8).tolist() == GOLDEN_BERNOULLI
    with seeded_globally(stream):
        assert torch.randint(0, 2**31, (2,)).tolist() == GOLDEN_GLOBAL


def test_seeded_globally_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    drawn = []
    for seed in (0, 1, 0):
        with seeded_globally(Stream(seed)):
            drawn.append(torch.randn(4))
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[1])


def test_seeded_globally_restores_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="on purpose"), seeded_globally(Stream(1)):
        torch.randn(4)
        raise RuntimeError("on purpose")
    assert torch.equal(torch.get_rng_state(), before)


def test_drawing_touches_no_global_generator():
    before, numpys = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002  # pyright: ignore
    for draw in DRAWS.values():
        draw(Stream(0))
    assert torch.equal(torch.get_rng_state(), before)
    assert (np.random.get_state()[1] == numpys).all()  # noqa: NPY002  # pyright: ignore


@pytest.mark.parametrize("steps", [range(3), range(5, 9), range(2**64 - 1, 2**64 + 2)])
def test_many_permutations_are_those_of_each_step(steps):
    stream = Stream(3).child("batches", "0")
    together = stream.permutations(17, steps)
    assert together.shape == (len(steps), 17)
    for row, step in zip(together, steps, strict=True):
        assert row.tolist() == stream.at(step).permutation(17).tolist()


@pytest.mark.parametrize("steps", [range(3), range(5, 9), range(2**64 - 1, 2**64 + 2)])
@pytest.mark.parametrize("count", [1, 4])
def test_many_integers_are_those_of_each_step(steps, count):
    stream = Stream(3).child("batches", "0")
    together = stream.integers_of(17, count, steps)
    assert together.shape == (len(steps), count)
    for row, step in zip(together, steps, strict=True):
        assert row.tolist() == stream.at(step).integers(17, count).tolist()

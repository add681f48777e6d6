"""Members that train on one backend or the other, cut into pieces or not, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from beyondkernels.algorithms import Algorithm
from beyondkernels.core import Outcome, Sample, Stream, Tensors
from beyondkernels.engine import Member, train
from beyondkernels.networks import Network
from fitting import Sized

D, K, N = 7, 3, 40


def sample(n: int = N, seed: int = 0, d: int = D, k: int = K) -> Sample:
    stream = Stream(seed)
    return Sample(stream.child("x").normal(n, d), stream.child("y").normal(n, k))


@dataclass(frozen=True)
class Given(Sized):
    """Such samples as a problem."""

    in_dim: int = D
    out_dim: int = K

    def sample(self, n: int, stream: Stream) -> Sample:
        return sample(n, 0, self.in_dim, self.out_dim)


def started(
    network: Network, rule: Algorithm, data: Sample, stream: Stream | None = None, backend: Any = "eager"
) -> Member:
    """A member at its first step, with as many inputs and outputs as its points have."""
    member = Member(network, rule, data, stream or Stream(1), backend)
    in_dim = data.x.shape[1] if data.x.ndim == 2 else tuple(data.x.shape[1:])
    member.start(in_dim, data.y.reshape(len(data), -1).shape[1])
    return member


def finished(member: Member, stops: Iterable[int] = (), until: int | None = None) -> Member:
    with torch.no_grad():
        train([member], [frozenset(stops)], lambda _: None, until)
    return member


def gap(one: Tensors, other: Tensors) -> float:
    """The largest difference, relative to the largest entry of its tensor."""
    assert one.keys() == other.keys()
    return max(float((one[name] - value).abs().max() / (value.abs().max() + 1e-30)) for name, value in other.items())


def assert_diverged_together(compiled: Member, eager: Member, steps: int) -> None:
    """Overflow may come a step sooner or later in another order of sums."""
    assert compiled.diverged
    assert eager.diverged
    assert 1 < compiled.step < steps
    assert abs(compiled.step - eager.step) <= 1


def assert_same(one: Outcome, other: Outcome) -> None:
    """The two outcomes are equal to the bit."""
    assert (one.status, one.scalars) == (other.status, other.scalars)
    for part in ("series", "arrays"):
        ours, theirs = getattr(one, part), getattr(other, part)
        assert ours.keys() == theirs.keys()
        for name, values in ours.items():
            assert values.dtype == theirs[name].dtype
            np.testing.assert_array_equal(values, theirs[name], err_msg=name)

"""Randomness as a pure function of (seed, stream name, step)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import operator
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

_WORD = 2**64 - 1


@dataclass(frozen=True)
class Stream:
    r"""A counter-based random stream with a name.

    The key is the 128-bit BLAKE2 hash of (seed, name); the step is the upper half of Philox's 256-bit counter,
    so every (seed, name, step) has :math:`2^{128}` blocks of its own. A stream holds no state: the same call gives the
    same numbers again.

    Arguments:
        seed: any integer.
        name: the path of names below the seed.
        step: the position in time.

    >>> noise = Stream(0).child("noise")
    >>> bool((noise.at(3).normal(4) == noise.at(3).normal(4)).all())
    True
    >>> bool((noise.at(3).normal(4) == noise.at(4).normal(4)).any())
    False
    """

    seed: int
    name: tuple[str, ...] = ()
    step: int = 0

    def child(self, *names: str) -> Stream:
        """The stream of that name below this one."""
        return Stream(self.seed, (*self.name, *names), self.step)

    def at(self, step: int) -> Stream:
        """The same stream at another step."""
        return Stream(self.seed, self.name, step)

    def generator(self) -> np.random.Generator:
        """A fresh NumPy generator at the start of this (seed, name, step)."""
        # A counter-based generator: any step can be reached at once. The step fills the upper half of the counter, so
        # the draws of one step would have to exceed 2¹²⁸ blocks before they met those of the next.
        return np.random.Generator(np.random.Philox(key=self._key(), counter=self.step << 128))

    def _key(self) -> int:
        # As a list and not joined by a separator, which might itself occur in a name.
        identity = json.dumps([operator.index(self.seed), list(self.name)]).encode()
        return int.from_bytes(hashlib.blake2b(identity, digest_size=16).digest(), "little")

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Independent standard normal numbers."""
        return torch.from_numpy(self.generator().standard_normal(shape, dtype=_float(dtype)))

    def uniform(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Independent numbers, uniform on [0, 1)."""
        return torch.from_numpy(self.generator().random(shape, dtype=_float(dtype)))

    def bernoulli(self, probability: torch.Tensor | float, *shape: int) -> torch.Tensor:
        """Independent zeros and ones (int8), one with the given probability (broadcast against the shape)."""
        threshold = torch.as_tensor(probability, dtype=torch.float64)
        # In double precision, because probabilities such as 1e-9 are not told from 0 by 24 bits.
        return (self.uniform(*shape, dtype=torch.float64) < threshold).to(torch.int8)

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        """Independent integers, uniform on 0, …, high − 1."""
        return torch.from_numpy(self.generator().integers(high, size=shape, dtype=np.int64))

    def permutation(self, n: int) -> torch.Tensor:
        """A uniform permutation of 0, …, n − 1."""
        return torch.from_numpy(self.generator().permutation(n))

    def permutations(self, n: int, steps: range) -> torch.Tensor:
        """The permutations of many steps, one in each row: faster than ``at(step).permutation(n)`` for each step.

        Arguments:
            n: the length of each permutation.
            steps: consecutive steps.
        """
        orders = np.empty((len(steps), n), dtype=np.int64)
        for row, generator in zip(orders, self._generators(steps), strict=True):
            row[:] = generator.permutation(n)
        return torch.from_numpy(orders)

    def integers_of(self, high: int, count: int, steps: range) -> torch.Tensor:
        """The integers of many steps, one row for each step: faster than ``at(step).integers(high, count)`` for each.

        Arguments:
            high: one more than the largest integer.
            count: how many for each step.
            steps: consecutive steps.
        """
        drawn = np.empty((len(steps), count), dtype=np.int64)
        for row, generator in zip(drawn, self._generators(steps), strict=True):
            row[:] = generator.integers(high, size=count, dtype=np.int64)
        return torch.from_numpy(drawn)

    def _generators(self, steps: range) -> Iterator[np.random.Generator]:
        """The generator at each step: one object, because setting its counter is cheaper than making another one."""
        philox = np.random.Philox(key=self._key())
        generator, fresh = np.random.Generator(philox), philox.state
        for step in steps:
            fresh["state"]["counter"][2:] = (step & _WORD, step >> 64)
            # The saved state also empties the buffer of numbers not used yet, which would otherwise leak into the next
            # step.
            philox.state = fresh
            yield generator


@contextlib.contextmanager
def seeded_globally(stream: Stream) -> Iterator[None]:
    """Fork torch's global generator and seed it from a stream. Only for constructors of modules that are not ours."""
    with seeded_by(int(stream.generator().integers(2**32))):
        yield


@contextlib.contextmanager
def seeded_by(seed: int, everywhere: bool = False) -> Iterator[None]:
    """Fork torch's global generator and seed it by a number. Only for modules that are not ours.

    Arguments:
        seed: any number.
        everywhere: whether to do so on the other devices too.
    """
    if everywhere:
        with torch.random.fork_rng():
            torch.manual_seed(seed % 2**63)
            yield
        return
    # what fork_rng does for the processor, in a tenth of its time: a small network's step is hardly longer than that
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(seed % 2**63)
    try:
        yield
    finally:
        torch.default_generator.set_state(before)


def _float(dtype: torch.dtype) -> type[np.float32] | type[np.float64]:
    return {torch.float32: np.float32, torch.float64: np.float64}[dtype]

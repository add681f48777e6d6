"""Explicit predictors of a kernel, and their risks in whole numbers: a second route to best risks at large d."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import torch

from beyondkernels.certificates.coefficients import profile_of
from beyondkernels.certificates.degree_span import DegreeSpan
from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.certificates.span import Parity
from beyondkernels.core import InputError
from beyondkernels.kernels import Kernel
from beyondkernels.papers.resnet.problems.hard import HardInstance

_CHUNK = 40
"""Bits of a weight that are multiplied at once: sums of fewer than 2^13 such numbers are exact in float64."""

_GUARD = 64
"""Bits beyond those that the kernel's coefficients ask for."""

_CLOSE = 1e-14
"""Weights are near enough to the best ones if better ones would gain no more than this, the parity having norm 1."""

_ORTHOGONAL = 1e-12
"""How small inner products of a residual with the functions must be, relative to those of the parity itself.

With so small ones, a direction that the span has missed cannot lower a risk by more than 1e-12, unless its part in the
parity's degree is below 1e-12 of the whole.
"""

_ROUNDS = 12

_ROWS = 1024
"""Training points whose inner products with all others are summed at once."""

Whole = Any
"""An array of Python's whole numbers of any size."""


@dataclass(frozen=True)
class Explicit:
    """Risks of explicit predictors.

    Arguments:
        risks: for each target. No best risk is above them.
        gain: by how much better weights could lower one of them, about.
    """

    risks: list[float]
    gain: float


def explicit_risks(kernel: Kernel, problem: HardInstance, span: DegreeSpan, targets: Sequence[Parity]) -> Explicit:
    r"""The risks of predictors whose weights are written down, for some targets.

    The span proposes weights and improves them, until the residual is orthogonal to all functions K(·, x⁽ⁿ⁾) as far as
    that can change a risk. Their risks are computed from the kernel's values on the cube in whole numbers,

    .. math:: \|\chi - \textstyle\sum_n w_n K_n\|^2 = 1 - 2\langle w, b\rangle + w^\top G w

    and from nothing that the span has computed. A span with a wrong basis or wrong coefficients proposes weights that
    are not the best, and then the risks are larger than those that the span states.

    Arguments:
        kernel: K.
        problem: gives α, β and the scale of points.
        span: of the functions of the training points.
        targets: the sets S.
    """
    n, d = span.signs.shape
    profile = profile_of(kernel, problem.dim, d)
    largest = max(abs(value) for value in profile.values)
    lost = 2 * math.ceil(float(mpmath.log(largest / span.least_coefficient, 2)))  # to the ratio of Gram eigenvalues
    gram = WholeGram(profile.values, span.signs, lost + _GUARD + d.bit_length())
    parities = sorted({*((i,) for S in targets for i in S), *targets}, key=lambda T: (len(T), T))
    weights = Weights(gram, span, float(largest), parities, lost + _GUARD + n.bit_length())
    gain = weights.improve()
    captured = weights.captured()
    place = {T: i for i, T in enumerate(parities)}
    alpha, beta, k = problem.alpha, problem.beta, problem.outputs
    risks = []
    for S in targets:
        s, linear = place[S], [place[i,] for i in S]
        found = beta**2 * sum(captured[i, i] for i in linear) + k * alpha**2 * captured[s, s]
        found += 2 * alpha * beta * sum(captured[i, s] for i in linear)
        risks.append(k * (alpha**2 + beta**2) - float(found))
    return Explicit(risks, 2 * k * (alpha**2 + beta**2) * gain)


class WholeGram:
    r"""The inner products of the functions K(·, a) in whole numbers, by counting points instead of degrees.

    A point x that differs from a in i of the h coordinates where a and b differ, and in j of the others, has the
    distances i + j and h − i + j. So

    .. math:: E\,K(x, a)K(x, b) = 2^{-d} \sum_{i,j} \binom hi \binom{d-h}j\,\kappa(i + j)\,\kappa(h - i + j), \qquad
              E\,K(x, a)\chi_T(x) = \chi_T(a)\,2^{-d} \sum_h \kappa(h)\,\mathcal K_h(|T|)

    κ is divided by its largest value and rounded to so many bits. Everything else is exact.

    Arguments:
        profile: κ(0), …, κ(d), numbers of mpmath.
        signs: the training points, shape (n, d).
        bits: of κ.
    """

    def __init__(self, profile: Sequence[Any], signs: torch.Tensor, bits: int):
        d = signs.shape[1]
        self._signs = signs
        with mpmath.workprec(bits + _GUARD):
            largest = max(abs(value) for value in profile)
            self._kappa = [int(mpmath.nint(value / largest * 2**bits)) for value in profile]
        self._distances = ((d - signs @ signs.T) / 2).round().to(torch.int16).numpy()
        self._products = {h: self._product(h, d) for h in np.unique(self._distances).tolist()}
        self.target_bits, self.gram_bits = d + bits, d + 2 * bits
        """Target and Gram matrix are whole numbers over two to the power of this."""

    def target(self, T: Parity) -> Whole:
        """E K(x, a)χ_T(x) for every training point."""
        row = krawtchouk(self._signs.shape[1])
        scale = sum(kappa * row[h][len(T)] for h, kappa in enumerate(self._kappa))
        return np.array([scale * int(sign) for sign in self._signs[:, list(T)].prod(1).tolist()], dtype=object)

    def times(self, weights: Whole) -> Whole:
        """The Gram matrix times columns of whole numbers, exactly."""
        parts = _parts(weights)
        out = np.zeros(weights.shape, dtype=object)
        for start in range(0, len(weights), _ROWS):
            rows = slice(start, start + _ROWS)
            for h, product in self._products.items():
                mask = (self._distances[rows] == h).astype(float)
                sums = [(mask @ part).astype(np.int64).astype(object) << (_CHUNK * i) for i, part in enumerate(parts)]
                out[rows] += sum(sums) * product
        return out

    def _product(self, h: int, d: int) -> int:
        kappa = self._kappa
        among, beside = ([math.comb(size, i) for i in range(size + 1)] for size in (h, d - h))
        return sum(
            one * sum(other * kappa[i + j] * kappa[h - i + j] for j, other in enumerate(beside))
            for i, one in enumerate(among)
        )


class Weights:
    """Weights of one predictor for each of some parities, in whole numbers.

    Arguments:
        gram: of the functions, divided by the kernel's largest value.
        span: that proposes weights.
        largest: the kernel's largest value.
        parities: what is to be predicted.
        bits: of the largest weight.
    """

    def __init__(self, gram: WholeGram, span: DegreeSpan, largest: float, parities: Sequence[Parity], bits: int):
        self._gram, self._span, self._largest = gram, span, largest
        self._target = np.stack([gram.target(T) for T in parities], 1)
        first = largest * span.weights(largest * _floats(self._target, gram.target_bits))[0]
        self._bits = bits - math.frexp(float(first.abs().max()))[1]
        self._values = _whole(first, self._bits)
        self._image = gram.times(self._values)

    def improve(self) -> float:
        """Improve the weights until better ones would gain next to nothing; how much they would gain, about."""
        scale = self._gram.gram_bits + self._bits
        wanted = self._target << (scale - self._gram.target_bits)
        least = float(self._span.least_coefficient) / self._largest
        enough = _ORTHOGONAL * _floats(wanted, scale).norm(dim=0).clamp(min=_ORTHOGONAL * least)
        parallel = gained = math.inf
        for _ in range(_ROUNDS):
            residual = _floats(wanted - self._image, scale)
            more, gain = self._span.weights(self._largest * residual)
            parallel, gained = float((residual.norm(dim=0) / enough).max()), float(gain.max())
            if parallel <= 1 and gained <= _CLOSE:
                return gained
            self._values = self._values + _whole(self._largest * more, self._bits)
            self._image = self._gram.times(self._values)
        raise InputError(
            "no weights were found whose residual is orthogonal to all functions: its inner products with them are "
            f"{parallel * _ORTHOGONAL:.2g} of the parity's, and better weights would gain about {gained:.2g}"
        )

    def captured(self) -> Any:
        """⟨χ, f′⟩ + ⟨f, χ′⟩ − ⟨f, f′⟩ for the predictors f, f′ of every two parities χ, χ′."""
        scale = self._gram.gram_bits + 2 * self._bits
        inner = self._values.T.dot(self._target)
        both = (inner + inner.T) << (scale - self._bits - self._gram.target_bits)
        return _floats(both - self._values.T.dot(self._image), scale).numpy()


def _parts(values: Whole) -> list[np.ndarray]:
    """Whole numbers in pieces of some bits, the smallest first, as floats."""
    parts, base = [], 1 << _CHUNK
    while np.any(values != 0):
        rest = (values + base // 2) % base - base // 2
        parts.append(rest.astype(float))
        values = (values - rest) >> _CHUNK
    return parts or [np.zeros(values.shape)]


def _floats(values: Whole, bits: int) -> torch.Tensor:
    """Whole numbers over a power of two, rounded."""

    def rounded(value: int) -> float:
        drop = max(0, value.bit_length() - 64)
        return math.ldexp(float(value >> drop), drop - bits)

    return torch.tensor([[rounded(value) for value in row] for row in values.tolist()], dtype=torch.float64)


def _whole(values: torch.Tensor, bits: int) -> Whole:
    """Floats times a power of two, rounded to whole numbers."""

    def scaled(value: float) -> int:
        mantissa, exponent = math.frexp(value)
        shift = exponent - 53 + bits
        whole = int(math.ldexp(mantissa, 53))
        return whole << shift if shift >= 0 else whole >> -shift

    return np.array([[scaled(value) for value in row] for row in values.tolist()], dtype=object)

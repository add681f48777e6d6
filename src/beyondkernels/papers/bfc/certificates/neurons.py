"""How many neurons a two-layer polynomial network needs for a target of several layers: a bound from ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import torch

from beyondkernels.certificates.catalecticant import (
    LARGEST_MATRIX,
    factorial,
    indices,
    monomial_weight,
    nearest,
    sphere_norm,
    sphere_spectrum,
    spread,
    uniform_factor,
    uniform_tail,
    weighted_tails,
)
from beyondkernels.certificates.certificate import Certificate, Numbers, Verification
from beyondkernels.certificates.universal import require_alpha
from beyondkernels.core import Stream, require, require_positive, require_whole
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.papers.bfc.problems.hard import Shallow, even_target, require_depth

_LARGEST_TRIAL = 2000
"""The most monomials for which networks are tried in a verification."""

_LARGEST_TARGET, _DEEPEST_TARGET = 20, 4
"""The most coordinates and layers of the target from which a verification takes A."""

_REACH = 8.0
"""How far from zero that target is evaluated: so far that its highest power is the largest."""

_LARGEST_SIZE = 10**5
"""The most coordinates: far beyond, the rank leaves the range of float64."""

_LARGEST_RISK = 10**300
"""What float64 must hold."""


@dataclass(frozen=True)
class NeuronCertificate(Certificate):
    r"""Theorems I.6 and I.7 in a finite version: a lower bound on the risk of every network with r neurons.

    .. math:: h(x) = \sum_{i=1}^r \tilde\sigma_i\bigl(\langle w_i, z(x)\rangle + b_i\bigr), \qquad
              E\bigl(h(x) - G^*(x)\bigr)^2 \ge \sum_{i > r} s_i^2

    Theorem I.6 has :math:`z = (x, x^2)` and any polynomials :math:`\tilde\sigma_i` of degree :math:`2^{L-1}`, Theorem
    I.7 has z = x and degree :math:`2^L`. Targets are those of :func:`bk.bfc.even_target`. Their
    part of the highest degree is :math:`A \|u\|^{2q}` with u = x² or u = x, and that of the network is a sum of r
    powers :math:`a_i \langle w_i, u\rangle^{2q}`. The numbers s are the singular values of a matrix that the first
    gives, weighted so that its norm stays below the mean square under Gaussian inputs; the second gives one of rank at
    most r. See :func:`~beyondkernels.certificates.weighted_tails`. The bound is ours. The paper's has an open
    constant, and its Lemma I.5 is false as printed: see ``docs/certificates.md``.

    Arguments:
        neurons: r.
        dim: d.
        depth: L.
        alpha: α_L.
        theorem: ``I.6`` or ``I.7``.
        constant: what is taken for the absolute constant C of Lemma I.5, which the paper leaves open.

    >>> certificate = NeuronCertificate(neurons=3, dim=5, depth=2, alpha=1.0)
    >>> certificate.rank, round(certificate.risk, 9)
    (5, 16.0)

    Reference: Allen-Zhu & Li (bfc), Lemma I.5, Theorems I.6 and I.7.
    """

    neurons: int
    dim: int
    depth: int
    alpha: float
    theorem: Shallow = "I.6"
    constant: float = 1.0

    def __post_init__(self) -> None:
        require_depth(self.depth)
        require_whole("dim", self.dim)
        require_whole("neurons", self.neurons)
        require(self.dim <= _LARGEST_SIZE, f"dim (d) must be at most {_LARGEST_SIZE}, got {self.dim}")
        require_alpha(self.alpha)
        require_positive("constant", self.constant)
        require(
            self._factor * uniform_tail(self.dim, self.half, self.squares, 0) < _LARGEST_RISK,
            f"alpha must give risks below 1e300, got {self.alpha:g} with d = {self.dim} and L = {self.depth}",
        )

    @property
    def squares(self) -> bool:
        """Whether the network is given the squares of the inputs."""
        return self.theorem == "I.6"

    @property
    def half(self) -> int:
        """q: the highest part is the 2q-th power of a length."""
        return 2 ** (self.depth - (2 if self.squares else 1))

    @property
    def rank(self) -> int:
        """With fewer neurons than this, no network is exact."""
        return math.comb(self.dim + self.half - 1, self.half)

    @property
    def factor(self) -> float:
        """A, the number in front of the target's highest part."""
        return math.sqrt(self._factor)

    @property
    def _factor(self) -> Fraction:
        """A² as a fraction: its root alone is rounded."""
        return Fraction(self.alpha) ** 2 / (1 if self.squares and self.depth == 2 else self.dim**self.half)

    @property
    def risk(self) -> float:
        """A lower bound on E|f − G*|² of every such network; 0 once its neurons reach :attr:`rank`."""
        if self.neurons >= self.rank:
            return 0.0
        plain = float(self._factor * uniform_tail(self.dim, self.half, self.squares, self.neurons))
        if self.rank > LARGEST_MATRIX:
            return plain
        return max(plain, self.factor**2 * float(weighted_tails(self.dim, self.half, self.squares)[self.neurons]))

    @property
    def title(self) -> str:
        return f"Theorem {self.theorem} of Allen-Zhu & Li (bfc), in a finite version with explicit constants"

    @property
    def setting(self) -> dict[str, str]:
        above = " and one in each layer above" if self.depth > 2 else ""
        layers = f"{self.dim} neurons in layer 2{above}" if self.squares else "one neuron in each"
        given = "(x, x²)" if self.squares else "x"
        return {
            "inputs": f"standard Gaussian, d = {self.dim}",
            "target": f"L = {self.depth} layers, {layers}, α_L = {self.alpha:g}",
            "predictors": f"r = {self.neurons} neurons on {given}, each with any polynomial of degree {2 * self.half}",
        }

    @property
    def claim(self) -> str:
        return (
            "whatever the weights, biases and polynomials, the risk E(h − G*)² is at least the sum of the squared "
            "singular values beyond the first r of the weighted matrix of the target's highest part. The paper: for "
            "r ≤ (d/q)^q/C the risk is at least α_L²/q^(Cq), with a constant C that it leaves open. Its Lemma "
            "I.5, from which this comes, is false as printed, for a highest part that is smaller by d^(q/2) than the "
            "paper's weights give."
        )

    @property
    def numbers(self) -> Numbers:
        return {
            "half degree q": self.half,
            "rank: no network with fewer neurons is exact": self.rank,
            "neurons r": self.neurons,
            "risk, at least": self.risk,
            "the paper's risk, with C as below": self.alpha**2 * self.half ** (-self.constant * self.half),
        }

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """That of Lemma I.5; the finite version needs none."""
        most = (self.dim / self.half) ** self.half / self.constant
        return (Hypothesis(f"r ≤ (d/q)^q/C with C = {self.constant:g}", self.neurons, most, at_least=False),)

    @property
    def holds(self) -> bool:
        return self.risk > 0

    @property
    def verdict(self) -> str:
        theirs = "The paper's constant C is not known, so its theorem decides no case."
        if not self.holds:
            return f"{theirs} The finite version says nothing, because r is at least the rank {self.rank}."
        return f"{theirs} The finite version: every such network has risk at least {self.risk:.4g}."

    def verify(self) -> Verification:
        """Compute every factor of the bound a second time; where it is quick, try networks against the bound.

        A is taken from a target of :func:`bk.bfc.even_target`, of at most 20 coordinates and four
        layers. The sum of eigenvalues beyond the first r is the norm of the tensor without the first r, exactly. The
        weights of monomials are compared with θ on random tensors. The networks are random, or have one or two
        coordinates in each neuron. Their outputs have the best weights, so the risk of their highest part is exact.
        It must not fall below the bound.
        """
        off, route = self._off_factor(), "the highest coefficient of a target"
        count = sum(many for _, many in sphere_spectrum(self.dim, self.half))
        off = max(off, abs(count - self.rank) / self.rank)
        total = sum(many * value**2 for value, many in sphere_spectrum(self.dim, self.half))
        norm = sphere_norm(self.dim, self.half)
        off = max(off, float(abs(total - norm) / norm), self._off_tail())
        route += ", the norm of its tensor"
        small = math.comb(self.dim + 2 * self.half - 1, 2 * self.half) <= _LARGEST_TRIAL
        off = max(off, self._off_weights(*((self.dim, self.half) if small else (min(self.dim, 3), min(self.half, 4)))))
        route += ", random tensors"
        if small and self.rank <= LARGEST_MATRIX:
            whole = nearest(self.dim, self.half, self.squares, torch.zeros(1, self.dim, dtype=torch.float64))
            bound = self.risk / self.factor**2
            for neurons in self._trials():
                off = max(off, (bound - nearest(self.dim, self.half, self.squares, neurons)) / whole)
            route += ", and networks tried against the bound"
        return Verification(route, off, 1e-9).require()

    def _off_factor(self) -> float:
        r"""How far A is from the coefficient of :math:`t^{2^L}` in G*(t e₁), as a share of it.

        A difference over the extrema of the Chebyshev polynomial of that degree gives it. There rounding does least.
        """
        mine = replace(self, dim=min(self.dim, _LARGEST_TARGET), depth=min(self.depth, _DEEPEST_TARGET), neurons=1)
        drawn = even_target(mine.dim, mine.depth, tuple(2.0**-i for i in range(mine.depth - 1)), self.theorem)
        target = replace(drawn, alphas=(self.alpha,) * (mine.depth - 1), in_class=False)
        degree = 2**mine.depth
        t = _REACH * torch.cos(math.pi * torch.arange(degree + 1, dtype=torch.float64) / degree)
        signs = (-1.0) ** torch.arange(degree + 1, dtype=torch.float64)
        signs[0] = signs[-1] = 0.5
        values = target.target(t[:, None] * torch.eye(mine.dim, dtype=torch.float64)[:1])
        found = 2 ** (degree - 1) / degree * float((signs * values / _REACH**degree).sum())
        return abs(mine.factor / found - 1)

    def _off_tail(self) -> float:
        """How far the bound is below the one with equal weights, as a share of the whole."""
        left, head = self.neurons, Fraction(0)
        for value, many in sphere_spectrum(self.dim, self.half):
            head += min(left, many) * value**2
            left -= min(left, many)
        norm = sphere_norm(self.dim, self.half)
        unit = self._factor * uniform_factor(self.dim, self.half, self.squares)
        off = float(1 - head / norm - Fraction(self.risk) / (unit * norm))
        return abs(off) if self.rank > LARGEST_MATRIX else off

    def _off_weights(self, dim: int, half: int) -> float:
        """By how much θ is too large for the mean squares of some symmetric tensors, as a share."""
        every = indices(dim, 2 * half)
        weights = [monomial_weight(J, self.squares) for J in every]
        whole = math.factorial(2 * half) * uniform_factor(dim, half, self.squares)
        ratios = [Fraction(whole, factorial(J) * weight) for J, weight in zip(every, weights, strict=True)]
        shares = torch.tensor([weight / max(weights) for weight in weights], dtype=torch.float64)
        sizes = shares * torch.tensor([*map(float, ratios)], dtype=torch.float64)
        stream = Stream(0).child("tensors")
        drawn = [stream.child(str(i)).normal(len(every), dtype=torch.float64).square() for i in range(2)]
        alone = float(max(ratios))  # a tensor with a single entry
        return max(alone, *(float((sizes * t).sum() / (shares * t).sum()) for t in drawn)) - 1

    def _trials(self) -> list[torch.Tensor]:
        stream, r = Stream(0).child("certificate"), min(self.neurons, self.rank)
        drawn = [stream.child(str(i)).normal(r, self.dim, dtype=torch.float64) for i in range(3)]
        return [*drawn, torch.tensor([*spread(self.dim, r)], dtype=torch.float64)]

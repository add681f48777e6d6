"""The class of targets (7.1), the training points on its cube, and the exact risks of a span."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TypeAlias

import torch

from beyondkernels.certificates.degree_span import DegreeSpan
from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.certificates.span import Parity, Span, require_enumerable
from beyondkernels.core import InputError, Stream, require
from beyondkernels.data.inputs import Biased, corners
from beyondkernels.papers.resnet.problems.hard import HardInstance

Points: TypeAlias = tuple[str, ...] | tuple[tuple[float, ...], ...]
"""Training points: on the cube as words of + and −, elsewhere as numbers."""

_OFF = 1e-6
"""How far the entries of points of the cube may be off: points may come in float32."""

_CHUNK = 1024
"""Targets whose risks are computed at once."""


@dataclass(frozen=True)
class HardClass:
    """All targets :math:`βx_i + αχ_S` of a hard instance, whatever coordinates its own target has.

    Arguments:
        problem: gives d, d₁, k, α, β and the background. Noise on its labels is left out: risks are against H.
    """

    problem: HardInstance

    @property
    def uniform(self) -> int:
        """The number d₁ of coordinates in which the targets live."""
        inputs = self.problem.inputs
        return inputs.uniform

    @property
    def varying(self) -> int:
        """How many coordinates are uniform signs, the others being constant; background included if it is uniform."""
        if self.uniform == self.problem.dim:
            return self.problem.dim
        positive = self.problem.background.positive if isinstance(self.problem.background, Biased) else None
        if positive not in (0.0, 0.5, 1.0):
            raise InputError(
                "background must be uniform or constant for an exact risk, got "
                f"{self.problem.background}; UniversalCertificate holds for every background"
            )
        return self.problem.dim if positive == 0.5 else self.uniform

    @property
    def size(self) -> int:
        """The number C of targets."""
        return self.problem.class_size

    def every(self) -> list[Parity]:
        """Every set of k of the first d₁ coordinates, in lexicographic order."""
        return list(itertools.combinations(range(self.uniform), self.problem.outputs))

    def drawn(self, count: int, seed: int) -> list[Parity]:
        """Sets S drawn at random, independently; all of them, once each, if there are no more than that."""
        if self.size <= count:
            return self.every()
        stream = Stream(seed).child("targets")
        k = self.problem.outputs
        sets = (stream.child(str(i)).permutation(self.uniform)[:k].tolist() for i in range(count))
        return [tuple(sorted(S)) for S in sets]

    def cube(self, functions: int) -> torch.Tensor:
        """All points of the cube as signs, shape (2^varying, d), if they are few enough."""
        require_enumerable(self.varying, functions)
        rest = self.problem.dim - self.varying
        signs = corners(self.varying)
        return torch.cat([signs, signs.new_full((len(signs), rest), self._constant)], 1) if rest else signs

    def encoded(self, x: torch.Tensor) -> Points:
        """Training points as a certificate keeps them.

        Arguments:
            x: shape (n, d).
        """
        d = self.problem.dim
        require(
            x.ndim == 2 and x.shape[1] == d and x.shape[0] > 0,
            f"x must hold at least one training point of dimension {d}, got shape {tuple(x.shape)}",
        )
        x = x.detach().double()
        require(bool(torch.isfinite(x).all()), "x must be finite, got infinite or NaN entries")
        scaled = x * math.sqrt(d)
        if bool(((scaled.abs() - 1).abs() <= _OFF).all()):
            return tuple("".join("+" if value > 0 else "-" for value in row) for row in scaled.tolist())
        return tuple(tuple(row) for row in x.tolist())

    def decoded(self, points: Points) -> torch.Tensor:
        """The training points, shape (n, d), float64."""
        signs = self.signs(points)
        return torch.tensor(points, dtype=torch.float64) if signs is None else signs / math.sqrt(self.problem.dim)

    def signs(self, points: Points) -> torch.Tensor | None:
        """The training points as signs, shape (n, d); None if they are not on the cube."""
        if not all(isinstance(row, str) for row in points):
            return None
        return torch.tensor([[1.0 if sign == "+" else -1.0 for sign in row] for row in points], dtype=torch.float64)

    def varying_signs(self, points: Points) -> torch.Tensor | None:
        """The signs of the coordinates that vary; None if a point is none that the distribution can give."""
        signs = self.signs(points)
        if signs is None or bool((signs[:, self.varying :] != self._constant).any()):
            return None
        return signs[:, : self.varying]

    def risks(self, span: Span, targets: list[Parity]) -> torch.Tensor:
        r"""The risk of the best predictor with all outputs in a span, for each target.

        .. math:: R(S) = \sum_{i \in S} \bigl(\beta^2 + \alpha^2 - \|P(\beta\chi_{\{i\}} + \alpha\chi_S)\|^2\bigr)

        Arguments:
            span: with the projection P.
            targets: the sets S.
        """
        alpha, beta, k = self.problem.alpha, self.problem.beta, self.problem.outputs
        linear = span.coordinates([(i,) for i in range(self.uniform)])
        out = []
        for start in range(0, len(targets), _CHUNK):
            part = targets[start : start + _CHUNK]
            B = span.coordinates(part)
            places = torch.tensor(part)
            captured = k * alpha**2 * B.square().sum(0) + beta**2 * linear.square().sum(0)[places].sum(1)
            captured += 2 * alpha * beta * (linear[:, places].sum(2) * B).sum(0)
            out.append(k * (beta**2 + alpha**2) - captured)
        return torch.cat(out)

    def mean_risk(self, span: Span) -> float:
        """The mean of the risks over all targets: in closed form for any d, by the sum over targets otherwise."""
        if not isinstance(span, DegreeSpan):
            return float(self.risks(span, self.every()).mean())
        alpha, beta, k = self.problem.alpha, self.problem.beta, self.problem.outputs
        signs = span.signs[:, : self.uniform]
        distances = ((self.uniform - signs @ signs.T) / 2).round().long()
        table = krawtchouk(self.uniform)
        ones = torch.tensor([float(value) for value in table[1]], dtype=torch.float64)[distances]
        full = torch.tensor([float(value) for value in table[k]], dtype=torch.float64)[distances]
        captured = k * alpha**2 * span.pairing(k, k, full)
        if beta:
            captured += beta**2 * math.comb(self.uniform - 1, k - 1) * span.pairing(1, 1, ones)
            captured += 2 * alpha * beta * span.pairing(1, k, signs @ self._around(signs).T)
        return k * (beta**2 + alpha**2) - captured / self.size

    def _around(self, signs: torch.Tensor) -> torch.Tensor:
        r""":math:`\sum_{S \ni i} \chi_S(a)` for each point and coordinate: a_i times a value of the others."""
        k = self.problem.outputs
        table = krawtchouk(self.uniform - 1)
        rest = torch.tensor([float(value) for value in table[k - 1]], dtype=torch.float64)
        minuses = (signs < 0).sum(1, keepdim=True) - (signs < 0).long()
        return signs * rest[minuses]

    @property
    def _constant(self) -> float:
        background = self.problem.background
        return 2.0 * background.positive - 1 if isinstance(background, Biased) else 0.0

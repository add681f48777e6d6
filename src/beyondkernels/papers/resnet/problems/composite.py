"""Composite targets: a base signal, and a small signal that is a function of the base signal."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import torch

from beyondkernels.core import Estimate, Problem, Sample, Stream, require
from beyondkernels.core.errors import shown
from beyondkernels.data.inputs import Inputs
from beyondkernels.papers.resnet.problems.risk import MOST, Predictor, mean_over
from beyondkernels.papers.resnet.problems.spectrum import Spectrum, beyond

if TYPE_CHECKING:
    from beyondkernels.papers.resnet.problems.smooth import SmoothComposite


class CompositeProblem(Problem):
    r"""A base signal F, plus a composite signal G(F) with a smaller factor.

    .. math:: H(x) = \beta F(x) + \alpha G(F(x)), \qquad y = H(x) + \xi, \qquad
              \xi \sim N\Bigl(0, \frac{2\,\mathrm{OPT}}{k} I\Bigr)

    The noise is independent of x, so that :math:`E\,\frac12\|y - H(x)\|^2 = \mathrm{OPT}`, the paper's convention.
    Risks here are :math:`E\|\hat y - y\|^2`, summed over the outputs and without the 1/2, as in §8.1: H itself has
    risk 2·OPT. The theorems have β = 1.

    Reference: Allen-Zhu & Li (resnet), eqs. (2.2) and (5.1), §8.1 (β).
    """

    alpha: float
    beta: float
    optimal_risk: float

    @property
    @abstractmethod
    def inputs(self) -> Inputs:
        """The distribution of x."""

    @abstractmethod
    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        """F(x), (n, k) float64."""

    @abstractmethod
    def composite_signal(self, h: torch.Tensor) -> torch.Tensor:
        """G(h), (n, k) float64, where h is F(x)."""

    @abstractmethod
    def concept(self) -> SmoothComposite:
        """The target written with smooth two-layer maps, in the form that the theorems use."""

    @property
    def in_dim(self) -> int:
        return self.inputs.in_dim

    def target(self, x: torch.Tensor) -> torch.Tensor:
        """H(x), (n, k) float64."""
        h = self.base_signal(x)
        return self.beta * h + self.alpha * self.composite_signal(h)

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d), y (n, k), ``hidden["base"]`` F(x), ``hidden["composite"]`` G(F(x)); all float32."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        x = self.inputs.draw(n, stream.child("inputs"))
        h = self.base_signal(x)
        g = self.composite_signal(h)
        y = self.beta * h + self.alpha * g
        if self.optimal_risk > 0:
            std = math.sqrt(2 * self.optimal_risk / self.out_dim)
            y = y + std * stream.child("noise").normal(n, self.out_dim, dtype=torch.float64)
        return Sample(x.float(), y.float(), {"base": h.float(), "composite": g.float()})

    def risk(
        self,
        predict: Predictor,
        n: int = 10_000,
        stream: Stream | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        most: int = MOST,
    ) -> Estimate:
        r"""The population risk :math:`E\|\hat y(x) - y\|^2` of any predictor.

        Exact where the inputs can be listed, otherwise a mean over draws of x with its standard error. The noise is
        not drawn: its share 2·OPT is added.

        Arguments:
            predict: takes inputs, gives predictions (n, k).
            n: draws if the inputs cannot be listed.
            stream: where draws come from.
            dtype: of the inputs the predictor is given.
            most: the inputs are listed if there are at most so many.
        """

        def squared(x: torch.Tensor) -> torch.Tensor:
            out = predict(x.to(dtype)).double().reshape(len(x), self.out_dim)
            return (out - self.target(x)).square().sum(1)

        clean = mean_over(self.inputs, squared, n, stream, most)
        return Estimate(clean.value + 2 * self.optimal_risk, clean.error, clean.exact)

    def base_risk(self, n: int = 10_000, stream: Stream | None = None) -> Estimate:
        r"""The risk of βF alone, :math:`\alpha^2 E\|G(F(x))\|^2 + 2\,\mathrm{OPT}`."""
        return self.risk(lambda x: self.beta * self.base_signal(x), n, stream, dtype=torch.float64)


class BooleanProblem(CompositeProblem):
    """A composite target of signs, with k outputs whose Fourier coefficients are known."""

    outputs: int

    @property
    @abstractmethod
    def spectrum(self) -> Spectrum:
        """The Fourier coefficients of H."""

    @property
    def out_dim(self) -> int:
        return self.outputs

    @property
    def base_only_risk(self) -> float:
        """The risk of βF alone: kα² + 2·OPT."""
        return self.outputs * self.alpha**2 + 2 * self.optimal_risk

    def polynomial_risk(self, degree: int) -> float:
        """The risk of the best polynomial of a degree: 0 for the best constant, 1 for the best linear predictor."""
        return beyond(self.spectrum, degree) + 2 * self.optimal_risk


def require_plain(problem: CompositeProblem) -> None:
    """Ask that β = 1, as in the definitions of the concepts."""
    require(
        problem.beta == 1,
        f"beta must be 1 for a target of Concept 1, got {problem.beta}; dataclasses.replace(problem, beta=1.0) is one",
    )

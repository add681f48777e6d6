"""Theorem 3 for one feature map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from beyondkernels.certificates.certificate import Verification
from beyondkernels.certificates.least_squares import LeastSquaresSpan
from beyondkernels.certificates.span import EnumeratedSpan
from beyondkernels.core import Component, InputError, Stream, require
from beyondkernels.kernels import RandomFeatures
from beyondkernels.papers.resnet.certificates.hard_class import HardClass
from beyondkernels.papers.resnet.certificates.instance import InstanceCertificate, Risks
from beyondkernels.papers.resnet.certificates.kernel_certificate import AGREEMENT
from beyondkernels.papers.resnet.problems.hard import HardInstance

Features = RandomFeatures | Callable[[torch.Tensor], torch.Tensor]
"""A feature map: random features, or a function of points (n, d) that gives features (n, D)."""


@dataclass(frozen=True)
class FeatureCertificate(InstanceCertificate):
    r"""The best risk of linear functions :math:`\langle w, \phi(x)\rangle` of a feature map, for many targets.

    Arguments:
        features: φ; a named function of a module if the certificate is to be written as JSON.
        seed: of the draw of random features.

    The other fields are those of :class:`InstanceCertificate`. :func:`certify_features` makes one.
    """

    kind: ClassVar[Literal["kernel", "features"]] = "features"
    words: ClassVar[str] = "⟨w, φ(x)⟩"

    features: Features
    seed: int

    @property
    def title(self) -> str:
        return "Theorem 3 of Allen-Zhu & Li (resnet) for one feature map, computed exactly"

    @property
    def setting(self) -> dict[str, str]:
        p, named = self.problem, isinstance(self.features, Component)
        return {
            "features": f"{self.features}" if named else getattr(self.features, "__name__", "a function"),
            "inputs": f"D = {self.functions} features, d = {p.dim}, d₁ = {p.inputs.uniform}",
            "targets": f"{p.beta:g}·x_i + αχ_S in k = {p.outputs} outputs, α = {p.alpha:g}, |S| = k",
            "computed by": self.route,
        }

    def verify(self) -> Verification:
        """Compute risks again by least squares over the cube with pivoting."""
        signs = HardClass(self.problem).cube(self.functions)
        span = LeastSquaresSpan(signs, feature_values(self.features, self.problem, signs, self.seed))
        scale = 2 * self.problem.outputs * (self.problem.alpha**2 + self.problem.beta**2)
        tolerance = max(AGREEMENT, self.error, scale * span.error)
        return Verification("least squares over the cube", self.compared(span), tolerance).require()


def certify_features(
    features: Features, problem: HardInstance, *, targets: int = 1000, seed: int = 0
) -> FeatureCertificate:
    """The certificate of a feature map, by enumeration of the cube.

    Arguments:
        features: φ.
        problem: the hard instance.
        targets: how many targets to list; all, if there are no more.
        seed: of the draws of targets and of random features.

    >>> from beyondkernels.kernels import GaussianFeatures
    >>> certificate = certify_features(GaussianFeatures(count=40), HardInstance(dim=8, outputs=3, alpha=0.3))
    >>> certificate.functions, certificate.mean >= certificate.universal.mean_risk, certificate.verify().agrees
    (40, True, True)
    """
    among = HardClass(problem)
    signs = among.cube(features.count if isinstance(features, RandomFeatures) else 1)
    values = feature_values(features, problem, signs, seed)
    span = EnumeratedSpan(signs, values)
    risks = Risks.of(problem, span, targets, seed)
    return FeatureCertificate(
        problem, values.shape[1], **vars(risks), route="enumeration", features=features, seed=seed
    )


def feature_values(features: Features, problem: HardInstance, signs: torch.Tensor, seed: int) -> torch.Tensor:
    """φ at points given as signs, shape (n, D), float64.

    Arguments:
        features: φ.
        problem: gives the scale of the points.
        signs: shape (n, d).
        seed: of the draw of random features.
    """
    x = signs / problem.dim**0.5
    if isinstance(features, RandomFeatures):
        return features.features(x, Stream(seed).child("features"))
    values = features(x)
    if not isinstance(values, torch.Tensor):
        raise InputError(f"features must give a tensor, got a {type(values).__name__}")
    require(
        values.ndim == 2 and len(values) == len(x) and values.shape[1] > 0,
        f"features must give shape ({len(x)}, D) with D at least 1, got {tuple(values.shape)}",
    )
    require(bool(torch.isfinite(values).all()), "features must be finite, got infinite or NaN values")
    return values.detach().double()

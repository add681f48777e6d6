"""Theorem 2 for one kernel on one training set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar, get_args

import torch

from beyondkernels.certificates.certificate import Verification
from beyondkernels.certificates.coefficients import degree_coefficients
from beyondkernels.certificates.degree_span import DegreeSpan
from beyondkernels.certificates.extended_span import MOST_EXTENDED, ExtendedSpan
from beyondkernels.certificates.least_squares import LeastSquaresSpan
from beyondkernels.certificates.span import LARGEST_ENUMERATION, EnumeratedSpan, Span
from beyondkernels.core import InputError
from beyondkernels.kernels import Kernel
from beyondkernels.papers.resnet.certificates.explicit import explicit_risks
from beyondkernels.papers.resnet.certificates.hard_class import HardClass, Points
from beyondkernels.papers.resnet.certificates.instance import InstanceCertificate, Risks
from beyondkernels.papers.resnet.problems.hard import HardInstance

AGREEMENT = 1e-9
"""The largest difference between two routes, unless their stated errors allow more."""

_QUICK = 2**23
"""Values of all functions at all points up to which verification enumerates the cube."""

MOST_EXPLICIT, _EXPLICIT = 6, 4_000_000
"""For how many targets explicit predictors are made: at most so many, and fewer where the square of N is large."""

Route = Literal["closed form", "enumeration"]

ROUTES: tuple[Route, ...] = get_args(Route)

Spanned = TypeVar("Spanned", DegreeSpan, ExtendedSpan)


@dataclass(frozen=True)
class KernelCertificate(InstanceCertificate):
    r"""The best risk in the span of :math:`K(\cdot, x^{(1)}), \dots, K(\cdot, x^{(N)})`, for many targets.

    Arguments:
        kernel: K.
        points: the training points, on the cube as words of + and −, elsewhere as numbers.

    The other fields are those of :class:`InstanceCertificate`. :func:`certify_kernel` makes one.
    """

    kind: ClassVar[Literal["kernel", "features"]] = "kernel"
    words: ClassVar[str] = "Σ_n w_n K(x, x⁽ⁿ⁾)"

    kernel: Kernel
    points: Points

    @property
    def title(self) -> str:
        return "Theorem 2 of Allen-Zhu & Li (resnet) for one kernel on one training set, computed exactly"

    @property
    def setting(self) -> dict[str, str]:
        p = self.problem
        return {
            "kernel": str(self.kernel),
            "training set": f"N = {self.functions} points, d = {p.dim}, d₁ = {p.inputs.uniform}",
            "targets": f"{p.beta:g}·x_i + αχ_S in k = {p.outputs} outputs, α = {p.alpha:g}, |S| = k",
            "computed by": self.route,
        }

    def verify(self) -> Verification:
        """Compute risks again by another route.

        - The closed form, if the cube has few points: enumeration of the cube.
        - The closed form for at most 32 points: the Gram matrix in extended precision.
        - The closed form otherwise, for some targets: risks of explicit predictors in whole numbers.
        - Enumeration: the closed form, where it applies, otherwise least squares with pivoting.
        """
        refusals = []
        for name, compare in self._other_routes():
            try:
                difference, error = compare()
            except InputError as refusal:
                refusals.append(f"{name}: {refusal}")
                continue
            return Verification(name, difference, max(AGREEMENT, self.error, error)).require()
        raise InputError("this certificate has no second route: " + "; ".join(refusals))

    def _other_routes(self) -> Iterator[tuple[str, Callable[[], tuple[float, float]]]]:
        """Names, and functions that give the largest difference and the error of the other computation."""
        among = HardClass(self.problem)
        closed = closed_form_refusal(self.kernel, self.problem, self.points) is None
        if self.route == "closed form":
            if 2**among.varying * self.functions <= _QUICK:
                yield "enumeration of the cube", lambda: self._to(enumerated(self.kernel, self.problem, self.points))
            if self.functions <= MOST_EXTENDED:
                yield "the Gram matrix in extended precision", lambda: self._to(self._from_gram(ExtendedSpan))
            yield "explicit predictors, evaluated in whole numbers", self._to_explicit
        else:
            if closed:
                yield "the closed form", lambda: self._to(self._from_gram(DegreeSpan))
            yield "least squares over the cube", lambda: self._to(self._least_squares())

    def _to(self, span: Span) -> tuple[float, float]:
        scale = 2 * self.problem.outputs * (self.problem.alpha**2 + self.problem.beta**2)
        return self.compared(span), scale * span.error

    def _to_explicit(self) -> tuple[float, float]:
        span = self._from_gram(DegreeSpan)
        places = self.spaced(min(MOST_EXPLICIT, max(1, _EXPLICIT // self.functions**2)))
        found = explicit_risks(self.kernel, self.problem, span, [self.targets[i] for i in places])
        return self.difference(places, found.risks) + found.gain, 0.0

    def _from_gram(self, make: type[Spanned]) -> Spanned:
        among = HardClass(self.problem)
        signs = among.varying_signs(self.points)
        assert signs is not None, "the closed form is offered for points of the cube alone"
        return make(signs, degree_coefficients(self.kernel, self.problem.dim, among.varying))

    def _least_squares(self) -> Span:
        among = HardClass(self.problem)
        signs = among.cube(self.functions)
        values = self.kernel(signs / self.problem.dim**0.5, among.decoded(self.points))
        return LeastSquaresSpan(signs, values)


def certify_kernel(
    kernel: Kernel,
    problem: HardInstance,
    x: torch.Tensor,
    *,
    targets: int = 1000,
    seed: int = 0,
    route: Route | None = None,
) -> KernelCertificate:
    """The certificate of a kernel on a training set.

    Arguments:
        kernel: K.
        problem: the hard instance.
        x: the training points, shape (N, d).
        targets: how many targets to list; all, if there are no more. The mean is over all in any case.
        seed: of the draw of targets.
        route: ``closed form`` or ``enumeration``. By default the closed form, where it applies.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.kernels import Gaussian
    >>> problem = HardInstance(dim=20, outputs=3, alpha=0.3)
    >>> certificate = certify_kernel(Gaussian(1.0), problem, problem.sample(50, Stream(0)).x)
    >>> certificate.holds, certificate.mean >= certificate.universal.mean_risk, certificate.verify().agrees
    (True, True, True)
    """
    among = HardClass(problem)
    points = among.encoded(x)
    refusal = closed_form_refusal(kernel, problem, points)
    chosen = route or ("enumeration" if refusal else "closed form")
    if chosen == "closed form":
        if refusal:
            raise InputError(f"the closed form does not apply: {refusal}; {_instead(among.varying)}")
        signs = among.varying_signs(points)
        assert signs is not None
        span: Span = DegreeSpan(signs, degree_coefficients(kernel, problem.dim, among.varying))
    else:
        try:
            span = enumerated(kernel, problem, points)
        except InputError as error:
            why = f" (the closed form does not apply: {refusal})" if refusal and route is None else ""
            raise InputError(f"{error}{why}") from None
    risks = Risks.of(problem, span, targets, seed)
    return KernelCertificate(problem, len(points), **vars(risks), route=chosen, kernel=kernel, points=points)


def _instead(coordinates: int) -> str:
    if coordinates <= LARGEST_ENUMERATION:
        return "route='enumeration' would do"
    return f"enumeration would do up to {LARGEST_ENUMERATION} varying coordinates, here there are {coordinates}"


def closed_form_refusal(kernel: Kernel, problem: HardInstance, points: Points) -> str | None:
    """Why the closed form does not apply, or None if it does."""
    if not kernel.rotation_invariant:
        return f"the kernel {kernel} is not rotation-invariant, so it is not a function of the Hamming distance"
    if HardClass(problem).varying_signs(points) is None:
        side = f"±1/√{problem.dim}"
        return f"some training points are off the cube of points with entries {side} that the problem draws from"
    return None


def enumerated(kernel: Kernel, problem: HardInstance, points: Points) -> EnumeratedSpan:
    """The span of a kernel's functions from their values at all points of the cube."""
    among = HardClass(problem)
    x = torch.unique(among.decoded(points), dim=0)  # equal points give one function
    signs = among.cube(len(x))
    return EnumeratedSpan(signs, kernel(signs / problem.dim**0.5, x))

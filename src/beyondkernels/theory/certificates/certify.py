"""One function for all certificates of the hard instance."""

from __future__ import annotations

from typing import Any

import torch

from beyondkernels.core import InputError, Stream, require, require_whole, shown
from beyondkernels.kernels import Kernel, RandomFeatures
from beyondkernels.kernels.checks import Numbers, tensor
from beyondkernels.problems.resnet.hard import HardInstance
from beyondkernels.theory.certificates.certificate import Certificate
from beyondkernels.theory.certificates.feature_certificate import Features, certify_features
from beyondkernels.theory.certificates.kernel_certificate import ROUTES, Route, certify_kernel
from beyondkernels.theory.certificates.universal import UniversalCertificate, require_alpha, require_functions

MOST_DRAWN = 50_000
"""The most training points that are drawn; equal ones count once, and the closed form has a limit of its own."""


def certify(
    what: Kernel | Features | None,
    problem: HardInstance,
    x: Numbers | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    targets: int = 1000,
    route: Route | None = None,
) -> Certificate:
    """What a kernel, a feature map, or all of them cannot do on the hard instance (7.1).

    Arguments:
        what: a kernel (Theorem 2 with its exact risks), a feature map (Theorem 3 with its exact risks), or None for
            the bound that holds for every kernel with n points.
        problem: the hard instance, which gives d, d₁, k, α and β.
        x: the training points of a kernel, shape (n, d).
        n: in place of x, how many training points to draw from the problem.
        seed: of the draws of training points, of targets and of random features.
        targets: how many targets to list; all, if there are no more. Means are over all of them in any case.
        route: ``closed form`` or ``enumeration``. By default the closed form, where it applies.

    >>> import beyondkernels as bk
    >>> problem = HardInstance(dim=16, outputs=2, alpha=0.3)
    >>> print(bk.certify(bk.kernels.Gaussian(1.0), problem, n=20).verdict)
    100.00% of the listed targets have a best risk above α²/16. The theorem's conclusion, at least 99%, is true here.

    Reference: Allen-Zhu & Li (resnet), §7 and App. D.
    """
    if not isinstance(problem, HardInstance):
        raise InputError(f"problem must be a HardInstance, to which the theorems apply, got {shown(problem)}")
    require_alpha(problem.alpha)
    require_whole("targets", targets)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InputError(f"seed must be a whole number, got {shown(seed)}")
    if route not in (None, *ROUTES):
        raise InputError(f"route must be {' or '.join(map(repr, ROUTES))}, got {shown(route)}")
    require(x is None or n is None, "x and n must not both be given: x holds the training points, n says how many")
    if what is None:
        count = len(_points(x)) if x is not None else n
        if count is None:
            raise InputError("n must be given for the bound over all kernels")
        inputs = problem.inputs
        return UniversalCertificate(count, inputs.dim, problem.outputs, problem.alpha, inputs.uniform)
    if isinstance(what, Kernel):
        if n is not None:
            require_functions(n, "kernel")
            require(
                n <= MOST_DRAWN,
                f"n must be at most {MOST_DRAWN}, got {n}; certify(None, …), for all kernels, takes any",
            )
        if x is None and n is None:
            raise InputError("x or n must be given: the training points of the kernel, or how many to draw")
        points = _points(x) if n is None else problem.sample(n, Stream(seed).child("train")).x
        return certify_kernel(what, problem, points, targets=targets, seed=seed, route=route)
    if isinstance(what, RandomFeatures) or callable(what):
        require(x is None and n is None, "x and n must be left out for a feature map, which has no training points")
        require(route in (None, "enumeration"), f"route must be enumeration for a feature map, got {shown(route)}")
        return certify_features(what, problem, targets=targets, seed=seed)
    raise InputError(f"what must be a kernel, a feature map or None, got {shown(what)}")


def _points(x: Any) -> torch.Tensor:
    return tensor("x", x)

"""Which certificate answers what is asked of the hard instance."""

from __future__ import annotations

from typing import Any

import torch

from beyondkernels.certificates.certificate import Certificate
from beyondkernels.certificates.universal import UniversalCertificate, require_alpha, require_functions
from beyondkernels.core import InputError, Stream, require, require_whole, shown
from beyondkernels.kernels import Kernel, RandomFeatures
from beyondkernels.kernels.checks import Numbers, tensor
from beyondkernels.papers.resnet.certificates.correlation import certify_correlation
from beyondkernels.papers.resnet.certificates.feature_certificate import Features, certify_features
from beyondkernels.papers.resnet.certificates.kernel_certificate import ROUTES, Route, certify_kernel
from beyondkernels.papers.resnet.problems.hard import HardInstance

MOST_DRAWN = 50_000
"""The most training points that are drawn; equal ones count once, and the closed form has a limit of its own."""


def certify_hard_instance(
    what: Kernel | Features | None,
    problem: HardInstance,
    x: Numbers | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    targets: int = 1000,
    route: Route | None = None,
    ridge: float | None = None,
) -> Certificate:
    """The certificate behind :meth:`bk.resnet.HardInstance.certify`, which explains the arguments."""
    require_alpha(problem.alpha)
    require_whole("targets", targets)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InputError(f"seed must be a whole number, got {shown(seed)}")
    if route not in (None, *ROUTES):
        raise InputError(f"route must be {' or '.join(map(repr, ROUTES))}, got {shown(route)}")
    require(x is None or n is None, "x and n must not both be given: x holds the training points, n says how many")
    if ridge is not None:
        if not isinstance(what, Kernel):
            raise InputError(f"what must be a kernel where a ridge is given, got {shown(what)}")
        require(x is None and route is None, "x and route must be left out with a ridge: its training sets are drawn")
        if n is None:
            raise InputError("n must be given with a ridge: how many training points are drawn")
        return certify_correlation(what, problem, n=n, seed=seed, ridge=ridge)
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

"""The kernels of Theorem 2's experiment by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import beyondkernels as bk
from beyondkernels.papers.resnet.experiments.exact_risks import network_of

if TYPE_CHECKING:
    from beyondkernels.kernels import Kernel

KERNELS = ("Gaussian", "arcsin", "recursive", "random features", "conjugate", "tangent")
"""The kernels (1) to (6) that §3.1 names, the last three at infinite width."""

NARROW = ("random features, width m", "conjugate, width m", "tangent, width m")
"""The last three at finite width."""

BOTH = ("Gaussian", "Gaussian, enumerated")
"""One kernel by both routes."""


def kernel_of(name: str, width: int, outputs: int, seed: int) -> Kernel:
    """The kernel of that name; those of finite width are drawn with the seed.

    Arguments:
        name: one of those above.
        width: m, where it is finite.
        outputs: k, of the network that a kernel of finite width belongs to.
        seed: of that network's start.
    """
    kernels = bk.kernels
    if name in NARROW:
        neurons = kernels.GaussianFeatures(width, weight_std=1.0, bias_std=1.0)
        made: dict[str, Any] = {
            NARROW[0]: lambda: kernels.RandomFeatureKernel(neurons, seed),
            NARROW[1]: lambda: kernels.FiniteConjugate(network_of(width), seed, out_dim=outputs),
            NARROW[2]: lambda: kernels.FiniteTangent(network_of(width), seed, out_dim=outputs),
        }
        return made[name]()
    biased = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=1)
    return {
        "Gaussian": kernels.Gaussian(1.0),
        "Gaussian, enumerated": kernels.Gaussian(1.0),
        "arcsin": kernels.Arcsin(),
        "recursive": kernels.InversePolynomial(),
        "random features": kernels.InfiniteConjugate(depth=2, parameterisation=biased),
        "conjugate": kernels.InfiniteConjugate(depth=3),
        "tangent": kernels.InfiniteTangent(depth=3),
    }[name]

"""Two classes that a target separates: what its layers add and decide, and the cross-entropy that is left at best."""

from __future__ import annotations

import functools
import math

from beyondkernels.core import Stream, require_positive
from beyondkernels.papers.bfc.problems.labels import Classified

_POINTS = 100_000


def cross_entropy_scale(error: float, constant: float = 100.0, power: int = 1) -> float:
    r"""The number in front of the prediction in the cross-entropy, which grows as the target error falls.

    .. math:: v = \frac{\log^q(1/\varepsilon)}{c\,\varepsilon}

    Arguments:
        error: ε, below 1.
        constant: c; 100 in footnote 47, and 1/100 in App. H.1.1.
        power: q; 1 in footnote 47, and 2 in App. H.1.1.

    >>> cross_entropy_scale(0.5, 0.3)
    4.62...

    Reference: Allen-Zhu & Li (bfc), App. H.1, footnote 47; App. H.1.1.
    """
    require_positive("error", error)
    return math.log(1 / error) ** power / (constant * error)


def cross_entropy_of_target(problem: Classified, v: float) -> float:
    r"""The cross-entropy of v(x₀ + G*(x)), of the network that makes no mistake, as a mean over draws.

    .. math:: E \log\bigl(1 + e^{-v |x_0 + G^\star(x)|}\bigr)

    Arguments:
        problem: the labels.
        v: the scale.

    >>> from beyondkernels.papers.bfc.problems import QuadraticTarget
    >>> 0 < cross_entropy_of_target(Classified(QuadraticTarget(dim=4)), 20.0) < 0.05
    True
    """
    sample = problem.sample(_POINTS, Stream(0).child("cross-entropy"))
    margin = (sample.x[:, 0] + sample.hidden["target"]) * sample.y[:, 0]
    return float((-v * margin).exp().log1p().mean())  # no margin is negative


@functools.lru_cache(maxsize=256)
def layer_shares(problem: Classified) -> dict[int, dict[str, float]]:
    """By layer, the size of what it adds to the normalised G*, and the share of labels that it decides.

    ``alpha`` is the standard deviation of what the layer adds, ``typical`` its median over draws, and ``decided`` the
    share of labels that change without the layer and those above it.

    Arguments:
        problem: the labels.

    >>> from beyondkernels.papers.bfc.problems import QuadraticTarget
    >>> list(layer_shares(Classified(QuadraticTarget(dim=4)))[2])
    ['alpha', 'typical', 'decided']

    Reference: Allen-Zhu & Li (bfc), §3.2, footnote 13.
    """
    stds, known = problem.teacher.layer_stds, problem.increments()
    added = problem.contributions(problem.sample(_POINTS, Stream(0).child("layers")).x)
    return {
        layer: {
            "alpha": scale * stds[layer].value,
            "typical": float(added[layer].median()),
            "decided": known[layer].value,
        }
        for layer, scale in enumerate(problem.scales, 2)
    }

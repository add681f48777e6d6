"""Where a loss that was measured at a few sample sizes comes down to a level."""

from __future__ import annotations

import math
from collections.abc import Sequence


def samples_that_suffice(samples: Sequence[int], losses: Sequence[float], level: float) -> float:
    r"""The number of samples from which on the loss stays at a level or below, interpolated on logarithmic axes.

    .. math:: N_i \Bigl(\frac{N_{i+1}}{N_i}\Bigr)^{\log(L_i / \text{level}) / \log(L_i / L_{i+1})}

    for the last i with a loss :math:`L_i` above the level. It is NaN if the loss stays above, or if it is below from
    the first number on.

    Arguments:
        samples: N₁ < N₂ < …
        losses: L₁, L₂, …
        level: what they are to reach.

    >>> samples_that_suffice([10, 1000], [1.0, 0.01], 0.1)
    100.0
    """
    above = [i for i, value in enumerate(losses) if not value <= level]
    if not above or above[-1] == len(losses) - 1 or not all(math.isfinite(value) for value in losses):
        return math.nan
    i = above[-1]
    part = math.log(losses[i] / level) / math.log(losses[i] / losses[i + 1])
    return samples[i] * (samples[i + 1] / samples[i]) ** part

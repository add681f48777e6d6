"""Whether inputs and labels have the size that a layer's usual start expects."""

from __future__ import annotations

import numpy as np

from beyondkernels.auditing.checks import Finding
from beyondkernels.auditing.subject import Subject

_SPREADS, _OFFSET, _SIZE = 10.0, 10.0, 10.0
"""From here on columns are called unscaled: the largest spread over the smallest, a mean in units of its spread, and
the typical size of inputs (or labels) over 1. A layer's usual start expects numbers of size 1. The steps that gradient
descent needs grow with the square of these ratios: a hundred times as many from here on."""


def inputs(subject: Subject) -> list[Finding]:
    """Whether inputs, and labels that are numbers, have the size that a layer's usual start expects.

    Columns are compared for points that are vectors, channels for images. A column that never changes has no spread.

    Arguments:
        subject: what is audited.
    """
    sample = subject.problem.take("train", min(subject.samples, 1000), 0)
    found = []
    if sample.x.is_floating_point():
        x = sample.x.double()
        columns = x if x.ndim == 2 else x.reshape(len(x), x.shape[1], -1).transpose(0, 1).reshape(x.shape[1], -1).T
        found.append(_sizes("inputs", columns.numpy(force=True), "standardise inputs: (X - X.mean(0)) / X.std(0)"))
    if not subject.classes:
        y = sample.y.double().reshape(len(sample.y), -1).numpy(force=True)
        found.append(_sizes("labels", y, "standardise labels: (y - y.mean(0)) / y.std(0)"))
    return found


def _sizes(what: str, columns: np.ndarray, change: str) -> Finding:
    """Whether numbers have mean and spread of about the same size, and that size is about 1."""
    means, spreads = np.abs(columns.mean(0)), columns.std(0)
    moving = spreads > 1e-6 * (means + spreads.max(initial=0.0))
    if not moving.any():
        return Finding(what, "note", f"The {what} are all equal.")
    means, spreads = means[moving], spreads[moving]
    size = float(np.sqrt(np.mean(means**2 + spreads**2)))
    ratio, offset = float(spreads.max() / spreads.min()), float((means / spreads).max())
    evidence = f"The {what} have the size {size:.3g}"
    if len(spreads) > 1:
        evidence += f", spreads of columns from {spreads.min():.3g} to {spreads.max():.3g}"
    evidence += f", and means of up to {offset:.2g} spreads."
    odd = ratio > _SPREADS or offset > _OFFSET or not 1 / _SIZE <= size <= _SIZE
    return Finding(what, "note" if odd else "fine", evidence, change if odd else "")

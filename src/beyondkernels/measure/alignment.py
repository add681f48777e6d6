"""How well neurons point along the ground-truth direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beyondkernels.core import Ended, InputError, Measured, Problem
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.snapshots import snapshots


def direction(problem: Problem) -> np.ndarray:
    """The unit vector along the ground truth, where the problem knows one."""
    known = getattr(problem, "direction", None)
    if known is None:
        raise InputError(f"{type(problem).__name__} knows no ground-truth direction")
    return np.asarray(known, dtype=np.float64)


def cosines(weights: np.ndarray, truth: np.ndarray) -> np.ndarray:
    r"""The cosine of each neuron's weights with a direction; zero weights give zero.

    .. math:: \cos(w_i, v) = \frac{\langle w_i, v\rangle}{\|w_i\|\,\|v\|}

    Arguments:
        weights: a neuron in each row.
        truth: v.
    """
    w = np.asarray(weights, dtype=np.float64)
    largest = np.abs(w).max(axis=1, keepdims=True)  # tiny weights would lose their norm to underflow
    w = np.divide(w, largest, out=np.zeros_like(w), where=largest > 0)
    norms = np.linalg.norm(w, axis=1) * np.linalg.norm(truth)
    return np.divide(w @ truth, norms, out=np.zeros(len(w)), where=norms > 0)


@dataclass(frozen=True)
class Alignment(Measurement):
    r"""Cosines of all neurons with the ground truth, at every snapshot.

    Series ``alignment/cosine``: the paper's :math:`\max_i \cos(w_i, v)` with :math:`v = \sum_{j\in A} M_j`;
    ``alignment/cosine_either``: the largest to v or −v, :math:`\max_i |\cos(w_i, v)|`; ``alignment/cosines``: all of
    them at every step, with their signs.

    Reference: Shi, Wei & Liang (features), App. E.1, Cos Similarity.
    """

    def measure(self, run: Ended) -> Measured:
        truth = direction(run.problem)
        found = {step: cosines(weights, truth) for step, weights in snapshots(run.outcome).items()}
        rows = [{"cosine": v.max(), "cosine_either": np.abs(v).max(), "cosines": v} for v in found.values()]
        return Measured(series=over_steps("alignment", found, rows))

"""How large the weights of a run are, where the weights themselves are too large to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from beyondkernels.core import Case, Learner, Outcome, Progress, require
from beyondkernels.engine import TrainedNetwork
from beyondkernels.measure.base import over_steps

_SNAPSHOT = "snapshot/"


@dataclass(frozen=True)
class NormedNetwork(TrainedNetwork):
    r"""Trains a network as ``TrainedNetwork`` does, and keeps of its snapshots only how large they are.

    .. math:: \|W\|_F = \Big(\sum_{ij} W_{ij}^2\Big)^{1/2}

    stands in the outcome as the series ``norm/<name>`` over ``norm/step`` in place of the arrays
    ``snapshot/<step>/<name>``. A run that diverged before a step has no norm there.

    >>> import beyondkernels as bk
    >>> rule = bk.algorithms.GradientDescent(10, 0.1, loss=bk.algorithms.Squared())
    >>> network = bk.networks.FullyConnected(4, 2)
    >>> learner = NormedNetwork(network, rule, snapshot_at=(0, 10), snapshot_names=("layer1.weight",))
    >>> bk.fit(learner, bk.resnet.Monomial(6), n=20, test=20).outcome.over("norm/layer1.weight")[0]
    array([ 0., 10.])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        some = len(self.snapshot_at) > 0 and len(self.snapshot_names) > 0
        require(some, "snapshot_at and snapshot_names must say which norms are wanted, got none")

    @classmethod
    def fit_together(cls, learners: Sequence[Learner], cases: Sequence[Case], progress: Progress) -> list[Outcome]:
        """Train many; each snapshot is measured and let go."""
        return [_measured(outcome) for outcome in super().fit_together(learners, cases, progress)]


def _measured(outcome: Outcome) -> Outcome:
    rows: dict[int, dict[str, float]] = {}
    for full_name in [name for name in outcome.arrays if name.startswith(_SNAPSHOT)]:
        step, _, name = full_name.removeprefix(_SNAPSHOT).partition("/")
        # in float64: a float32 sum of millions of squares loses digits
        norm = np.linalg.norm(outcome.arrays[full_name].astype(np.float64).ravel())
        rows.setdefault(int(step), {})[name] = float(norm)
    norms = over_steps("norm", sorted(rows), [rows[step] for step in sorted(rows)])
    others = {name: array for name, array in outcome.arrays.items() if not name.startswith(_SNAPSHOT)}
    return replace(outcome, series={**outcome.series, **norms}, arrays=others)

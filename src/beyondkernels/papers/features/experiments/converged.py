"""The strongest linear classifier on each feature map, in place of a set number of steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import beyondkernels as bk
from beyondkernels.lab import At, AtLeast, Statement, claim, of
from beyondkernels.papers.features.experiments import tables
from beyondkernels.papers.features.experiments.cases import Case, process_of
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

CONVERGED: dict[str, tuple[int, Literal["neurons", "tangent"]]] = {
    "Converged NTK": (0, "tangent"),
    "Converged RF": (0, "neurons"),
    "Converged One Step": (1, "neurons"),
}
"""After how many steps which features are taken."""

AHEAD = 3
"""Points by which the Network has to be ahead."""


def spec(case: Case, at: At, tolerance: float, validation: float, **ridges: Any) -> RunSpec:
    """A converged classifier on a feature map, or on the inputs.

    Arguments:
        case: its numbers and data.
        at: the method and the seed.
        tolerance: relative duality gap of every fit.
        validation: share of the training sample on which the ridge is chosen.
        ridges: which ridges are tried, where not those that the classifier begins with.
    """
    features: Any = bk.kernels.InputFeatures()
    if at.method in CONVERGED:
        # the features are taken before our own rate would matter, so they do not depend on it
        rule = bk.algorithms.FeatureLearning(process_of(case, at.seed, own_schedule=False))
        features = bk.engine.NetworkFeatures(bk.networks.TwoLayer(case.numbers.pairs), rule, *CONVERGED[at.method])
    learner = bk.kernels.FixedFeatureClassifier(features, tolerance=tolerance, validation=validation, **ridges)
    learner = tables.in_span(case, at.seed, learner)
    return replace(tables.spec(case, at.with_(method="Network")), learner=learner, measurements=())


def row(outcome: Outcome) -> dict[str, Any]:
    """Accuracies in percent, and how far a classifier converged."""
    return {
        **tables.accuracies(outcome),
        **{n: outcome.scalars.get(n) for n in ("ridge", "duality_gap", "converged")},
    }


def claims(**where: str) -> list[Statement]:
    """The Network is ahead of each."""
    network = of("test_accuracy", method="Network", **where)
    return [
        claim(
            name.lower().replace(" ", "-"),
            f"The Network's test accuracy is ahead of the {name[0].lower() + name[1:]} by at least {AHEAD} points",
            network - of("test_accuracy", method=name, **where),
            AtLeast(AHEAD),
            unit="points",
        )
        for name in CONVERGED
    ]

"""The rows of the tables of App. E: what every method is, and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments.cases import Case, problem_of, process_of
from beyondkernels.store import RunSpec


@dataclass(frozen=True)
class Method:
    """One row of a table: what learns, after which step only the readout is trained, and on which data.

    The readout has the Network's own rate for t > 2, or Theorem 26's single rate. The tangent method has neither, see
    the setting ``tangent_rate``. RF has a rate of its own in some cases.
    """

    kind: Literal["network", "tangent", "constant", "linear"] = "network"
    freeze_hidden_after: int | None = None
    own_schedule: bool = True
    structured: bool = True


METHODS = {
    "Network": Method(),
    "NTK": Method("tangent"),
    "RF": Method(freeze_hidden_after=0, own_schedule=False),
    "One Step": Method(freeze_hidden_after=1),
    "Two Step": Method(freeze_hidden_after=2),
    "Network w/o structure": Method(structured=False),
    "NTK w/o structure": Method("tangent", structured=False),
    "RF w/o structure": Method(freeze_hidden_after=0, own_schedule=False, structured=False),
    "Network, one rate": Method(own_schedule=False),
    "Constant": Method("constant"),
    "Linear": Method("linear"),
}
"""The paper's rows in its order, the other methods without structure, Theorem 26 taken literally, and baselines."""

WEIGHTED_AT_FIRST = {f"{name}, weighted at first": name for name in ("NTK", "RF", "Two Step")}
"""Rows of unequal classes whose loss has class weights in the first two steps alone."""

TRAINED = ("Network", "NTK", "RF", "One Step", "Two Step")
UNSTRUCTURED = {name: f"{name} w/o structure" for name in ("Network", "NTK", "RF")}
CONVERGED: dict[str, tuple[int, Literal["neurons", "tangent"]]] = {
    "Converged NTK": (0, "tangent"),
    "Converged RF": (0, "neurons"),
    "Converged One Step": (1, "neurons"),
}
"""The strongest linear classifiers on features that fail: after how many steps which features are taken."""
TWO_STEP = "Converged Two Step"
WITHOUT = {f"{name} w/o structure": CONVERGED[name] for name in ("Converged NTK", "Converged RF")}
FEATURES = {**CONVERGED, TWO_STEP: (2, "neurons"), **WITHOUT}
"""All converged classifiers on features, in some tables also on the data without structure."""


def percent(label: str, form: str = ".1f", about: str = "", **more: Any) -> lab.Quantity:
    return lab.Quantity(label, form, lab.PERCENT, "%", about=about, **more)


ACCURACIES = {
    "train_accuracy": percent("training accuracy", heading="Train (%)"),
    "test_accuracy": percent("test accuracy", heading="Test (%)", better="more"),
    "balanced_accuracy": percent("balanced test accuracy", heading="Balanced (%)", better="more"),
    "step": lab.Quantity("step", within=lab.NON_NEGATIVE, log=True),
}
"""How all experiments with networks write accuracies."""


def spec(case: Case, at: lab.At) -> RunSpec:
    name: str = at.method
    if name in WEIGHTED_AT_FIRST:
        name, case = WEIGHTED_AT_FIRST[name], replace(case, always_weighted=False)
    method = METHODS[name]
    measured: tuple[Any, ...] = ()
    if method.kind == "network" and case.numbers.steps >= 2:
        measured += (bk.measure.Alignment(), *((bk.measure.Directions(),) if at.method == "Network" else ()))
    return _spec(case, at, _learner(case, at, method), measured, method.structured)


def converged_spec(case: Case, at: lab.At, **options: Any) -> RunSpec:
    """A converged classifier on a feature map, or on the inputs, with options of ``FixedFeatureClassifier``."""
    features: Any = bk.kernels.InputFeatures()
    if at.method in FEATURES:
        # the features are taken before our own rate would matter, so they do not depend on it
        rule = bk.algorithms.FeatureLearning(process_of(case, at.seed, own_schedule=False))
        features = bk.engine.NetworkFeatures(bk.networks.TwoLayer(case.numbers.pairs), rule, *FEATURES[at.method])
    learner = bk.kernels.FixedFeatureClassifier(features, **options)
    return _spec(case, at, learner, structured=at.method not in WITHOUT)


def row(case: Case, outcome: bk.core.Outcome) -> dict[str, Any]:
    """Accuracies in percent, cosines with the ground truth, and how far a converged classifier came."""
    return {
        **accuracies(outcome),
        "cosine": outcome.at("alignment/cosine", case.numbers.steps, None),
        "cosine_either_step1": outcome.at("alignment/cosine_either", 1, None),
        "cosine_either_step2": outcome.at("alignment/cosine_either", 2, None),
        **{name: outcome.scalars.get(name) for name in ("ridge", "duality_gap", "converged")},
        **({} if case.negative_ratio is None else {"balanced_accuracy": _percent(outcome, "test_balanced_accuracy")}),
    }


def accuracies(outcome: bk.core.Outcome) -> dict[str, float | None]:
    """Training and test accuracy in percent, as ``ACCURACIES`` declares them."""
    return {name: _percent(outcome, name) for name in ("train_accuracy", "test_accuracy")}


def _percent(outcome: bk.core.Outcome, name: str) -> float | None:
    share = outcome.scalars.get(name)
    return None if share is None else 100 * share


def record_steps(steps: int) -> tuple[int, ...]:
    """1, 2, 3, 5, 10, … up to the end: even on a logarithmic axis, and every twelfth part of the whole."""
    early = [s for s in (1, 2, 3, 5, 10, 20, 35) if s < steps]
    late = [round(steps * part / 12) for part in range(1, 13)]
    return tuple(sorted({s for s in (*early, *late) if s > 0}))


def _spec(case: Case, at: lab.At, learner: Any, measured: tuple[Any, ...] = (), structured: bool = True) -> RunSpec:
    s = case.numbers
    # in the coordinates of the inputs' span, where the case asks for it and that is a smaller space
    smaller = case.in_span and problem_of(case, at.seed).span is not None
    known = isinstance(learner, bk.engine.TrainedNetwork | bk.kernels.FixedFeatureClassifier)
    if case.negative_ratio is not None:
        measured += (bk.features.BalancedAccuracy(),)
    learner = bk.engine.InSpan(learner) if smaller and known else learner
    return RunSpec(problem_of(case, at.seed, structured), learner, s.samples, s.test_samples, at.seed, measured)


def _learner(case: Case, at: lab.At, method: Method) -> bk.core.Learner:
    s = case.numbers
    if method.kind == "constant":
        return bk.kernels.ConstantClassifier()
    if method.kind == "linear":
        return bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
    random = method.freeze_hidden_after == 0
    process = process_of(case, at.seed, method.own_schedule, method.structured, random)
    recorded = record_steps(s.steps)
    if method.kind == "tangent":
        network = bk.networks.TwoLayer(pairs=s.pairs, initialisation=process.initial)
        hinge, weights = bk.algorithms.Hinge(), process.later.class_weights
        loss = bk.algorithms.ClassWeighted(hinge, weights) if case.always_weighted else hinge
        descent = bk.algorithms.GradientDescent(s.steps, s.tangent_rate, s.batch, loss=loss)
        return bk.engine.TrainedNetwork(bk.networks.Linearised(network), descent, record_at=recorded)
    early = (0, 1, 2) if at.method.startswith("Network") else ()
    return bk.engine.TrainedNetwork(
        bk.networks.TwoLayer(pairs=s.pairs),
        bk.algorithms.FeatureLearning(process, freeze_hidden_after=method.freeze_hidden_after),
        record_at=recorded,
        snapshot_at=tuple(dict.fromkeys((*early, s.steps))),
        snapshot_names=("hidden.weight",),
    )

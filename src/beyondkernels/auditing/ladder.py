"""The ladder: from the constant to the model, each rung may use a little more than the one below."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from beyondkernels.algorithms import Blockwise, Staged
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Learner, unknown, vectors
from beyondkernels.engine import FrozenKernel, TrainedNetwork
from beyondkernels.kernels import Constant, KernelRidge, Laplace, PolynomialKernel, RecursiveFeatureMachine
from beyondkernels.networks import Linearised

Kind = Literal["floor", "fixed", "learning", "model"]
"""What a rung may do: nothing; fit fixed features; learn features in another way than the model; what the model does."""

KINDS: dict[Kind, str] = {
    "floor": "no features",
    "fixed": "fixed features",
    "learning": "learned features",
    "model": "the model",
}

MODEL = "model"
TRAINED_KERNEL = "trained tangent kernel"
LAYERWISE = "layer by layer"
LINEARISED = "linearised network"

_BANDWIDTH_POINTS = 1000


@dataclass(frozen=True)
class Rung:
    """A learner of the ladder.

    Arguments:
        name: what it is called in tables.
        kind: what it may do.
        about: what it is, in a sentence.
        learner: what learns; None where it cannot be had.
        why: why it cannot.
    """

    name: str
    kind: Kind
    about: str
    learner: Learner | None
    why: str = ""


def ladder(subject: Subject, settings: AuditSettings) -> list[Rung]:
    """All rungs, the constant first and the model last; what cannot be had says why.

    Arguments:
        subject: what is audited.
        settings: how.
    """
    rungs = [*_kernels(subject, settings), *_trained(subject, settings)]
    order = {name: place for place, name in enumerate(ABOUT)}
    rungs.sort(key=lambda rung: order[rung.name])
    for name in settings.without:
        if name not in ABOUT or name == MODEL:
            unknown("rung in without", name, [each for each in ABOUT if each != MODEL])
    return [rung for rung in rungs if rung.name not in settings.without]


ABOUT: dict[str, tuple[Kind, str]] = {
    "constant": ("floor", "The mean of the labels, or the largest class."),
    "linear": ("fixed", "Ridge regression on the inputs, with an intercept."),
    "Laplace kernel": ("fixed", "Ridge regression with a Laplace kernel whose bandwidth is the typical distance."),
    "last layer": ("fixed", "The model with all but its last layer frozen at the start, by its own training rule."),
    "conjugate kernel": ("fixed", "Ridge regression on what enters the last layer at the start."),
    "tangent kernel": ("fixed", "Ridge regression with the tangent kernel at the start."),
    LINEARISED: ("fixed", "The model's first-order expansion at its start, by the model's own training rule."),
    "feature machine": ("learning", "A recursive feature machine: a Laplace kernel that learns its metric."),
    LAYERWISE: ("learning", "The model, one block after the other, each with a linear head of its own."),
    "early features": ("learning", "The model with all but its last layer frozen early in training."),
    TRAINED_KERNEL: ("learning", "Ridge regression with the tangent kernel of the trained model."),
    MODEL: ("model", "The model itself."),
}
"""Every rung by its name: what it may do, and what it is."""


def _rung(name: str, learner: Learner | None, why: str = "") -> Rung:
    kind, about = ABOUT[name]
    return Rung(name, kind, about, learner, why)


def _kernels(subject: Subject, settings: AuditSettings) -> list[Rung]:
    """Rungs that solve for a minimum and need no training rule, but for the kernel of the trained model."""
    large = subject.samples > settings.exact_points
    ridge = {"solver": "iterative", "choose": "validation"} if large else {}
    solver = "iterative" if large else "exact"
    points = subject.problem.take("train", min(subject.samples, _BANDWIDTH_POINTS), 0).x
    numbers = "" if points.is_floating_point() else "the points are no vectors of numbers"
    many = f"{subject.samples} points are more than exact_points = {settings.exact_points}" if large else numbers
    tail = _no_last_layer(subject)
    rungs = [_rung("constant", Constant())]
    if numbers:
        rungs += [_rung(name, None, numbers) for name in ("linear", "Laplace kernel")]
    else:
        x = vectors(points).double()
        typical = float((2 * x.var(0, unbiased=False).sum()).sqrt()) or 1.0
        rungs.append(_rung("linear", KernelRidge(PolynomialKernel(1), **ridge)))
        rungs.append(_rung("Laplace kernel", KernelRidge(Laplace(typical), **ridge)))
    rungs.append(_rung("feature machine", None if many else RecursiveFeatureMachine("laplace"), many))

    def frozen(step: int, kind: Literal["tangent", "conjugate"]) -> FrozenKernel:
        return FrozenKernel(subject.network, subject.rule, step, kind, solver)

    rungs.append(_rung("conjugate kernel", None if tail else frozen(0, "conjugate"), tail))
    rungs.append(_rung("tangent kernel", frozen(0, "tangent")))
    rungs.append(_rung(TRAINED_KERNEL, frozen(subject.steps, "tangent")))
    return rungs


def _trained(subject: Subject, settings: AuditSettings) -> list[Rung]:
    """Rungs that train parts of the model by its own rule."""
    rule, tail = subject.own_rule, _no_last_layer(subject)
    no_rule = "" if rule else f"{type(subject.rule).__name__} trains the model in stages of its own"

    def trained(name: str, make: Callable[[ByOptimiser], Learner], unless: str = "") -> Rung:
        why = no_rule or unless
        return _rung(name, None if why or rule is None else make(rule), why)

    network, steps = subject.network, subject.steps
    early = max(1, round(settings.frozen_after * steps))
    one = "" if len(subject.blocks) > 1 else "the model has a single block"
    return [
        trained("last layer", lambda own: TrainedNetwork(network, in_group(own, "last")), tail),
        trained(LINEARISED, lambda own: TrainedNetwork(Linearised(network), own)),
        trained(LAYERWISE, lambda own: TrainedNetwork(network, Blockwise(own, subject.block_names)), one),
        trained(
            "early features",
            lambda own: TrainedNetwork(network, Staged.frozen_after(own, early)),
            tail or ("" if early < steps else "training has a single step"),
        ),
        _rung(MODEL, TrainedNetwork(network, subject.rule)),
    ]


def in_group(rule: ByOptimiser, group: str) -> ByOptimiser:
    """The same rule for a group of parameters."""
    return dataclasses.replace(rule, group=group)  # pyright: ignore[reportArgumentType]


def _no_last_layer(subject: Subject) -> str:
    """Why the model has no last linear layer, or nothing if it has one."""
    return "" if subject.has_features else "the model does not end with a linear layer on vectors"

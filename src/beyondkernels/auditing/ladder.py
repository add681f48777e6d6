"""The ladder: from the constant to the model, each rung may use a little more than the one below."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from beyondkernels.algorithms import Algorithm, Blockwise, Staged
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Learner, require, unknown
from beyondkernels.engine import FrozenKernel, TrainedNetwork
from beyondkernels.kernels import (
    Constant,
    Gaussian,
    Kernel,
    Laplace,
    PolynomialKernel,
    RecursiveFeatureMachine,
    TunedKernel,
)
from beyondkernels.kernels.feature_machines.machine import feature_machine_bytes
from beyondkernels.networks import Linearised, ModuleNetwork, Network

Kind = Literal["floor", "fixed", "learning", "model"]
"""What a rung may do: nothing; fit fixed features; learn features in another way; what the model does."""

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
LAST = "last layer"
MACHINE = "RBF support vector machine"

BANDWIDTHS = (1.0, 0.25, 4.0, 16.0)
"""Bandwidths of the Laplace kernel, relative to the typical distance of two points. The first wins where equal."""

SQUARED_BANDWIDTHS = (0.5, 0.125, 2.0, 8.0)
"""Bandwidths of Gaussian kernels, relative to its square. The first is scikit-learn's ``gamma="scale"``."""

MACHINE_POINTS = 10_000
"""Training points up to which there is a support vector machine on the inputs."""

_EXACT_BYTES = 5 * 8
"""Bytes that an exact kernel method takes for each pair of training points: five matrices."""


@dataclass(frozen=True)
class Rung:
    """A learner of the ladder.

    Arguments:
        name: what it is called in tables.
        make: makes what learns; None where it cannot be had.
        why: why it cannot.
        drawn: whether it depends on random numbers besides the sample.
    """

    name: str
    make: Callable[[], Learner] | None
    why: str = ""
    drawn: bool = True

    @property
    def kind(self) -> Kind:
        """What it may do."""
        return ABOUT[self.name][0]

    @property
    def about(self) -> str:
        """What it is, in a sentence."""
        return ABOUT[self.name][1]


def ladder(subject: Subject, settings: AuditSettings, workers: int = 1) -> list[Rung]:
    """All rungs, the constant first and the model last; what cannot be had says why.

    Arguments:
        subject: what is audited.
        settings: how.
        workers: how many rungs share the memory.
    """
    for name in settings.without:
        if name not in ABOUT or name == MODEL:
            unknown("rung in without", name, [each for each in ABOUT if each != MODEL])
    by_name = {rung.name: rung for rung in (*_kernels(subject, settings, workers), *_trained(subject, settings))}
    return [by_name[name] for name in ABOUT if name not in settings.without]


ABOUT: dict[str, tuple[Kind, str]] = {
    "constant": ("floor", "The mean of the labels, or the largest class."),
    "linear": ("fixed", "The inputs, with the kernel ⟨x, x′⟩ + 1."),
    "Laplace kernel": ("fixed", "A Laplace kernel; its bandwidth is chosen on the training points."),
    "Gaussian kernel": ("fixed", "A Gaussian kernel; its bandwidth is chosen on the training points."),
    MACHINE: (
        "fixed",
        "A Gaussian kernel on standardised inputs, by hinge loss; bandwidth and penalty chosen on training points.",
    ),
    LAST: ("fixed", "The model with all but its last layer frozen at the start, by its own training rule."),
    "conjugate kernel": ("fixed", "What enters the last layer at the start, with the kernel of inner products."),
    "tangent kernel": ("fixed", "The tangent kernel at the start."),
    LINEARISED: ("fixed", "The model's first-order expansion at its start, by the model's own training rule."),
    "feature machine": ("learning", "A recursive feature machine: a Laplace kernel that learns its metric."),
    LAYERWISE: ("learning", "The model, one block after the other, each with a linear head of its own."),
    "early features": ("learning", "The model with all but its last layer frozen early in training."),
    TRAINED_KERNEL: ("learning", "The tangent kernel of the trained model."),
    MODEL: ("model", "The model itself."),
}
"""Every rung by its name: what it may do, and what it is."""


def solved_exactly(subject: Subject, settings: AuditSettings) -> bool:
    """Whether kernels are solved exactly; otherwise the iterative solver takes over.

    Arguments:
        subject: what is audited.
        settings: how.
    """
    return subject.samples <= settings.exact_points


def workers_that_fit(workers: int, subject: Subject, settings: AuditSettings) -> int:
    """How many workers can solve for a kernel at the same time within the memory, at least one.

    Arguments:
        workers: how many there may be.
        subject: what is audited.
        settings: how.
    """
    if "ladder" not in settings.parts:
        return workers
    exact = solved_exactly(subject, settings)
    needed, given = _EXACT_BYTES * subject.samples**2, settings.memory * 1e9
    require(
        not exact or needed <= given,
        f"memory must be at least {needed / 1e9:.3g} gigabytes to solve exactly for kernels of {subject.samples} "
        f"points, got {settings.memory:g}; exact_points={subject.samples - 1} takes the iterative solver",
    )
    return max(1, min(workers, int(given / needed))) if exact else 1


def _kernels(subject: Subject, settings: AuditSettings, workers: int) -> list[Rung]:
    """Rungs that solve for a minimum and need no training rule, but for the kernel of the trained model."""
    large = not solved_exactly(subject, settings)
    solver = "iterative" if large else "exact"
    no_numbers = "" if subject.distance else "the points are no vectors of numbers"
    many = f"{subject.samples} points are more than exact_points = {settings.exact_points}" if large else ""

    memory = round(settings.memory * 1e9 / workers)
    needed = feature_machine_bytes(subject.samples)
    tight = f"it would take {needed / 1e9:.3g} of {memory / 1e9:.3g} gigabytes" if needed > memory else ""

    def tuned(*kernels: Kernel) -> TunedKernel:
        return TunedKernel(kernels, solver=solver, memory=memory)

    def machine() -> TunedKernel:
        # The typical distance of inputs whose variances add up to one is √2.
        gaussians = tuple(Gaussian(2 * factor) for factor in SQUARED_BANDWIDTHS)
        return TunedKernel(gaussians, ("hinge",), standardised=True, memory=memory)

    n, exact = subject.samples, _EXACT_BYTES * subject.samples**2
    no_machine = "" if subject.classes else "the labels are numbers"
    if n > MACHINE_POINTS:
        no_machine = no_machine or f"{n} points are more than {MACHINE_POINTS}"
    elif exact > memory:
        no_machine = no_machine or f"it would take {exact / 1e9:.3g} of {memory / 1e9:.3g} gigabytes"

    def frozen(step: int, kind: Literal["tangent", "conjugate"]) -> FrozenKernel:
        return FrozenKernel(subject.network, subject.rule, step, kind, solver, memory)

    return [
        Rung("constant", Constant, drawn=False),
        _unless(no_numbers, "linear", lambda: tuned(PolynomialKernel(1)), drawn=large),
        _unless(
            no_numbers,
            "Laplace kernel",
            lambda: tuned(*(Laplace(factor * subject.distance) for factor in BANDWIDTHS)),
            drawn=large,
        ),
        _unless(
            no_numbers,
            "Gaussian kernel",
            lambda: tuned(*(Gaussian(factor * subject.distance**2) for factor in SQUARED_BANDWIDTHS)),
            drawn=large,
        ),
        _unless(no_numbers or no_machine, MACHINE, machine, drawn=False),
        _unless(
            no_numbers or many or tight,
            "feature machine",
            lambda: RecursiveFeatureMachine("laplace", memory=memory, fit_intercept=True),
            drawn=False,
        ),
        _unless(_no_last_layer(subject), "conjugate kernel", lambda: frozen(0, "conjugate")),
        _unless(subject.no_tangent, "tangent kernel", lambda: frozen(0, "tangent")),
        _unless(subject.no_tangent, TRAINED_KERNEL, lambda: frozen(subject.steps, "tangent")),
    ]


def _trained(subject: Subject, settings: AuditSettings) -> list[Rung]:
    """Rungs that train the model, or parts of it, by its own rule."""
    network, steps = subject.network, subject.steps
    no_rule = "" if subject.own_rule else f"{type(subject.rule).__name__} trains the model in stages of its own"
    no_tail = no_rule or _no_last_layer(subject) or subject.no_last_layer
    tailed, tail = _last_group(subject)
    early = max(1, round(settings.frozen_after * steps))

    def trained(
        rule: Callable[[ByOptimiser], Algorithm], what: Callable[[], Network] = lambda: network
    ) -> Callable[[], Learner]:
        def make() -> Learner:
            assert subject.own_rule is not None, "asked for only where there is one"
            return TrainedNetwork(what(), rule(subject.own_rule))

        return make

    return [
        _unless(no_tail, LAST, trained(lambda own: in_group(own, tail), lambda: tailed)),
        _unless(
            no_rule or subject.no_expansion,
            LINEARISED,
            trained(lambda own: own, lambda: Linearised(network, in_evaluation=isinstance(network, ModuleNetwork))),
        ),
        _unless(
            no_rule or ("" if len(subject.blocks) > 1 else "the model has a single block"),
            LAYERWISE,
            trained(lambda own: Blockwise(own, subject.block_names)),
        ),
        _unless(
            no_tail or ("" if early < steps else "training has a single step"),
            "early features",
            trained(lambda own: Staged.frozen_after(own, early, tail), lambda: tailed),
        ),
        Rung(MODEL, lambda: TrainedNetwork(network, subject.rule)),
    ]


def _unless(why: str, name: str, make: Callable[[], Learner], drawn: bool = True) -> Rung:
    """A rung, unless there is a reason why it cannot be had."""
    return Rung(name, None if why else make, why, drawn)


def in_group(rule: ByOptimiser, group: str) -> ByOptimiser:
    """The same rule for a group of parameters."""
    return dataclasses.replace(rule, group=group)  # pyright: ignore[reportArgumentType]


def _last_group(subject: Subject) -> tuple[Network, str]:
    """The model with a group of parameters that holds its last layer alone, and the name of that group.

    The last block is this group if it is a linear layer and no more. A larger block would train features, too.
    """
    network = subject.network
    if not isinstance(network, ModuleNetwork) or set(network.groups()["last"]) == set(subject.last_layer):
        return network, "last"
    parts = {**network.parts, LAST: subject.last_layer}
    return dataclasses.replace(network, parts=parts), LAST  # pyright: ignore[reportArgumentType]


def _no_last_layer(subject: Subject) -> str:
    """Why the model has no last linear layer, or nothing if it has one."""
    return "" if subject.has_features else "the model does not end with a linear layer on vectors"

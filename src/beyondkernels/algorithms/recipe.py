"""Training as people ask for it: a loss, an optimiser and a schedule by name, a number of epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from beyondkernels.algorithms.descent import Descent
from beyondkernels.algorithms.losses import ClassHinge, CrossEntropy, Hinge, Loss, Softmax, Squared
from beyondkernels.algorithms.optimisers import Chain, Cosine, Drops, Schedule, adam, adamw, chain, sgd
from beyondkernels.algorithms.optimisers.rules import Decay
from beyondkernels.core import Checked, Component, Problem, require, unknown
from beyondkernels.core.constraints import not_negative, positive

LOSSES: Mapping[str, tuple[Callable[[], Loss], Callable[[], Loss]]] = {
    "squared": (Squared, Squared),
    "hinge": (Hinge, ClassHinge),
    "logistic": (CrossEntropy, Softmax),
    "cross_entropy": (CrossEntropy, Softmax),
}
"""Each loss by its name: for one output, whose labels are ±1 if they are classes, and for an output for each class."""

RATES = {"adam": 1e-3, "adamw": 1e-3, "sgd": 0.1}
"""The usual first rates of the optimisers."""

BATCH, EPOCHS = 64, 20


def named_loss(name: str, out_dim: int, classes: bool) -> Loss:
    """The loss of a name.

    Arguments:
        name: one of ``LOSSES``.
        out_dim: how many numbers a prediction has.
        classes: whether labels are classes.

    >>> named_loss("cross_entropy", out_dim=10, classes=True)
    Softmax()
    """
    if name not in LOSSES:
        unknown("loss", name, LOSSES)
    require(
        classes or name == "squared",
        f"loss must be 'squared' for labels that are numbers, got {name!r}, which is for classes",
    )
    return LOSSES[name][out_dim > 1]()


@dataclass(frozen=True)
class Recipe(Checked):
    """How to train a model.

    Arguments:
        loss: ``squared``, ``hinge``, ``logistic`` or ``cross_entropy``, or a loss; None is the cross entropy for
            classes and the squared error for numbers.
        optimiser: ``adam``, ``adamw`` or ``sgd``, or a chain of rules that ends with its rate.
        rate: the first learning rate; None is the optimiser's usual one.
        epochs: how often all points are used.
        steps: how many steps are taken, in place of ``epochs``.
        batch: points in a step; None is 64, or all if there are fewer.
        schedule: ``constant``, ``cosine`` to zero, or ``step``: a tenth after half of the steps and after three
            quarters.
        weight_decay: of AdamW the decoupled decay, of the others L2 regularisation.
        momentum: of SGD.

    >>> Recipe(rate=0.01, epochs=2, batch=10).steps_on(100)
    20
    """

    loss: str | Component | None = None
    optimiser: Literal["adam", "adamw", "sgd"] | Chain = "adam"
    rate: Annotated[float, positive] | None = None
    epochs: Annotated[float, positive] | None = None
    steps: Annotated[int, positive] | None = None
    batch: Annotated[int, positive] | None = None
    schedule: Literal["constant", "cosine", "step"] = "constant"
    weight_decay: Annotated[float, not_negative] = 0.0
    momentum: Annotated[float, not_negative] = 0.9

    def __post_init__(self) -> None:
        require(self.epochs is None or self.steps is None, "either epochs or steps can be given, got both")
        if not isinstance(self.optimiser, str):
            require(
                self.rate is None and self.weight_decay == 0 and self.schedule == "constant",
                "rate, weight_decay and schedule belong to an optimiser given by its name, got a chain of rules, which "
                "has its own",
            )

    def batch_on(self, n: int) -> int:
        """Points in a step on a sample of n points."""
        return min(self.batch or BATCH, n)

    def steps_on(self, n: int) -> int:
        """How many steps are taken on a sample of n points."""
        return self.steps or max(1, round((self.epochs or EPOCHS) * max(1, n // self.batch_on(n))))

    def objective(self, problem: Problem) -> Loss:
        """The loss for a problem."""
        classes = bool(getattr(problem, "classes", ()))
        if isinstance(self.loss, Loss):
            return self.loss
        if self.loss is None:
            return named_loss("cross_entropy" if classes else "squared", problem.out_dim, classes)
        return named_loss(str(self.loss), problem.out_dim, classes or not hasattr(problem, "classes"))

    def rule(self, problem: Problem, n: int) -> Descent:
        """The training rule on n points of a problem."""
        batch, steps = self.batch_on(n), self.steps_on(n)
        whole = None if batch == n else batch
        return Descent(steps, self._optimiser(steps), whole, objective=self.objective(problem))

    def _optimiser(self, steps: int) -> Chain:
        if not isinstance(self.optimiser, str):
            return chain(self.optimiser)
        rate = self._rate(self.optimiser, steps)
        if self.optimiser == "sgd":
            return sgd(rate, self.momentum, self.weight_decay)
        if self.optimiser == "adamw":
            return adamw(rate, self.weight_decay)
        return chain(Decay(self.weight_decay), adam(rate)) if self.weight_decay else adam(rate)

    def _rate(self, name: str, steps: int) -> Schedule | float:
        first = self.rate or RATES[name]
        if self.schedule == "cosine":
            return Cosine(first, steps)
        drops = (math.ceil(steps / 2), math.ceil(3 * steps / 4))
        return Drops(first, drops) if self.schedule == "step" else first

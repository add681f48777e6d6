"""What an optimiser is: pure rules that turn a gradient into a step, and that compose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch

from beyondkernels.core import Component, Stream, Tensors
from beyondkernels.core.constraints import not_empty
from beyondkernels.core.fields import Checked


class Change(NamedTuple):
    r"""What is to become of some parameters.

    .. math:: \theta \leftarrow \kappa\,\theta - u

    Arguments:
        direction: u, by the name of the parameter; at first the gradient.
        keep: κ, the part of the old parameters that stays; None keeps them whole.
        scale: a factor with which every direction is still to be multiplied; None is 1. Only ``update_alone`` leaves
            one behind, so that the product and the difference are taken in one pass through memory.
    """

    direction: Tensors
    keep: torch.Tensor | None = None
    scale: torch.Tensor | None = None

    def scaled(self) -> Change:
        """The same change without a factor that is still to come."""
        if self.scale is None:
            return self
        return Change({name: self.scale * value for name, value in self.direction.items()}, self.keep)


class Optimiser(Component, Checked, ABC):
    """One rule of an optimiser: changes a :class:`Change`, with a state of its own.

    ``update`` is pure and made of tensors only: no branch depends on a tensor, and random numbers are drawn outside.
    It is vmapped over members whose ``hyper`` differ; what is the same for all of them is the ``program``.
    """

    @abstractmethod
    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        """The next change and state.

        Arguments:
            change: what the rules before this one made of the gradient; holds the trained parameters only.
            state: the state before.
            params: all parameters.
            hyper: what ``hyper_of`` says of this step, as tensors.
            noise: what ``noise`` drew for this step.
        """

    def update_alone(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        """The same for a single network that is never vmapped, in fewer passes through memory.

        It may change the tensors of ``state`` in place, but not those of ``change`` and ``params``. The result may
        differ from that of ``update`` by rounding errors.
        """
        return self.update(change.scaled(), state, params, hyper, noise)

    @abstractmethod
    def program(self) -> Hashable:
        """Equal for rules whose ``update`` differs in nothing but ``hyper`` and ``noise``."""

    def state(self, params: Tensors) -> Tensors:
        """What the rule remembers before the first step, such as zero velocities; nothing by default."""
        return {}

    def slots(self) -> tuple[str, ...]:
        """What the names in the state, ``hyper`` and ``noise`` begin with."""
        return ()

    def hyper_of(self, steps: range) -> dict[str, list[float]]:
        """The numbers of some steps, counted from 1."""
        return {}

    def noise(self, params: Tensors, stream: Stream) -> Tensors:
        """The random numbers of one step, from a stream that is already at that step."""
        return {}


@dataclass(frozen=True)
class Chain(Optimiser):
    """Rules one after the other: each takes what the one before it gives. See :func:`chain`.

    Arguments:
        parts: the rules.
    """

    parts: Annotated[tuple[Optimiser, ...], not_empty]

    def __post_init__(self) -> None:
        # A chain of chains is one chain, so that two ways of writing a rule have one identity.
        flat = tuple(inner for part in self.parts for inner in (part.parts if isinstance(part, Chain) else (part,)))
        object.__setattr__(self, "parts", flat)

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        return self._passed_on("update", change, state, params, hyper, noise)

    def update_alone(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        return self._passed_on("update_alone", change, state, params, hyper, noise)

    def _passed_on(
        self, method: str, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        after = dict(state)
        for tag, part in self.tagged():
            own = (_without(tag, each) for each in (hyper, noise))
            change, moved = getattr(part, method)(change, _without(tag, state), params, *own)
            after |= _with(tag, moved)
        return change, after

    def program(self) -> Hashable:
        return tuple(part.program() for part in self.parts)

    def state(self, params: Tensors) -> Tensors:
        return {name: value for tag, part in self.tagged() for name, value in _with(tag, part.state(params)).items()}

    def slots(self) -> tuple[str, ...]:
        return tuple(f"{tag}{slot}" for tag, part in self.tagged() for slot in part.slots())

    def hyper_of(self, steps: range) -> dict[str, list[float]]:
        return {f"{tag}{name}": values for tag, part in self.tagged() for name, values in part.hyper_of(steps).items()}

    def noise(self, params: Tensors, stream: Stream) -> Tensors:
        """Those of the parts, each from a stream of its own."""
        found: Tensors = {}
        for i, (tag, part) in enumerate(self.tagged()):
            found |= _with(tag, part.noise(params, stream.child(str(i))))
        return found

    def tagged(self) -> list[tuple[str, Optimiser]]:
        """Each part with a prefix for its names: its number, where another part before it uses such names."""
        taken: set[str] = set()
        tagged = []
        for i, part in enumerate(self.parts):
            # Only where names clash: "rate" and "momentum" stay what the compiled steps look for.
            tagged.append((f"{i}:" if taken & set(part.slots()) else "", part))
            taken |= set(part.slots())
        return tagged


def chain(*parts: Optimiser) -> Chain:
    r"""An optimiser from rules: each takes what the one before it gives, from the gradient to the step.

    >>> from beyondkernels.algorithms.optimisers import Adam, ClipNorm, Rate, WarmUp, Cosine
    >>> rule = chain(ClipNorm(1.0), Adam(), Rate(WarmUp(10, Cosine(1e-3, steps=100))))
    >>> [round(rate, 6) for rate in rule.hyper_of(range(1, 4))["rate"]]
    [0.0001, 0.0002, 0.0003]

    Arguments:
        parts: the rules, such as :class:`ClipNorm`, :class:`Decay`, :class:`Momentum`, :class:`Adam`,
            :class:`GradientNoise` and :class:`Rate`, in the order in which they act. ``Decay`` in front of ``Adam`` is
            L2 regularisation; between ``Adam`` and ``Rate`` it is the decoupled decay of AdamW.
    """
    return Chain(parts)


def descend(
    rule: Optimiser,
    gradient: Tensors,
    state: Tensors,
    params: Tensors,
    hyper: Tensors,
    noise: Tensors,
    *,
    alone: bool = False,
) -> tuple[Tensors, Tensors]:
    """One step: the parameters and the state after it.

    Arguments:
        rule: the optimiser.
        gradient: the gradient in the parameters that are trained; the others stay.
        state: the optimiser's state.
        params: all parameters.
        hyper: the optimiser's numbers of this step.
        noise: the optimiser's random numbers of this step.
        alone: whether this is a single network, never vmapped, whose parameters and state are changed in place. New
            tensors for all of them would take a third of a small network's step.
    """
    if alone:
        return params, _in_place(rule, gradient, state, params, hyper, noise)
    change, after = rule.update(Change(gradient), state, params, hyper, noise)
    moved = dict(params)
    for name, direction in change.direction.items():
        kept = params[name] if change.keep is None else change.keep * params[name]
        moved[name] = kept - direction
    return moved, after


def _in_place(
    rule: Optimiser, gradient: Tensors, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
) -> Tensors:
    change, after = rule.update_alone(Change(gradient), state, params, hyper, noise)
    # Negated once, so that product and difference are a single addcmul over the parameter.
    down = None if change.scale is None else -change.scale
    for name, direction in change.direction.items():
        kept = params[name] if change.keep is None else params[name].mul_(change.keep)
        _ = kept.sub_(direction) if down is None else kept.addcmul_(direction, down)
    return after


def _with(tag: str, tensors: Tensors) -> Tensors:
    return {tag + name: value for name, value in tensors.items()} if tag else tensors


def _without(tag: str, tensors: Tensors) -> Tensors:
    if not tag:
        return tensors
    return {name.removeprefix(tag): value for name, value in tensors.items() if name.startswith(tag)}

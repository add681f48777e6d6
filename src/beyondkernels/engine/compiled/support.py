"""Which networks and algorithms the compiled backend supports, and which code trains each."""

from __future__ import annotations

from beyondkernels.activations import ReLU
from beyondkernels.algorithms import Algorithm, declared_rule
from beyondkernels.engine.compiled import descent, one_pass, smoothed
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import Network, declared_form


def refusal(network: Network, algorithm: Algorithm) -> str | None:
    """Why this network cannot be trained by this algorithm on the compiled backend; None if it can."""
    form = declared_form(network)
    if form is None:
        return (
            "it trains FullyConnected and ThreeLayerResNet, and either of them Linearised, and networks that declare "
            f"a dense_form, not {_name(network)}"
        )
    if not isinstance(form.activation, ReLU):
        # The steps read its derivative off its output, and ReLU(0) = 0 keeps the neurons of the padding silent.
        return f"it knows the ReLU only, not {form.activation}"
    if form.scaled:
        # The scales of ntk stand in front of the weights, and the compiled passes know none.
        return "it knows the standard parameterisation only, not ntk"
    rules = [declared_rule(algorithm, stage) for stage in algorithm.stages()]
    if any(rule is None for rule in rules):
        return (
            "it trains by GradientDescent, Layerwise, OnePass, ThreeLayerSGD, and Descent with momentum or Adam, decay "
            f"and rate, not by this {type(algorithm).__name__}"
        )
    if any(rule is not None and rule.kind == "one pass" for rule in rules):
        # Algorithm 1 of the paper is about W and V of this form alone.
        fits = form.kind == "bottleneck" and not form.linearised
        return None if fits else "it trains by OnePass the bottleneck form of ThreeLayerResNet only"
    if any(rule is not None and rule.kind == "adam" for rule in rules) and form.linearised:
        return "it does not train by Adam what is Linearised"
    loss = algorithm.loss
    if all(rule is not None and rule.kind == "smoothed" for rule in rules):
        # Only the smoothed step multiplies by the factor in front of its loss.
        loss, _ = descent.without_factor(loss)
    if type(loss) not in descent.LOSSES:
        known = " and ".join(loss.__name__ for loss in descent.LOSSES)
        return f"it knows the losses {known} only, not {type(loss).__name__}"
    return None


def prepare(network: Network, algorithm: Algorithm) -> None:
    """Compile what training needs, unless the cache holds it; an :class:`InputError` says what this machine lacks."""
    form = declared_form(network)
    plain = "linearised" if form is not None and form.linearised else "descent"
    sources = {"one pass": "one_pass", "adam": "adam", "descent": plain, "smoothed": "smoothed"}
    for stage in algorithm.stages():
        rule = declared_rule(algorithm, stage)
        library(plain if rule is None else sources[rule.kind])


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    rule = declared_rule(member.algorithm, member.stage)
    assert rule is not None
    ways = {
        "one pass": one_pass.advance,
        "adam": descent.advance_by_adam,
        "descent": descent.advance,
        "smoothed": smoothed.advance,
    }
    ways[rule.kind](member, steps)


def _name(network: Network) -> str:
    inner = getattr(network, "network", network)  # what is linearised counts, not that it is
    return type(inner).__name__

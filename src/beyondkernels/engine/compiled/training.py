"""Which networks and rules the compiled backend knows, and by what each is trained."""

from __future__ import annotations

from beyondkernels.activations import ReLU
from beyondkernels.algorithms import Algorithm, GradientDescent, Layerwise, OnePass, Squared
from beyondkernels.engine.compiled import descent, one_pass
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import FullyConnected, Linearised, Network, ThreeLayerResNet


def refusal(network: Network, algorithm: Algorithm) -> str | None:
    """Why this network cannot be trained by this algorithm on the compiled backend; None if it can."""
    inner = network.network if type(network) is Linearised else network
    if type(inner) not in (FullyConnected, ThreeLayerResNet):
        return (
            f"it trains FullyConnected and ThreeLayerResNet, and either of them Linearised, not {type(inner).__name__}"
        )
    assert isinstance(inner, FullyConnected | ThreeLayerResNet)
    if not isinstance(inner.activation, ReLU):
        return f"it knows the ReLU only, not {inner.activation}"
    if inner.parameterisation.kind != "standard":
        return "it knows the standard parameterisation only, not ntk"
    if type(algorithm) is OnePass:
        fits = isinstance(network, ThreeLayerResNet) and network.form == "bottleneck"
        return None if fits else "it trains by OnePass the bottleneck form of ThreeLayerResNet only"
    if type(algorithm) not in (GradientDescent, Layerwise):
        return f"it trains by GradientDescent, Layerwise and OnePass, not {type(algorithm).__name__}"
    if not isinstance(algorithm.loss, Squared):
        return f"it knows the squared loss only, not {type(algorithm.loss).__name__}"
    return None


def prepare(network: Network, algorithm: Algorithm) -> None:
    """Compile what training needs, unless the cache holds it; an :class:`InputError` says what this machine lacks."""
    if isinstance(algorithm, OnePass):
        library("one_pass")
    else:
        library("linearised" if isinstance(network, Linearised) else "descent")


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    take = one_pass.advance if isinstance(member.algorithm, OnePass) else descent.advance
    take(member, steps)

"""The methods of Figure 2: networks trained by SGD, and kernels, trained by SGD or solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import beyondkernels as bk
from beyondkernels.experiments.resnet.held_out import points_of
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.experiments.resnet.fig2.settings import Fig2Settings
    from beyondkernels.experiments.resnet.search import Point
    from beyondkernels.kernels import Kernel
    from beyondkernels.networks import FullyConnected, ThreeLayerResNet
    from beyondkernels.problems import CompositeParity

NetworkName = Literal["3resnet", "3layer", "2layer"]
Regime = Literal["all", "hidden", "last", "NTK"]

_ANY_WIDTH = 1000  # the limits of infinite width do not depend on it


@dataclass(frozen=True)
class Method:
    """One curve of the figure.

    Arguments:
        network: which network.
        regime: what is trained: all layers, the hidden ones, the last one, or all of them in the tangent kernel.
        solved: whether a kernel is solved exactly or its network is trained by SGD.
    """

    network: NetworkName
    regime: Regime
    solved: bool = False

    @property
    def name(self) -> str:
        """As the figure calls it."""
        return f"{self.network} ({self.regime})" + (", by SGD" if self.kernel and not self.solved else "")

    @property
    def kernel(self) -> bool:
        """Whether it is a kernel method."""
        return self.regime in ("last", "NTK")


NETWORKS: tuple[NetworkName, ...] = ("3resnet", "3layer", "2layer")
KERNELS = tuple(Method(network, regime, solved=True) for regime in ("last", "NTK") for network in NETWORKS)
KERNELS_BY_SGD = tuple(Method(method.network, method.regime) for method in KERNELS)


def trained_methods(regime: Regime) -> tuple[Method, ...]:
    """What SGD trains: the networks in a regime, and the kernels."""
    return (*(Method(network, regime) for network in NETWORKS), *KERNELS_BY_SGD)


def problem_of(settings: Fig2Settings) -> CompositeParity:
    """H = F + αG(F) on uniform signs."""
    return bk.problems.CompositeParity(settings.dim, settings.outputs, settings.alpha)


def network_of(
    name: NetworkName, width: int, form: Literal["full", "bottleneck"] = "bottleneck"
) -> ThreeLayerResNet | FullyConnected:
    """A network of the figure, its weights and hidden biases from N(0, 1/m)."""
    start = bk.networks.popular_initialisation(width)
    if name == "3resnet":
        return bk.networks.ThreeLayerResNet(width, form, parameterisation=start)
    return bk.networks.FullyConnected(width, int(name[0]), parameterisation=start)


def trained_spec(method: Method, settings: Fig2Settings, width: int, point: Point, seed: int) -> RunSpec:
    """A network, or its linearisation, trained with one learning rate and weight decay.

    The test sample begins with the validation points: the record looks at those alone, the end at all.
    """
    rate, decay = point
    in_epoch = settings.samples // settings.batch
    steps = settings.epochs * in_epoch
    network, tangent = network_of(method.network, width), method.regime == "NTK"
    descent = bk.algorithms.GradientDescent(
        steps,
        rate,
        settings.batch,
        settings.momentum,
        decay,
        "all" if tangent else method.regime,
        bk.algorithms.Squared(),
        (settings.decay_epoch * in_epoch,),
    )
    learner = bk.engine.TrainedNetwork(
        bk.networks.Linearised(network) if tangent else network,
        descent,
        record_at=(steps,),
        record_points=settings.validation_samples,
        backend=settings.backend,
    )
    return RunSpec(problem_of(settings), learner, settings.samples, points_of(settings), seed)


def kernel_spec(method: Method, settings: Fig2Settings, width: int | None, seed: int) -> RunSpec:
    """Kernel ridge regression with the kernel of a network drawn with the run's seed; width None for infinite width."""
    learner = bk.kernels.KernelRidge(_kernel(method, settings, width, seed))
    return RunSpec(problem_of(settings), learner, settings.samples, points_of(settings), seed)


def _kernel(method: Method, settings: Fig2Settings, width: int | None, seed: int) -> Kernel:
    tangent = method.regime == "NTK"
    if width is None:
        network = network_of(method.network, _ANY_WIDTH, form="full")
        return bk.kernels.infinite_tangent(network) if tangent else bk.kernels.infinite_conjugate(network)
    network = network_of(method.network, width)
    if tangent:
        return bk.kernels.FiniteTangent(network, seed, out_dim=settings.outputs)
    return bk.kernels.FiniteConjugate(network, seed, out_dim=settings.outputs)

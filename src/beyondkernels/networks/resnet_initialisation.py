"""The two initialisations in the paper on ResNets and kernels: that of its experiments, and that of Theorem 1."""

from __future__ import annotations

from beyondkernels.core import require, require_positive
from beyondkernels.core.errors import shown
from beyondkernels.networks.parameterisation import Parameterisation
from beyondkernels.networks.three_layer_resnet import ThreeLayerResNet


def popular_initialisation(width: int) -> Parameterisation:
    r"""All weights and hidden biases from one normal distribution, which does not depend on the inputs of a layer.

    .. math:: A_{ij},\ V_{ij},\ W_{ij},\ b_i \sim N(0, 1/m)

    For ``ThreeLayerResNet`` in both forms and for ``FullyConnected``. The readout has no bias.

    Arguments:
        width: m, the neurons of a hidden layer.

    >>> print(popular_initialisation(50))
    standard parameterisation: hidden weights 1/p, hidden biases 0.02, readout weights 1/p, no readout bias,
    input fan-in 50

    Reference: Allen-Zhu & Li (resnet), §8.1, Setup (where N(1, 1/m) is a slip for N(0, 1/m)).
    """
    require_positive("width", width)
    return Parameterisation(
        "standard", weight_variance=1.0, bias_variance=1 / width, readout_variance=1.0, input_fan_in=width
    )


def theorem_network(width: int, first_std: float, second_std: float) -> ThreeLayerResNet:
    r"""The bottleneck network with the initialisation of Theorem 1, where the biases are columns of W and V.

    .. math:: A_{ij} \sim N(0, 1/m), \qquad W_{ij},\ b_{1,i} \sim N(0, \sigma_w^2), \qquad
              V_{ij},\ b_{2,i} \sim N(0, \sigma_v^2/m)

    Arguments:
        width: m.
        first_std: :math:`\sigma_w`.
        second_std: :math:`\sigma_v`.

    >>> network = theorem_network(width=100, first_std=0.3, second_std=2.0)
    >>> initial_stds(network, in_dim=7, out_dim=3)
    (0.3, 2.0)

    Reference: Allen-Zhu & Li (resnet), §6.
    """
    require_positive("width", width)
    require_positive("first_std", first_std)
    require_positive("second_std", second_std)
    w, v = first_std**2, second_std**2 / width
    return ThreeLayerResNet(
        width,
        form="bottleneck",
        parameterisation=Parameterisation("standard", weight_variance=w, bias_variance=w, input_fan_in=1),
        second=Parameterisation("standard", weight_variance=v, bias_variance=v, input_fan_in=1),
    )


def initial_stds(network: ThreeLayerResNet, in_dim: int, out_dim: int) -> tuple[float, float]:
    r""":math:`\sigma_w` and :math:`\sigma_v` of a bottleneck network as Theorem 1 counts them: V's entries times √m.

    Arguments:
        network: in the bottleneck form.
        in_dim: d.
        out_dim: k.

    >>> network = ThreeLayerResNet(100, "bottleneck", parameterisation=popular_initialisation(100))
    >>> initial_stds(network, in_dim=30, out_dim=15)
    (0.1, 1.0)

    Reference: Allen-Zhu & Li (resnet), §6.
    """
    require(network.form == "bottleneck", f"network must be of the bottleneck form, got form={shown(network.form)}")
    W = network.parameterisation.layer(in_dim, of_inputs=True)
    V = (network.second or network.parameterisation).layer(out_dim, of_inputs=True)
    return W.weight_variance**0.5, (network.width * V.weight_variance) ** 0.5

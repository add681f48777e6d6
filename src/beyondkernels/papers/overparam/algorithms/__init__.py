"""The training rules of the paper on overparameterised networks, and its conditions on the loss."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.overparam.algorithms.conditions import (
    label_noise as label_noise,
    loss_conditions as loss_conditions,
)
from beyondkernels.papers.overparam.algorithms.three_layer_sgd import ThreeLayerSGD as ThreeLayerSGD
from beyondkernels.papers.overparam.algorithms.two_layer_sgd import TwoLayerSGD as TwoLayerSGD

_check_exports(globals())

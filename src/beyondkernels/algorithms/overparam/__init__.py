"""The training rules of the paper on overparameterised networks, and its conditions on the loss."""

from beyondkernels.algorithms.overparam.conditions import label_noise, loss_conditions, require_loss
from beyondkernels.algorithms.overparam.three_layer_sgd import ThreeLayerSGD
from beyondkernels.algorithms.overparam.two_layer_sgd import TwoLayerSGD

__all__ = ["ThreeLayerSGD", "TwoLayerSGD", "label_noise", "loss_conditions", "require_loss"]

"""The learners of the paper on overparameterised networks."""

from beyondkernels.networks.overparam.convolutional import ConvolutionalLearner
from beyondkernels.networks.overparam.three_layer import ThreeLayerLearner
from beyondkernels.networks.overparam.two_layer import TwoLayerLearner

__all__ = ["ConvolutionalLearner", "ThreeLayerLearner", "TwoLayerLearner"]

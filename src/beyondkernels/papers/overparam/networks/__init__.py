"""The learners of the paper on overparameterised networks."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.overparam.networks.convolutional import ConvolutionalLearner as ConvolutionalLearner
from beyondkernels.papers.overparam.networks.infinite_width import InfiniteLearnerTangent as InfiniteLearnerTangent
from beyondkernels.papers.overparam.networks.three_layer import ThreeLayerLearner as ThreeLayerLearner
from beyondkernels.papers.overparam.networks.two_layer import TwoLayerLearner as TwoLayerLearner

_check_exports(globals())

"""The learning problems of the paper on overparameterised networks: smooth ground truths of two and three layers."""

from beyondkernels.problems.overparam.convolutional import ConvolutionalTruth
from beyondkernels.problems.overparam.functions import PowerSeries, Sinh, smooth_function
from beyondkernels.problems.overparam.inputs import Padded, SignalInputs, UnitInputs, padded, require_unit_inputs
from beyondkernels.problems.overparam.interval import IntervalFunction
from beyondkernels.problems.overparam.patches import Patches, gathered, windows
from beyondkernels.problems.overparam.three_layer import ThreeLayerTruth
from beyondkernels.problems.overparam.truth import GroundTruth
from beyondkernels.problems.overparam.two_layer import TwoLayerTruth
from beyondkernels.problems.overparam.weights import GivenWeights

__all__ = [
    "ConvolutionalTruth",
    "GivenWeights",
    "GroundTruth",
    "IntervalFunction",
    "Padded",
    "Patches",
    "PowerSeries",
    "SignalInputs",
    "Sinh",
    "ThreeLayerTruth",
    "TwoLayerTruth",
    "UnitInputs",
    "gathered",
    "padded",
    "require_unit_inputs",
    "smooth_function",
    "windows",
]

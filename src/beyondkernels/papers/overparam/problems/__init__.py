"""The learning problems of the paper on overparameterised networks: smooth ground truths of two and three layers."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.overparam.problems.convolutional import ConvolutionalTruth as ConvolutionalTruth
from beyondkernels.papers.overparam.problems.inputs import (
    Padded as Padded,
    SignalInputs as SignalInputs,
    UnitInputs as UnitInputs,
    padded as padded,
    require_unit_inputs as require_unit_inputs,
)
from beyondkernels.papers.overparam.problems.interval import IntervalFunction as IntervalFunction
from beyondkernels.papers.overparam.problems.patches import Patches as Patches, gathered as gathered, windows as windows
from beyondkernels.papers.overparam.problems.three_layer import ThreeLayerTruth as ThreeLayerTruth
from beyondkernels.papers.overparam.problems.truth import GroundTruth as GroundTruth
from beyondkernels.papers.overparam.problems.two_layer import TwoLayerTruth as TwoLayerTruth
from beyondkernels.papers.overparam.problems.weights import GivenWeights as GivenWeights

_check_exports(globals())

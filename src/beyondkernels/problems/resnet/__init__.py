"""The learning problems of the ResNet paper: composite targets, hard instances, and the monomial of §8.2."""

from beyondkernels.problems.resnet.composite import CompositeProblem
from beyondkernels.problems.resnet.functions import Exponential, Rescaled, Sigmoid, rescaled, split
from beyondkernels.problems.resnet.general import DrawnGeneralMap, GeneralForm, GeneralMap
from beyondkernels.problems.resnet.hard import HardInstance
from beyondkernels.problems.resnet.inputs import (
    Alike,
    Background,
    Biased,
    Cube,
    CubeWithBackground,
    FunctionBackground,
    Gaussian,
    Inputs,
    Sphere,
)
from beyondkernels.problems.resnet.linear_base import LinearThenPolynomial
from beyondkernels.problems.resnet.maps import CircleMap, DrawnMap, GivenMap, SmoothMap, TwoLayerMap, absorbed
from beyondkernels.problems.resnet.monomial import AllPoints, Monomial, widened
from beyondkernels.problems.resnet.parity import CompositeParity
from beyondkernels.problems.resnet.powers import product_as_powers, product_map
from beyondkernels.problems.resnet.risk import Risk
from beyondkernels.problems.resnet.smooth import SmoothComposite
from beyondkernels.problems.resnet.spectrum import distance

__all__ = [
    "Alike",
    "AllPoints",
    "Background",
    "Biased",
    "CircleMap",
    "CompositeParity",
    "CompositeProblem",
    "Cube",
    "CubeWithBackground",
    "DrawnGeneralMap",
    "DrawnMap",
    "Exponential",
    "FunctionBackground",
    "Gaussian",
    "GeneralForm",
    "GeneralMap",
    "GivenMap",
    "HardInstance",
    "Inputs",
    "LinearThenPolynomial",
    "Monomial",
    "Rescaled",
    "Risk",
    "Sigmoid",
    "SmoothComposite",
    "SmoothMap",
    "Sphere",
    "TwoLayerMap",
    "absorbed",
    "distance",
    "product_as_powers",
    "product_map",
    "rescaled",
    "split",
    "widened",
]

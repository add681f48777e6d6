"""Kernels given by a formula in two points, and random features that approach them."""

from beyondkernels.kernels.classical.arcsin import Arcsin
from beyondkernels.kernels.classical.correlation import Correlation
from beyondkernels.kernels.classical.distances import squared_distances
from beyondkernels.kernels.classical.drawn_maps import DerivativeFeatures, ParityFeatures
from beyondkernels.kernels.classical.function import FunctionKernel
from beyondkernels.kernels.classical.gaussian import Gaussian
from beyondkernels.kernels.classical.inverse_polynomial import InversePolynomial, Recursive
from beyondkernels.kernels.classical.laplace import Laplace
from beyondkernels.kernels.classical.polynomial import PolynomialKernel
from beyondkernels.kernels.classical.random_features import (
    FourierFeatures,
    FunctionFeatures,
    GaussianFeatures,
    RandomFeatureKernel,
    RandomFeatures,
)

__all__ = [
    "Arcsin",
    "Correlation",
    "DerivativeFeatures",
    "FourierFeatures",
    "FunctionFeatures",
    "FunctionKernel",
    "Gaussian",
    "GaussianFeatures",
    "InversePolynomial",
    "Laplace",
    "ParityFeatures",
    "PolynomialKernel",
    "RandomFeatureKernel",
    "RandomFeatures",
    "Recursive",
    "squared_distances",
]

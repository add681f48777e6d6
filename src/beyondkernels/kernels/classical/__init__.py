"""Kernels given by a formula in two points, and random features that approach them."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.classical.arcsin import Arcsin as Arcsin
from beyondkernels.kernels.classical.correlation import Correlation as Correlation
from beyondkernels.kernels.classical.drawn_maps import (
    DerivativeFeatures as DerivativeFeatures,
    ParityFeatures as ParityFeatures,
)
from beyondkernels.kernels.classical.function import FunctionKernel as FunctionKernel
from beyondkernels.kernels.classical.gaussian import Gaussian as Gaussian
from beyondkernels.kernels.classical.inverse_polynomial import (
    InversePolynomial as InversePolynomial,
)
from beyondkernels.kernels.classical.laplace import Laplace as Laplace
from beyondkernels.kernels.classical.polynomial import PolynomialKernel as PolynomialKernel
from beyondkernels.kernels.classical.random_features import (
    FourierFeatures as FourierFeatures,
    FunctionFeatures as FunctionFeatures,
    GaussianFeatures as GaussianFeatures,
    RandomFeatureKernel as RandomFeatureKernel,
    RandomFeatures as RandomFeatures,
)

_check_exports(globals())

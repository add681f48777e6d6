"""The learner networks of the paper on backward feature correction."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.bfc.networks.base import QuadraticNetwork as QuadraticNetwork
from beyondkernels.papers.bfc.networks.distilled import DistilledDenseNet as DistilledDenseNet
from beyondkernels.papers.bfc.networks.plain import QuadraticDenseNet as QuadraticDenseNet
from beyondkernels.papers.bfc.networks.polynomial_two_layer import PolynomialTwoLayer as PolynomialTwoLayer

_check_exports(globals())

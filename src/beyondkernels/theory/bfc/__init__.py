"""The paper on backward feature correction: symmetric tensors, coefficients by degree, features up to a rotation."""

from beyondkernels.theory.bfc.degrees import LayerAgreement, coefficients_norm, compared, layer_agreement, turns
from beyondkernels.theory.bfc.procrustes import aligned, linear_error, procrustes
from beyondkernels.theory.bfc.search import allowed_graphs, alpha_grid, architectures
from beyondkernels.theory.bfc.symmetric import induced, pairs, quartic, star, sym
from beyondkernels.theory.bfc.weights import QuadraticWeights

__all__ = [
    "LayerAgreement",
    "QuadraticWeights",
    "aligned",
    "allowed_graphs",
    "alpha_grid",
    "architectures",
    "coefficients_norm",
    "compared",
    "induced",
    "layer_agreement",
    "linear_error",
    "pairs",
    "procrustes",
    "quartic",
    "star",
    "sym",
    "turns",
]

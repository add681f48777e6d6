"""The paper on backward feature correction: its algorithm's numbers, symmetric tensors, coefficients, features."""

from beyondkernels.theory.bfc.best_fit import best_polynomial, best_second_layer
from beyondkernels.theory.bfc.constants import DenseNetSettings, practical, theorem1
from beyondkernels.theory.bfc.degrees import LayerAgreement, coefficients_norm, compared, layer_agreement, turns
from beyondkernels.theory.bfc.procrustes import aligned, distilled, linear_error, procrustes
from beyondkernels.theory.bfc.search import allowed_graphs, alpha_grid, architectures
from beyondkernels.theory.bfc.symmetric import induced, pairs, quartic, star, sym
from beyondkernels.theory.bfc.weights import QuadraticWeights

__all__ = [
    "DenseNetSettings",
    "LayerAgreement",
    "QuadraticWeights",
    "aligned",
    "allowed_graphs",
    "alpha_grid",
    "architectures",
    "best_polynomial",
    "best_second_layer",
    "coefficients_norm",
    "compared",
    "distilled",
    "induced",
    "layer_agreement",
    "linear_error",
    "pairs",
    "practical",
    "procrustes",
    "quartic",
    "star",
    "sym",
    "theorem1",
    "turns",
]

"""The paper on backward feature correction: its algorithm's numbers, symmetric tensors, coefficients, features."""

from beyondkernels.theory.bfc.best_fit import best_polynomial, best_second_layer
from beyondkernels.theory.bfc.best_in_span import BestInSpan
from beyondkernels.theory.bfc.constants import DenseNetSettings, practical, theorem1
from beyondkernels.theory.bfc.degrees import LayerAgreement, coefficients_norm, compared, layer_agreement, turns
from beyondkernels.theory.bfc.descent import descent_step, free_frames, random_frames, target_in_basis
from beyondkernels.theory.bfc.population import PopulationFit, hermite_grid
from beyondkernels.theory.bfc.procrustes import aligned, distilled, linear_error, padded, procrustes
from beyondkernels.theory.bfc.proof import ProofConstants, ProofNumbers, definition_b3
from beyondkernels.theory.bfc.search import allowed_graphs, alpha_grid, architectures
from beyondkernels.theory.bfc.symmetric import induced, pairs, quartic, star, sym
from beyondkernels.theory.bfc.weights import QuadraticWeights

__all__ = [
    "BestInSpan",
    "DenseNetSettings",
    "LayerAgreement",
    "PopulationFit",
    "ProofConstants",
    "ProofNumbers",
    "QuadraticWeights",
    "aligned",
    "allowed_graphs",
    "alpha_grid",
    "architectures",
    "best_polynomial",
    "best_second_layer",
    "coefficients_norm",
    "compared",
    "definition_b3",
    "descent_step",
    "distilled",
    "free_frames",
    "hermite_grid",
    "induced",
    "layer_agreement",
    "linear_error",
    "padded",
    "pairs",
    "practical",
    "procrustes",
    "quartic",
    "random_frames",
    "star",
    "sym",
    "target_in_basis",
    "theorem1",
    "turns",
]

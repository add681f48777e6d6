"""Shi, Wei & Liang, A theoretical analysis on feature learning in neural networks: its theorems and lemmas."""

from beyondkernels.theory.features.application import error_bound
from beyondkernels.theory.features.exact_steps import ExactSteps
from beyondkernels.theory.features.lemma5 import GoodNetwork, good_network
from beyondkernels.theory.features.lemma6 import activation_shares, first_error, pattern_gradients
from beyondkernels.theory.features.process import ProcessSettings, StepSettings
from beyondkernels.theory.features.theorem26 import as_theorem26, theorem26
from beyondkernels.theory.features.theorem34 import theorem34

__all__ = [
    "ExactSteps",
    "GoodNetwork",
    "ProcessSettings",
    "StepSettings",
    "activation_shares",
    "as_theorem26",
    "error_bound",
    "first_error",
    "good_network",
    "pattern_gradients",
    "theorem26",
    "theorem34",
]

"""Shi, Wei & Liang, A theoretical analysis on feature learning in neural networks: its theorems and lemmas."""

from beyondkernels.theory.features.application import error_bound
from beyondkernels.theory.features.ball_classifier import (
    BallClassifier,
    every_pattern,
    mean_floor,
    parity_norms,
    population_floor,
)
from beyondkernels.theory.features.corollary3 import KernelBallCertificate
from beyondkernels.theory.features.every_target import EveryTarget
from beyondkernels.theory.features.exact_steps import ExactSteps
from beyondkernels.theory.features.fixed_maps import FixedMap, FixedNeurons, FixedTangents, FixedWaves
from beyondkernels.theory.features.hinge_ball import BestInBall, least_hinge_loss
from beyondkernels.theory.features.kernel_ball import KernelBall
from beyondkernels.theory.features.lemma5 import GoodNetwork, good_network
from beyondkernels.theory.features.lemma6 import activation_shares, first_error, pattern_gradients
from beyondkernels.theory.features.process import ProcessSettings, StepSettings
from beyondkernels.theory.features.theorem2 import FixedFeatureCertificate, theorem2_bound
from beyondkernels.theory.features.theorem26 import as_theorem26, theorem26
from beyondkernels.theory.features.theorem34 import theorem34

__all__ = [
    "BallClassifier",
    "BestInBall",
    "EveryTarget",
    "ExactSteps",
    "FixedFeatureCertificate",
    "FixedMap",
    "FixedNeurons",
    "FixedTangents",
    "FixedWaves",
    "GoodNetwork",
    "KernelBall",
    "KernelBallCertificate",
    "ProcessSettings",
    "StepSettings",
    "activation_shares",
    "as_theorem26",
    "error_bound",
    "every_pattern",
    "first_error",
    "good_network",
    "least_hinge_loss",
    "mean_floor",
    "parity_norms",
    "pattern_gradients",
    "population_floor",
    "theorem2_bound",
    "theorem26",
    "theorem34",
]

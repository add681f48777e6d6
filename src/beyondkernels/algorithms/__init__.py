"""Training rules: stages of pure steps."""

from beyondkernels.algorithms import bfc, optimisers, overparam, statistical_queries
from beyondkernels.algorithms.base import Algorithm, Batch, CompiledRule, Stage, StepResult, declared_rule
from beyondkernels.algorithms.bfc import DenseNetSGD, Joining
from beyondkernels.algorithms.blockwise import Blockwise, Corrected
from beyondkernels.algorithms.descent import ByOptimiser, Descent
from beyondkernels.algorithms.feature_learning import FeatureLearning
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.layerwise import Layerwise
from beyondkernels.algorithms.losses import (
    ClassHinge,
    ClassWeighted,
    CrossEntropy,
    Hinge,
    Loss,
    PseudoHuber,
    Scaled,
    Softmax,
    Squared,
)
from beyondkernels.algorithms.one_pass import OnePass
from beyondkernels.algorithms.overparam import ThreeLayerSGD, TwoLayerSGD
from beyondkernels.algorithms.recipe import LOSSES, Recipe, named_loss
from beyondkernels.algorithms.sgd import GradientDescent
from beyondkernels.algorithms.staged import Staged
from beyondkernels.algorithms.view import MemberView, Transition

__all__ = [
    "LOSSES",
    "Algorithm",
    "Batch",
    "Blockwise",
    "ByOptimiser",
    "ClassHinge",
    "ClassWeighted",
    "CompiledRule",
    "Corrected",
    "CrossEntropy",
    "DenseNetSGD",
    "Descent",
    "FeatureLearning",
    "GradientDescent",
    "Hinge",
    "Joining",
    "Layerwise",
    "Loss",
    "MemberView",
    "OnePass",
    "PseudoHuber",
    "Recipe",
    "Scaled",
    "Softmax",
    "Squared",
    "Stage",
    "Staged",
    "StepResult",
    "ThreeLayerSGD",
    "Transition",
    "TwoLayerSGD",
    "bfc",
    "declared_rule",
    "loss_and_gradient",
    "named_loss",
    "optimisers",
    "overparam",
    "statistical_queries",
]

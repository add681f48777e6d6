"""Trains one network or many at once."""

from beyondkernels.engine.best_of import BestOf
from beyondkernels.engine.estimator import FromEstimator
from beyondkernels.engine.features import NetworkFeatures
from beyondkernels.engine.frozen_kernel import FrozenKernel
from beyondkernels.engine.in_span import InSpan
from beyondkernels.engine.learner import TrainedNetwork
from beyondkernels.engine.member import Member
from beyondkernels.engine.predictor import Predictor
from beyondkernels.engine.train import train

__all__ = [
    "BestOf",
    "FromEstimator",
    "FrozenKernel",
    "InSpan",
    "Member",
    "NetworkFeatures",
    "Predictor",
    "TrainedNetwork",
    "train",
]

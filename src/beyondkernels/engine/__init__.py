"""Trains one run or many at once."""

from beyondkernels.engine.features import NetworkFeatures
from beyondkernels.engine.learner import TrainedNetwork
from beyondkernels.engine.member import Member
from beyondkernels.engine.predictor import Predictor
from beyondkernels.engine.run import Comparison, Run, compare, fit
from beyondkernels.engine.train import train

__all__ = ["Comparison", "Member", "NetworkFeatures", "Predictor", "Run", "TrainedNetwork", "compare", "fit", "train"]

"""Trains one network or many at once."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.engine.best_of import BestOf as BestOf
from beyondkernels.engine.estimator import FromEstimator as FromEstimator
from beyondkernels.engine.features import NetworkFeatures as NetworkFeatures
from beyondkernels.engine.frozen_kernel import FrozenKernel as FrozenKernel
from beyondkernels.engine.in_span import InSpan as InSpan
from beyondkernels.engine.learner import TrainedNetwork as TrainedNetwork
from beyondkernels.engine.member import Member as Member
from beyondkernels.engine.predictor import Predictor as Predictor
from beyondkernels.engine.train import train as train

_check_exports(globals())

"""The learner networks of the paper on backward feature correction."""

from beyondkernels.networks.bfc.base import QuadraticNetwork
from beyondkernels.networks.bfc.distilled import DistilledDenseNet
from beyondkernels.networks.bfc.plain import QuadraticDenseNet

__all__ = [
    "DistilledDenseNet",
    "QuadraticDenseNet",
    "QuadraticNetwork",
]

"""The networks of the paper."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.resnet.networks.weights import ResNetWeights as ResNetWeights, with_one as with_one

_check_exports(globals())

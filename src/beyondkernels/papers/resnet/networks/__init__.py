"""The networks of the paper."""

from beyondkernels.papers.resnet.networks.weights import ResNetWeights as ResNetWeights, with_one as with_one

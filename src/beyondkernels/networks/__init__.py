"""Architectures as data: one definition serves training, ensembles, linearisation and kernels."""

from beyondkernels.networks import bfc, overparam
from beyondkernels.networks.base import Network, declared_form
from beyondkernels.networks.bfc import DistilledDenseNet, QuadraticDenseNet
from beyondkernels.networks.blocks import Block, BlockNames, block_features, find_blocks, with_blocks
from beyondkernels.networks.copied import FromCopy
from beyondkernels.networks.dense import DenseForm
from beyondkernels.networks.evaluation import evaluation_block, predictions
from beyondkernels.networks.fully_connected import FullyConnected
from beyondkernels.networks.initialisation import Initialisation, Symmetric, initialisation
from beyondkernels.networks.linear import Use, linear, recorded
from beyondkernels.networks.linearised import Linearised
from beyondkernels.networks.module import FromModule, ModuleNetwork, NetworkModule
from beyondkernels.networks.overparam import ConvolutionalLearner, ThreeLayerLearner, TwoLayerLearner
from beyondkernels.networks.parameterisation import Layer, Parameterisation
from beyondkernels.networks.polynomial_two_layer import PolynomialTwoLayer
from beyondkernels.networks.prefix import Prefix
from beyondkernels.networks.resnet_initialisation import initial_stds, popular_initialisation, theorem_network
from beyondkernels.networks.resnet_weights import ResNetWeights, with_one
from beyondkernels.networks.three_layer_resnet import ThreeLayerResNet
from beyondkernels.networks.two_layer import TwoLayer

__all__ = [
    "Block",
    "BlockNames",
    "ConvolutionalLearner",
    "DenseForm",
    "DistilledDenseNet",
    "FromCopy",
    "FromModule",
    "FullyConnected",
    "Initialisation",
    "Layer",
    "Linearised",
    "ModuleNetwork",
    "Network",
    "NetworkModule",
    "Parameterisation",
    "PolynomialTwoLayer",
    "Prefix",
    "QuadraticDenseNet",
    "ResNetWeights",
    "Symmetric",
    "ThreeLayerLearner",
    "ThreeLayerResNet",
    "TwoLayer",
    "TwoLayerLearner",
    "Use",
    "bfc",
    "block_features",
    "declared_form",
    "evaluation_block",
    "find_blocks",
    "initial_stds",
    "initialisation",
    "linear",
    "overparam",
    "popular_initialisation",
    "predictions",
    "recorded",
    "theorem_network",
    "with_blocks",
    "with_one",
]

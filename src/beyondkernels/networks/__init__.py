"""Architectures as data: one definition serves training, ensembles, linearisation and kernels."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.networks.base import Network as Network, declared_form as declared_form
from beyondkernels.networks.blocks import (
    Block as Block,
    BlockNames as BlockNames,
    block_features as block_features,
    find_blocks as find_blocks,
    with_blocks as with_blocks,
)
from beyondkernels.networks.dense import DenseForm as DenseForm
from beyondkernels.networks.evaluation import evaluation_block as evaluation_block, predictions as predictions
from beyondkernels.networks.from_copy import FromCopy as FromCopy
from beyondkernels.networks.fully_connected import FullyConnected as FullyConnected
from beyondkernels.networks.initialisation import (
    Initialisation as Initialisation,
    Symmetric as Symmetric,
    initialisation as initialisation,
)
from beyondkernels.networks.linear import Use as Use, linear as linear, recorded as recorded
from beyondkernels.networks.linearised import Linearised as Linearised
from beyondkernels.networks.module import (
    FromModule as FromModule,
    ModuleNetwork as ModuleNetwork,
    NetworkModule as NetworkModule,
)
from beyondkernels.networks.parameterisation import Layer as Layer, Parameterisation as Parameterisation
from beyondkernels.networks.prefix import Prefix as Prefix
from beyondkernels.networks.resnet_initialisation import (
    initial_stds as initial_stds,
    popular_initialisation as popular_initialisation,
    theorem_network as theorem_network,
)
from beyondkernels.networks.three_layer_resnet import ThreeLayerResNet as ThreeLayerResNet
from beyondkernels.networks.two_layer import TwoLayer as TwoLayer

_check_exports(globals())

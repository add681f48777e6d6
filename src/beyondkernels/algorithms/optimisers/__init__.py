"""Optimisers that compose: rules from a gradient to a step, schedules, and the usual ones ready made."""

from beyondkernels.algorithms.optimisers.base import (
    Chain as Chain,
    Change as Change,
    Optimiser as Optimiser,
    chain as chain,
    descend as descend,
)
from beyondkernels.algorithms.optimisers.recipes import adam as adam, adamw as adamw, sgd as sgd
from beyondkernels.algorithms.optimisers.rules import (
    Adam as Adam,
    ClipNorm as ClipNorm,
    Decay as Decay,
    GradientNoise as GradientNoise,
    Momentum as Momentum,
    Rate as Rate,
    Shrink as Shrink,
)
from beyondkernels.algorithms.optimisers.schedules import (
    Constant as Constant,
    Cosine as Cosine,
    Drops as Drops,
    Linear as Linear,
    Multiplied as Multiplied,
    Power as Power,
    Schedule as Schedule,
    WarmUp as WarmUp,
    schedule as schedule,
)
from beyondkernels.core.boundary import check_exports as _check_exports

_check_exports(globals())

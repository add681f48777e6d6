"""Each activation with its derivative, its Gaussian-smoothed version and its dual map."""

from beyondkernels.activations.base import Activation as Activation, Moments as Moments
from beyondkernels.activations.complexity import (
    Complexity as Complexity,
    largest_complexity as largest_complexity,
    sample_complexity as sample_complexity,
    smooth_complexity as smooth_complexity,
    width_complexity as width_complexity,
)
from beyondkernels.activations.cosine import Cosine as Cosine
from beyondkernels.activations.erf import Erf as Erf
from beyondkernels.activations.from_function import FromFunction as FromFunction
from beyondkernels.activations.gelu import GELU as GELU
from beyondkernels.activations.polynomial import Polynomial as Polynomial, identity as identity, quadratic as quadratic
from beyondkernels.activations.power_series import (
    PowerSeries as PowerSeries,
    Sinh as Sinh,
    smooth_function as smooth_function,
)
from beyondkernels.activations.quadrature import quadrature_dual as quadrature_dual
from beyondkernels.activations.registry import NAMED as NAMED, activation as activation
from beyondkernels.activations.relu import ReLU as ReLU, SmoothedReLU as SmoothedReLU
from beyondkernels.activations.sine import Sine as Sine
from beyondkernels.activations.smooth import (
    Exponential as Exponential,
    Rescaled as Rescaled,
    Sigmoid as Sigmoid,
    rescaled as rescaled,
    split as split,
)
from beyondkernels.activations.tanh import Tanh as Tanh
from beyondkernels.activations.taylor import (
    Envelope as Envelope,
    TaylorSeries as TaylorSeries,
    taylor_series as taylor_series,
)
from beyondkernels.activations.truncated_relu import (
    SmoothedTruncatedReLU as SmoothedTruncatedReLU,
    TruncatedReLU as TruncatedReLU,
)
from beyondkernels.activations.truncated_square import TruncatedSquare as TruncatedSquare
from beyondkernels.core.boundary import check_exports as _check_exports

_check_exports(globals())

"""Data that is given, split once; and problems that no single paper owns: staircases, single indices, XOR mixtures."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.data.given import DataWarning as DataWarning, GivenData as GivenData
from beyondkernels.data.inputs import (
    Alike as Alike,
    Background as Background,
    Biased as Biased,
    Cube as Cube,
    CubeWithBackground as CubeWithBackground,
    FunctionBackground as FunctionBackground,
    Gaussian as Gaussian,
    Inputs as Inputs,
    Sphere as Sphere,
)
from beyondkernels.data.maps import (
    CircleMap as CircleMap,
    DrawnMap as DrawnMap,
    GivenMap as GivenMap,
    SmoothMap as SmoothMap,
    TwoLayerMap as TwoLayerMap,
    absorbed as absorbed,
)
from beyondkernels.data.single_index import SingleIndex as SingleIndex, hermite_link as hermite_link
from beyondkernels.data.splits import given as given, hold_out as hold_out
from beyondkernels.data.staircase import Staircase as Staircase
from beyondkernels.data.xor_mixture import XorMixture as XorMixture

_check_exports(globals())

"""Measurements of runs: feature alignment, neuron directions, coupling with the start, layers of a DenseNet."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.measure.alignment import Alignment as Alignment, cosines as cosines
from beyondkernels.measure.audit.ansatz import Ansatz as Ansatz
from beyondkernels.measure.audit.kernel_course import KernelCourse as KernelCourse
from beyondkernels.measure.audit.layers import LayerChange as LayerChange
from beyondkernels.measure.audit.points import (
    Modes as Modes,
    OutputSpread as OutputSpread,
    PointErrors as PointErrors,
)
from beyondkernels.measure.audit.squared import SquaredError as SquaredError
from beyondkernels.measure.base import Measurement as Measurement, over_steps as over_steps
from beyondkernels.measure.directions import (
    Directions as Directions,
    classical_scaling as classical_scaling,
    cosine_distances as cosine_distances,
)
from beyondkernels.measure.norms import NormedNetwork as NormedNetwork
from beyondkernels.measure.scores import SCORES as SCORES, Scores as Scores

_check_exports(globals())

"""What an audit measures: when features appear, in which layers, and what they are."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.measure.audit.ansatz import Ansatz as Ansatz, Sensitivity as Sensitivity, sensitivity as sensitivity
from beyondkernels.measure.audit.first_layer import (
    FirstLayer as FirstLayer,
    first_layer as first_layer,
    input_gradients as input_gradients,
    sees_all as sees_all,
)
from beyondkernels.measure.audit.kernel_course import KernelCourse as KernelCourse, emergence_step as emergence_step
from beyondkernels.measure.audit.layers import LayerChange as LayerChange
from beyondkernels.measure.audit.moments import moments as moments
from beyondkernels.measure.audit.outer import (
    outer_cosine as outer_cosine,
    root_cosine as root_cosine,
    top_directions as top_directions,
)
from beyondkernels.measure.audit.points import (
    Modes as Modes,
    OutputSpread as OutputSpread,
    PointErrors as PointErrors,
)
from beyondkernels.measure.audit.similarity import (
    centred_alignment as centred_alignment,
    linear_similarity as linear_similarity,
    relative_change as relative_change,
)
from beyondkernels.measure.audit.squared import SquaredError as SquaredError
from beyondkernels.measure.audit.weights import relative_move as relative_move, weight_correlation as weight_correlation

_check_exports(globals())

"""What an audit measures: when features appear, in which layers, and what they are."""

from beyondkernels.measure.audit.ansatz import Ansatz, Sensitivity, sensitivity
from beyondkernels.measure.audit.course import KernelCourse, emergence_step
from beyondkernels.measure.audit.first_layer import FirstLayer, first_layer, input_gradients, sees_all
from beyondkernels.measure.audit.layers import LayerChange
from beyondkernels.measure.audit.moments import moments
from beyondkernels.measure.audit.outer import outer_cosine, root_cosine, top_directions
from beyondkernels.measure.audit.points import PointErrors
from beyondkernels.measure.audit.similarity import centred_alignment, linear_similarity, relative_change
from beyondkernels.measure.audit.squared import SquaredError
from beyondkernels.measure.audit.weights import relative_move, weight_correlation

__all__ = [
    "Ansatz",
    "FirstLayer",
    "KernelCourse",
    "LayerChange",
    "PointErrors",
    "Sensitivity",
    "SquaredError",
    "centred_alignment",
    "emergence_step",
    "first_layer",
    "input_gradients",
    "linear_similarity",
    "moments",
    "outer_cosine",
    "relative_change",
    "relative_move",
    "root_cosine",
    "sees_all",
    "sensitivity",
    "top_directions",
    "weight_correlation",
]
